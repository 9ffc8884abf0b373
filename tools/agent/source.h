/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h: what the parts of rpm-agent share: the logs they work on, the tier of these, threads,
 * and lines on standard error.
 */
#ifndef TOOLS_AGENT_SOURCE_H
#define TOOLS_AGENT_SOURCE_H

#include "cli.h"

#include <algorithm>
#include <signal.h>
#include <thread>

struct Source {
    std::string pool;              /* URL of the server */
    std::string tier;              /* folder or URL of the segments; "": none */
    std::vector<std::string> logs; /* empty: all */
    double timeout = 5;            /* seconds of one call */
    std::string engine;            /* by which logs are read; "": none */
    std::string compress;          /* codec of segments that are stored; "": the default */

    cli::Conn connect() const
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = static_cast<uint64_t>(timeout * 1e6);
        return cli::connect(pool, &opts);
    }
    /* @segment: LSNs of a segment that is stored; 0: the default. */
    cli::Tier open_tier(uint64_t segment = 0) const
    {
        rpm_tier_opts opts = rpm_tier_opts_init();
        rpm_tier *opened = nullptr;

        opts.segment_span = segment;
        opts.engine = engine_name();
        opts.codec = compress.empty() ? nullptr : compress.c_str();
        cli::check("tier", rpm_tier_open(tier.c_str(), &opts, &opened));
        return cli::Tier(opened);
    }
    const char *engine_name() const
    {
        return engine.empty() ? nullptr : engine.c_str();
    }
    bool wants(const rpm_entry &entry) const
    {
        return entry.kind == RPM_KIND_LOG &&
               (logs.empty() || std::find(logs.begin(), logs.end(), entry.name) != logs.end());
    }
};

inline void notice(const std::string &text)
{
    fprintf(stderr, "rpm-agent: %s\n", text.c_str());
}

/* A thread that gets no signals: they are the main thread's. */
template <class Body> std::thread without_signals(Body body)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

#endif
