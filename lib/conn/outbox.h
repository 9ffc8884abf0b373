/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbox.h: a ring in a link's staging memory with the payloads of outstanding ops. Pieces are
 * taken in the order of submission and freed in the order of completion.
 *
 * Invariant: head <= tail <= head + bytes; a piece never wraps.
 *
 * Tests: tests/unit/conn/outbox_test.cpp
 */
#ifndef RPMI_OUTBOX_H
#define RPMI_OUTBOX_H

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "transport/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rpmi_outbox {
    unsigned char *base; /* staging memory of the link */
    uint64_t bytes;
    uint64_t head; /* counts up; oldest byte in use */
    uint64_t tail; /* counts up; next free byte */
    bool borrows;  /* the link completes on post, and reads data in the caller's memory */
};

/* Take @bytes of staging memory of @link for @box. False: the link has fewer left. */
static inline bool rpmi_outbox_open(struct rpmi_outbox *box, struct rpmi_link *link, uint64_t bytes)
{
    RPM_ASSERT(box->base == NULL && bytes >= 2ul * RPMI_LINE_BYTES);
    box->borrows = (link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0;
    box->bytes = bytes;
    box->base = (unsigned char *)link->ops->stage(link, bytes);
    return box->base != NULL;
}

/* The largest piece that always finds room once the ring is empty. */
static inline uint64_t rpmi_outbox_piece_max(const struct rpmi_outbox *box)
{
    return rpmi_align_down(box->bytes / 2, RPMI_LINE_BYTES);
}

/* Contiguous room for @len bytes, at most rpmi_outbox_piece_max(). NULL: no room now. */
static inline unsigned char *rpmi_outbox_take(struct rpmi_outbox *box, uint64_t len)
{
    uint64_t need = rpmi_align_up(len, RPMI_LINE_BYTES);
    uint64_t at = box->tail % box->bytes;
    uint64_t skip = at + need > box->bytes ? box->bytes - at : 0;

    RPM_ASSERT(len <= rpmi_outbox_piece_max(box));
    if (box->tail + skip + need - box->head > box->bytes)
        return NULL;
    box->tail += skip + need;
    return box->base + (at + skip) % box->bytes;
}

/* The largest piece that rpmi_outbox_put() takes. */
static inline uint64_t rpmi_outbox_put_max(const struct rpmi_outbox *box)
{
    return box->borrows ? UINT64_MAX : rpmi_outbox_piece_max(box);
}

/* The address to post @data from: a copy in the ring, or @data itself if the outbox borrows. NULL:
 * no room now. */
static inline const void *rpmi_outbox_put(struct rpmi_outbox *box, const void *data, uint64_t len)
{
    unsigned char *staged;

    if (box->borrows)
        return data;
    staged = rpmi_outbox_take(box, len);
    return staged == NULL ? NULL : memcpy(staged, data, len);
}

#endif
