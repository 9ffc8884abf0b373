/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet.c: the client's half of a greeting, once the queue pair is there: the entry in the first
 * message, the welcome in the first answer.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/verbs.h"

#include "base/bytes.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static int send_entry(struct rpmi_verbs *verbs)
{
    unsigned char message[RPMI_ENTRY_MSG];
    struct rpmi_entry entry = {
        .depth = verbs->link.depth,
        .staging_bytes = verbs->stage.bytes,
    };
    int err;

    (void)snprintf(entry.pool, sizeof(entry.pool), "%s", verbs->opts.to.pool);
    err = rpmi_entry_make(&verbs->talk, verbs->secret, &entry);
    if (err != 0)
        return err;
    rpmi_msg_head(message, RPMI_MSG_ENTRY, sizeof(message));
    memcpy(message + RPMI_MSG_HEAD, verbs->talk.entry, RPMI_ENTRY_BYTES);
    return rpmi_verbs_send(verbs, message, sizeof(message));
}

static int take_welcome(struct rpmi_verbs *verbs, struct rpmi_welcome *welcome)
{
    const unsigned char *at = verbs->answer + RPMI_WELCOME_AT_MESSAGES;
    uint32_t messages;
    int err;

    memcpy(verbs->talk.beside, at, RPMI_WELCOME_BESIDE);
    verbs->talk.beside_bytes = RPMI_WELCOME_BESIDE;
    err = rpmi_sealed_get(&verbs->talk, verbs->secret, verbs->answer + RPMI_MSG_HEAD, welcome);
    if (err != 0)
        return err;
    if (welcome->status != 0)
        return rpmi_fail(welcome->status, "%s",
                         welcome->text[0] != '\0' ? welcome->text : "the server refused");
    messages = rpmi_load32(at);
    if (messages < 2 || messages > RPMI_MESSAGES_MAX || rpmi_load32(at + 4) != 0)
        return rpmi_fail(RPM_E_PROTO, "the server takes %u messages at once: that cannot be",
                         messages);
    verbs->credits = messages;
    return rpmi_grant_get(verbs->answer + RPMI_WELCOME_AT_GRANT, &verbs->key[RPMI_KEY_SCRATCH]);
}

int rpmi_verbs_greet(struct rpmi_verbs *verbs, uint64_t deadline_ns, struct rpmi_welcome *welcome)
{
    int err = rpmi_challenge_get(verbs->talk.challenge, RPMI_CHALLENGE_BYTES);

    if (err == 0)
        err = send_entry(verbs);
    if (err == 0)
        err = rpmi_verbs_wait_flag(verbs, &verbs->welcomed, deadline_ns);
    return err != 0 ? err : take_welcome(verbs, welcome);
}
