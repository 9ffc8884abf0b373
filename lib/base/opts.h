/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.h: copy a size-first struct across the boundary between a caller and us, either of which
 * may be older than the other.
 */
#ifndef RPMI_OPTS_H
#define RPMI_OPTS_H

#include <stddef.h>

/*
 * Copy what both sides know, zero what only we know, refuse what only a newer caller knows.
 * Without a struct (@theirs NULL) ours stays as it is: the defaults.
 * RPM_E_INVAL when the struct is too small to hold its size or absurdly large, RPM_E_OPTS when an
 * unknown field is not zero. The copy's size field is @ours_size.
 */
int rpmi_opts_in(void *ours, size_t ours_size, const void *theirs);

/*
 * Fill a caller's struct with as much of ours as it has room for; a newer caller's extra fields
 * become zero. The caller's size field stays. RPM_E_INVAL as above.
 */
int rpmi_opts_out(void *theirs, const void *ours, size_t ours_size);

#endif
