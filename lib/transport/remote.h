/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h: functions that the clients of all transports share: checking options and requests,
 * dialling again, and checking a server's answers.
 */
#ifndef RPMI_REMOTE_H
#define RPMI_REMOTE_H

#include "base/assert.h"
#include "transport/transport.h"
#include "wire/hello.h"
#include "wire/steps.h"

/* Why the server CPU refused a request or failed at it, in a sentence. */
const char *rpmi_remote_reason(int status);

/* RPM_E_NOCAP: @what carries only operations that the server CPU carries out. */
int rpmi_remote_refuse_kind(uint8_t kind, const char *what);

/* Are all ops of kinds that the server CPU carries out? 0, or RPM_E_NOCAP: @what, by which the
 * requests are sent, does not carry one of them. */
static inline int rpmi_remote_check_kinds(const struct rpmi_op *ops, uint32_t n, const char *what)
{
    const uint32_t kinds = 1u << RPMI_OP_WRITE | 1u << RPMI_OP_COPY | 1u << RPMI_OP_READ |
                           1u << RPMI_OP_PERSIST | 1u << RPMI_OP_CAS | 1u << RPMI_OP_FAA |
                           1u << RPMI_OP_STEPS;

    for (uint32_t i = 0; i < n; i++)
        if (RPMI_UNLIKELY(ops[i].kind >= RPMI_OP_KINDS || (kinds >> ops[i].kind & 1) == 0))
            return rpmi_remote_refuse_kind(ops[i].kind, what);
    return 0;
}

/* RPM_E_TIMEDOUT: a server that has accepted the connection did not answer before the deadline. */
int rpmi_remote_late(void);

/* Check a link's options. 0 and the secret copied, "" for none; or RPM_E_INVAL. */
int rpmi_remote_take_opts(const struct rpmi_link_opts *opts, char secret[RPMI_SECRET_BYTES]);

/* Are plans made with the facts @before valid with @now? RPM_E_NOCAP if the server that was dialled
 * again has other facts. */
int rpmi_remote_same_facts(const struct rpm_facts *before, const struct rpm_facts *now);

/* The flags of a link whose lists of steps the server carries out that sent @accepted. */
static inline uint32_t rpmi_remote_step_flags(const struct rpmi_accept *accepted)
{
    bool watches = (accepted->steps >> RPMI_STEP_WATCH & 1) != 0;
    bool sums = (accepted->steps >> RPMI_STEP_SUM & 1) != 0;
    bool compares = (accepted->steps >> RPMI_STEP_COMPARE & 1) != 0;
    bool carries = (accepted->steps >> RPMI_STEP_CARRY & 1) != 0;

    return RPMI_LINK_STEPS | (watches ? RPMI_LINK_WATCH : 0) | (sums ? RPMI_LINK_SUM : 0) |
           (carries ? RPMI_LINK_CARRY : 0) | (compares ? RPMI_LINK_COMPARE : 0);
}

/* Call @dial, again while no server listens there, at most until @deadline_ns. Blocks. */
int rpmi_remote_redial(struct rpmi_link *link,
                       int (*dial)(struct rpmi_link *, uint64_t deadline_ns), uint64_t deadline_ns);

#endif
