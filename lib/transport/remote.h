/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h: what clients of every server have in common: what they ask for, and what they make of
 * what it says.
 */
#ifndef RPMI_REMOTE_H
#define RPMI_REMOTE_H

#include "transport/transport.h"
#include "wire/hello.h"

/* Why the server's CPU did not do what it was asked for, in a sentence. */
const char *rpmi_remote_why(int status);

/* Can a client have that? 0 and the secret copied, "" for none; or RPM_E_INVAL. */
int rpmi_remote_take_opts(const struct rpmi_link_opts *opts, char secret[RPMI_SECRET_BYTES]);

/* Do plans made with @before hold for @now? RPM_E_NOCAP when a server that is dialled again is
 * another one by its facts. */
int rpmi_remote_same_facts(const struct rpm_facts *before, const struct rpm_facts *now);

/* Dial until it works, while no server listens there, at most until @deadline_ns. Blocks. */
int rpmi_remote_redial(struct rpmi_link *link,
                       int (*dial)(struct rpmi_link *, uint64_t deadline_ns), uint64_t deadline_ns);

#endif
