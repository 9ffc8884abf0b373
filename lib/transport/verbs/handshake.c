/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handshake.c: the client's half of the handshake from auth to accept, over an established queue
 * pair; hello and challenge travelled in the connection manager's private data (dial.c).
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static int send_auth(struct rpmi_verbs *verbs)
{
    unsigned char message[RPMI_AUTH_MSG];
    struct rpmi_auth auth = {
        .depth = verbs->link.depth,
        .staging_bytes = verbs->stage.bytes,
    };
    int err;

    (void)snprintf(auth.pool, sizeof(auth.pool), "%s", verbs->opts.to.pool);
    err = rpmi_auth_make(&verbs->transcript, verbs->secret, &auth);
    if (err != 0)
        return err;
    rpmi_msg_head(message, RPMI_MSG_AUTH, sizeof(message));
    memcpy(message + RPMI_MSG_HEAD, verbs->transcript.auth, RPMI_AUTH_BYTES);
    return rpmi_verbs_send(verbs, message, sizeof(message));
}

static int take_accept(struct rpmi_verbs *verbs, struct rpmi_accept *accepted)
{
    int err;

    memcpy(verbs->transcript.beside, verbs->answer + RPMI_ACCEPT_AT_MESSAGES, RPMI_ACCEPT_BESIDE);
    verbs->transcript.beside_bytes = RPMI_ACCEPT_BESIDE;
    err =
        rpmi_sealed_get(&verbs->transcript, verbs->secret, verbs->answer + RPMI_MSG_HEAD, accepted);
    if (err != 0)
        return err;
    if (accepted->status != 0)
        return rpmi_fail(accepted->status, "%s",
                         accepted->text[0] != '\0' ? accepted->text : "the server refused");
    return rpmi_accept_msg_get(verbs->answer, &verbs->credits, &verbs->key[RPMI_KEY_SCRATCH]);
}

int rpmi_verbs_handshake(struct rpmi_verbs *verbs, uint64_t deadline_ns,
                         struct rpmi_accept *accepted)
{
    int err = rpmi_challenge_get(verbs->transcript.challenge, RPMI_CHALLENGE_BYTES);

    RPM_ASSERT(!verbs->accepted); /* no earlier server's accept counts */
    if (err == 0)
        err = send_auth(verbs);
    if (err == 0)
        err = rpmi_verbs_wait_flag(verbs, &verbs->accepted, deadline_ns);
    return err != 0 ? err : take_accept(verbs, accepted);
}
