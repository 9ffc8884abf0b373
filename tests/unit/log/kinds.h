// SPDX-License-Identifier: BSD-3-Clause
// kinds.h: links for each persistence method, on which a log must work, and where its bytes lie.
#ifndef TESTS_UNIT_LOG_KINDS_H
#define TESTS_UNIT_LOG_KINDS_H

#include "support/loop.h"

extern "C" {
#include "base/limits.h"
#include "wire/super.h"
}

constexpr uint64_t POOL_DATA = 36864; // where the first object lies in a pool of up to 8 MiB
// The first log of such a pool.
constexpr uint64_t HEADER = POOL_DATA;
constexpr uint64_t HEADS = 1024; // bytes of its head slots
constexpr uint64_t RING = HEADER + 4096;

// The ring of the first log in a pool of any size.
inline uint64_t ring_of(uint64_t pool_bytes)
{
    return RPMI_DIR_OFFSET + uint64_t{ rpmi_super_entries(pool_bytes) } * RPMI_DIRENT_BYTES +
           RPMI_LOG_HEADER_BYTES;
}

struct Kind {
    const char *name;
    loop::Setup setup;
    uint32_t method;
};

// A link that completes on post, with a fast path or without.
inline loop::Setup with_fast_path(bool fast, uint32_t line_bytes)
{
    loop::Setup setup = loop::synchronous();

    setup.fast_path = fast;
    setup.line_bytes = line_bytes;
    return setup;
}

inline std::vector<Kind> kinds()
{
    loop::Setup media = loop::queued();

    media.line_bytes = RPMI_XPLINE_BYTES;
    return { { "store", loop::synchronous(), RPM_METHOD_STORE },
             { "read", loop::queued(), RPM_METHOD_READ },
             { "message", loop::queued(), RPM_METHOD_MESSAGE },
             { "copy", loop::queued(), RPM_METHOD_COPY },
             { "immediate", loop::queued(), RPM_METHOD_IMMEDIATE },
             { "flush", loop::queued(), RPM_METHOD_FLUSH },
             { "flush, lines of 256", media, RPM_METHOD_FLUSH },
             { "fast path, lines of 256", with_fast_path(true, RPMI_XPLINE_BYTES),
               RPM_METHOD_STORE } };
}

inline rpm_conn_opts with_method(uint32_t method)
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.method = method;
    return opts;
}

#define EACH_KIND(kind)                                                                            \
    Kind kind = GENERATE(from_range(kinds()));                                                     \
    CAPTURE(kind.name);                                                                            \
    [[maybe_unused]] rpm_conn_opts conn_opts = with_method(kind.method)

#endif
