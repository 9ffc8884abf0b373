/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media_map.h: the interface between the media files: open, map, and the operations of rpmi_mem.
 */
#ifndef RPMI_MEDIA_MAP_H
#define RPMI_MEDIA_MAP_H

#include "pmem/media.h"

extern const struct rpmi_mem_ops rpmi_media_mem_ops;

/* Open, lock, check and size the file; fd, lock_fd, mem.bytes, created are set, nothing mapped. */
int rpmi_media_open_path(struct rpmi_media *media, const struct rpmi_media_opts *opts);

/* Open an anonymous memory file. */
int rpmi_media_open_anonymous(struct rpmi_media *media, const struct rpmi_media_opts *opts);

/* Map the opened file, bind it to a node, allocate its room. */
int rpmi_media_map(struct rpmi_media *media, const struct rpmi_media_opts *opts);

#endif
