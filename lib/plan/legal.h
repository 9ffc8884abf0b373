/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * legal.h: the kinds of platform that the legality matrix distinguishes.
 */
#ifndef RPMI_LEGAL_H
#define RPMI_LEGAL_H

#include <librpm/facts.h>

enum rpmi_platform {
    RPMI_PLATFORM_ADR_DDIO = 0,    /* inbound writes may stay in a CPU cache, which a power loss
                                      clears */
    RPMI_PLATFORM_ADR_NO_DDIO = 1, /* inbound writes go to the memory controller */
    RPMI_PLATFORM_EADR = 2,        /* CPU caches survive too */
    RPMI_PLATFORM_MSYNC = 3,       /* page cache: only the server CPU can write it to the device */
    RPMI_PLATFORM_NONE = 4,        /* nothing survives */
    RPMI_PLATFORMS = 5
};

/* Unknown counts as the worse case: DDIO is on unless it is known to be off. A domain that the
 * medium cannot have, such as ADR of a file behind a page cache, counts as none. */
enum rpmi_platform rpmi_platform_of(const struct rpm_facts *facts);

/* Does the memory outlive the server process? Anonymous memory counts as if it did only if the
 * operator declared a domain: then it takes the place of persistent memory, in tests. */
int rpmi_outlives_process(const struct rpm_facts *facts);

#endif
