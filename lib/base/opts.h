/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.h: copy a struct that begins with its size between a caller and the library, either of which
 * may be older than the other.
 */
#ifndef RPMI_OPTS_H
#define RPMI_OPTS_H

#include <stddef.h>

/*
 * Copy the fields that both versions have, zero the fields that only the library has, and refuse
 * non-zero fields that only a newer caller has. If @theirs is NULL, @ours keeps its defaults.
 * RPM_E_INVAL when the struct is too small to hold its size or absurdly large, RPM_E_OPTS when an
 * unknown field is not zero. The copy's size field is @ours_size.
 */
int rpmi_opts_in(void *ours, size_t ours_size, const void *theirs);

/*
 * Fill a caller's struct with as much of @ours as it has room for, and a newer caller's extra
 * fields with zeros. The caller's size field stays. RPM_E_INVAL as above.
 */
int rpmi_opts_out(void *theirs, const void *ours, size_t ours_size);

#endif
