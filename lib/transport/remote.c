/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.c: code that the clients of all transports share: options, requests, redialling, facts.
 *
 * Tests: tests/unit/transport/remote_test.cpp
 */
#include "transport/remote.h"

#include "base/clock.h"
#include "base/err.h"
#include "transport/stage.h"

#include <librpm/error.h>
#include <string.h>

#define REDIAL_NS 5000000u /* between attempts while no server listens */

const char *rpmi_remote_reason(int status)
{
    switch (status) {
    case RPM_E_FENCED:
        return "a newer writer claimed the log";
    case RPM_E_DENIED:
        return "the server knows no such key or right";
    case RPM_E_RANGE:
        return "outside the object";
    case RPM_E_IO:
        return "the server could not make it durable";
    default:
        return rpm_strerror(status);
    }
}

int rpmi_remote_refuse_kind(uint8_t kind, const char *what)
{
    return rpmi_fail(RPM_E_NOCAP,
                     "%s does not carry operation %u; rpm_conn_facts() says what the link can do",
                     what, kind);
}

int rpmi_remote_take_opts(const struct rpmi_link_opts *opts, char secret[RPMI_SECRET_BYTES])
{
    size_t len = opts->secret == NULL ? 0 : strlen(opts->secret);

    if (opts->depth == 0 || opts->depth > RPMI_DEPTH_MAX)
        return rpmi_fail(RPM_E_INVAL, "depth is %u, expected is 1 to %u", opts->depth,
                         RPMI_DEPTH_MAX);
    if (opts->staging_bytes == 0 || opts->staging_bytes > RPMI_STAGING_MAX)
        return rpmi_fail(RPM_E_INVAL, "staging_bytes is %llu, expected is 1 to %llu",
                         (unsigned long long)opts->staging_bytes,
                         (unsigned long long)RPMI_STAGING_MAX);
    if (len >= RPMI_SECRET_BYTES)
        return rpmi_fail(RPM_E_INVAL, "the secret has %zu bytes, above the maximum of %u", len,
                         RPMI_SECRET_BYTES - 1u);
    memset(secret, 0, RPMI_SECRET_BYTES);
    if (len != 0)
        memcpy(secret, opts->secret, len);
    return 0;
}

int rpmi_remote_late(void)
{
    return rpmi_fail(RPM_E_TIMEDOUT,
                     "the server accepts connections, but did not answer in time: it is stopped or "
                     "overloaded; continue it, or reconnect with more time (of the library: "
                     "rpm_conn_opts.timeout_us)");
}

int rpmi_remote_same_facts(const struct rpm_facts *before, const struct rpm_facts *now)
{
    if (before->domain == now->domain && before->methods == now->methods &&
        before->medium == now->medium && before->ddio == now->ddio)
        return 0;
    return rpmi_fail(RPM_E_NOCAP,
                     "the server has other facts than before (domain %u, medium %u, DDIO %u, "
                     "methods %#x; they were %u, %u, %u, %#x): open a new connection",
                     now->domain, now->medium, now->ddio, now->methods, before->domain,
                     before->medium, before->ddio, before->methods);
}

int rpmi_remote_redial(struct rpmi_link *link,
                       int (*dial)(struct rpmi_link *, uint64_t deadline_ns), uint64_t deadline_ns)
{
    for (;;) {
        int err = dial(link, deadline_ns);

        if ((err != RPM_E_REFUSED && err != RPM_E_LOST) ||
            rpmi_clock_ns() + REDIAL_NS >= deadline_ns)
            return err;
        rpmi_clock_sleep_ns(REDIAL_NS);
    }
}
