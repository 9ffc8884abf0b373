/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c: one short word for each level, method, medium and domain, the same in every text,
 * option and table.
 *
 * Tests: tests/unit/plan/names_test.cpp
 */
#include <librpm/facts.h>

#define NAME_OF(names, i)                                                                          \
    ((size_t)(i) < sizeof(names) / sizeof(names[0]) ? names[(size_t)(i)] : "unknown")

const char *rpm_level_name(enum rpm_level level)
{
    static const char *const names[] = {
        [RPM_LEVEL_DEFAULT] = "default", [RPM_POSTED] = "posted",   [RPM_VISIBLE] = "visible",
        [RPM_PROCESS] = "process",       [RPM_DURABLE] = "durable",
    };

    return NAME_OF(names, level);
}

const char *rpm_method_name(enum rpm_method method)
{
    static const char *const names[] = {
        [RPM_METHOD_DEFAULT] = "default", [RPM_METHOD_WRITE] = "write",
        [RPM_METHOD_READ] = "read",       [RPM_METHOD_READ_OTHER] = "read-other",
        [RPM_METHOD_MESSAGE] = "message", [RPM_METHOD_IMMEDIATE] = "immediate",
        [RPM_METHOD_COPY] = "copy",       [RPM_METHOD_FLUSH] = "flush",
        [RPM_METHOD_STORE] = "store",     [RPM_METHOD_ORDER] = "order",
        [RPM_METHOD_CARRY] = "carry",
    };

    return NAME_OF(names, method);
}

const char *rpm_medium_name(enum rpm_medium medium)
{
    static const char *const names[] = {
        [RPM_MEDIUM_UNKNOWN] = "unknown", [RPM_MEDIUM_DRAM] = "dram", [RPM_MEDIUM_HUGE] = "huge",
        [RPM_MEDIUM_TMPFS] = "tmpfs",     [RPM_MEDIUM_FILE] = "file", [RPM_MEDIUM_FSDAX] = "fsdax",
        [RPM_MEDIUM_DEVDAX] = "devdax",
    };

    return NAME_OF(names, medium);
}

const char *rpm_domain_name(enum rpm_domain domain)
{
    static const char *const names[] = {
        [RPM_DOMAIN_NONE] = "none",
        [RPM_DOMAIN_MSYNC] = "msync",
        [RPM_DOMAIN_ADR] = "adr",
        [RPM_DOMAIN_EADR] = "eadr",
    };

    return NAME_OF(names, domain);
}
