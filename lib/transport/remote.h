/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h: functions that the clients of all transports share: checking options, dialling again,
 * and checking a server's answers.
 */
#ifndef RPMI_REMOTE_H
#define RPMI_REMOTE_H

#include "transport/transport.h"
#include "wire/hello.h"

/* Why the server CPU refused a request or failed at it, in a sentence. */
const char *rpmi_remote_reason(int status);

/* Check a link's options. 0 and the secret copied, "" for none; or RPM_E_INVAL. */
int rpmi_remote_take_opts(const struct rpmi_link_opts *opts, char secret[RPMI_SECRET_BYTES]);

/* Are plans made with the facts @before valid with @now? RPM_E_NOCAP if the server that was dialled
 * again has other facts. */
int rpmi_remote_same_facts(const struct rpm_facts *before, const struct rpm_facts *now);

/* Call @dial, again while no server listens there, at most until @deadline_ns. Blocks. */
int rpmi_remote_redial(struct rpmi_link *link,
                       int (*dial)(struct rpmi_link *, uint64_t deadline_ns), uint64_t deadline_ns);

#endif
