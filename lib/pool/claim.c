/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claim.c: claims of a log: which client may append, in which epoch, and from which LSN on.
 *
 * CLAIM fences older writers and gives out the next epoch; it does not change the head. The
 * claiming client then reads the log, finds the tail, makes the log durable up to it, and sends
 * SEAL (seal.c).
 *
 * To repair a log, CLAIM and SEAL work without a readable head (RPMI_CALL_REPAIR): the repairing
 * client has read the ring, and gives the highest epoch it found and the new bounds of the log.
 *
 * Invariants
 *   the claim word in the guard is durable before the claiming client learns its epoch
 *   an epoch is given out once, even if the claiming client dies before it seals
 *   a claim that is refused changes nothing, or it has only ended older claims and raised the claim
 *     word to an epoch that this run of the server then grants to a client that asks for it
 *   a writer that resumes gets a claim only if no other writer claimed the log since its first one
 *   an epoch is granted again only to the client that has its token, and only while it is the
 *     highest, also by the head; then no key of the grants before can write
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/pool/claim_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"
#include "wire/guard.h"

#include <inttypes.h>

static uint64_t claim_word_offset(const struct rpmi_dirent *entry)
{
    RPM_ASSERT(entry->kind == RPM_KIND_LOG);
    return entry->offset + RPMI_GUARD_OFFSET + offsetof(struct rpmi_guard, claim);
}

static uint64_t since_word_offset(const struct rpmi_dirent *entry)
{
    return entry->offset + RPMI_GUARD_OFFSET + offsetof(struct rpmi_guard, since);
}

static uint64_t token_word_offset(const struct rpmi_dirent *entry)
{
    return entry->offset + RPMI_GUARD_OFFSET + offsetof(struct rpmi_guard, token);
}

/* The epoch of the head; for a repair, the highest epoch of a valid slot, or of a record that the
 * claiming client found. */
static int epoch_known(struct rpmi_service *service, struct rpmi_object *log,
                       const struct rpmi_call *call, uint64_t *epoch)
{
    struct rpmi_head_found found[RPMI_HEAD_SLOTS];
    struct rpmi_head head;
    int err;

    if ((call->flags & RPMI_CALL_REPAIR) == 0) {
        err = rpmi_head_load(service, log, &head);
        *epoch = head.epoch;
        return err;
    }
    *epoch = call->bytes > log->epoch ? call->bytes : log->epoch;
    (void)rpmi_head_check(service, log, found);
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (found[i].wrong == NULL && found[i].head.epoch > *epoch)
            *epoch = found[i].head.epoch;
    return 0;
}

/* Is the epoch that a client asks for above all that were given out? That of a claim which was
 * refused after it had raised the claim word was given to no client. */
static int check_epoch(const struct rpmi_object *log, const struct rpmi_call *call,
                       uint64_t highest)
{
    const struct rpmi_dirent *entry = &log->entry;
    bool ungranted = log->ungranted && log->epoch == highest;

    RPM_ASSERT(call->epoch != 0); /* 0 asks for the next one */
    if (call->epoch < UINT32_MAX &&
        (call->epoch > highest || (ungranted && call->epoch == highest)))
        return 0;
    if (call->epoch == UINT32_MAX)
        return rpmi_fail(RPM_E_RANGE, "log '%s' cannot be claimed with epoch %u; the highest is %u",
                         entry->name, call->epoch, UINT32_MAX - 1);
    return rpmi_fail(RPM_E_FENCED,
                     "log '%s' was claimed with epoch %" PRIu64 ", and epoch %" PRIu32
                     " is not above it; claim it with a higher one",
                     entry->name, highest, call->epoch);
}

/* The next epoch, or the one asked for: above the head's and above every epoch that was given out
 * and never sealed. A claim word without a valid epoch is damaged: only a repair continues without
 * it. */
static int next_epoch(struct rpmi_service *service, struct rpmi_object *log,
                      const struct rpmi_call *call, uint32_t *epoch)
{
    const struct rpmi_dirent *entry = &log->entry;
    uint64_t claimed;
    uint64_t known = 0;
    int err = epoch_known(service, log, call, &known);

    if (err != 0)
        return err;
    claimed = rpmi_word_load(service, claim_word_offset(entry));
    if (claimed >= UINT32_MAX && (call->flags & RPMI_CALL_REPAIR) == 0)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' needs 'rpm-log repair': its claim word is damaged, %" PRIu64
                         " is no epoch",
                         entry->name, claimed);
    if (claimed < known || claimed >= UINT32_MAX)
        claimed = known;
    if (claimed >= UINT32_MAX)
        return rpmi_fail(
            RPM_E_CORRUPT,
            "log '%s' has used all of its %u epochs; create a new log and copy the records",
            entry->name, UINT32_MAX);
    *epoch = call->epoch != 0 ? call->epoch : (uint32_t)claimed + 1;
    return call->epoch != 0 ? check_epoch(log, call, claimed) : 0;
}

/* A writer asks to resume and names the epoch of its first claim, call->lsn. It may, if no other
 * writer claimed the log later: the word 'since' holds the epoch of the last writer's first claim,
 * and an attempt to resume does not change it. */
static int may_resume(struct rpmi_service *service, const struct rpmi_dirent *entry,
                      const struct rpmi_call *call)
{
    uint64_t since = rpmi_word_load(service, since_word_offset(entry));

    if (since == call->lsn)
        return 0;
    return rpmi_fail(RPM_E_FENCED,
                     "log '%s': another writer claimed it with epoch %" PRIu64
                     ", after this writer's claim with epoch %" PRIu64,
                     entry->name, since, call->lsn);
}

/* A writer asks for the epoch of its claim again, call->epoch, and shows by the token that the
 * claim is its own. @head: out, the head in force, which may have that epoch. */
static int may_claim_again(struct rpmi_service *service, struct rpmi_object *log,
                           const struct rpmi_call *call, struct rpmi_head *head)
{
    const struct rpmi_dirent *entry = &log->entry;
    uint64_t claimed = rpmi_word_load(service, claim_word_offset(entry));
    int err;

    RPM_ASSERT(call->token != 0 && call->epoch != 0);
    if (claimed != call->epoch)
        return rpmi_fail(RPM_E_FENCED,
                         "log '%s' was claimed with epoch %" PRIu64
                         ", so the claim with epoch %" PRIu32
                         " has ended; claim it with a higher epoch",
                         entry->name, claimed, call->epoch);
    if (rpmi_word_load(service, token_word_offset(entry)) != call->token ||
        (uint32_t)call->token != call->epoch)
        return rpmi_fail(RPM_E_FENCED,
                         "log '%s' was claimed with epoch %" PRIu32
                         " by another writer, whose token differs; claim it with a higher epoch",
                         entry->name, call->epoch);
    err = rpmi_head_load(service, log, head);
    /* The medium may have an older guard than head: another writer has claimed since. */
    if (err == 0 && head->epoch > call->epoch)
        err =
            rpmi_fail(RPM_E_FENCED,
                      "log '%s' is sealed with epoch %" PRIu32 ", so the claim with epoch %" PRIu32
                      " has ended; its claim word is damaged",
                      entry->name, head->epoch, call->epoch);
    return err;
}

static int check_call(const struct rpmi_dirent *entry, const struct rpmi_call *call)
{
    uint32_t others = call->flags & (RPMI_CALL_RESUME | RPMI_CALL_REPAIR);

    if (entry->kind != RPM_KIND_LOG)
        return rpmi_fail(RPM_E_DENIED, "'%s' is not a log; only a log can be claimed", entry->name);
    if ((call->epoch != 0 && others != 0) || (call->token != 0 && call->epoch == 0))
        return rpmi_fail(RPM_E_INVAL,
                         "CLAIM with epoch %" PRIu32 ", %s token and flags %#x; a CLAIM with an "
                         "epoch has neither RESUME nor REPAIR, and one with a token has its epoch",
                         call->epoch, call->token != 0 ? "a" : "no", call->flags);
    return 0;
}

static int quiesce(struct rpmi_service *service, const struct rpmi_dirent *entry)
{
    return service->opts.quiesce == NULL
               ? 0
               : service->opts.quiesce(service->opts.context, entry->offset);
}

/* Bits 0-31 are the epoch: after a power cut the guard may have the words of two claims, and then
 * the token is not valid for the epoch in the claim word. */
static uint64_t new_token(struct rpmi_service *service, uint32_t epoch)
{
    uint64_t random = service->opts.entropy(service->opts.context);

    RPM_ASSERT(epoch != 0); /* no token is 0 */
    return random << 32 | epoch;
}

/* Store the new epoch in the claim word, which fences direct writers, and a token; and the epoch in
 * the word 'since' unless the writer resumes. All three are on one cache line. */
static int raise_claim(struct rpmi_service *service, const struct rpmi_dirent *entry, bool resumes,
                       uint32_t epoch)
{
    uint64_t claim_at = claim_word_offset(entry);
    uint64_t token_at = token_word_offset(entry);

    RPM_ASSERT(epoch != 0);
    RPM_ASSERT(claim_at / RPMI_LINE_BYTES == token_at / RPMI_LINE_BYTES);
    rpmi_word_store(service, claim_at, epoch);
    if (!resumes)
        rpmi_word_store(service, since_word_offset(entry), epoch);
    rpmi_word_store(service, token_at, new_token(service, epoch));
    return rpmi_mem_persist(service->opts.pool, claim_at, token_at + sizeof(uint64_t) - claim_at);
}

int rpmi_claim_create(struct rpmi_service *service, const struct rpmi_dirent *entry, uint32_t epoch)
{
    RPM_ASSERT(entry->kind == RPM_KIND_LOG && epoch < UINT32_MAX);
    return raise_claim(service, entry, false, epoch);
}

uint64_t rpmi_claim_token(const struct rpmi_service *service, const struct rpmi_object *log)
{
    return rpmi_word_load(service, token_word_offset(&log->entry));
}

/* No certificate of an earlier claim, or of another log, holds under the new key. */
static void renew_certificate_key(struct rpmi_service *service, struct rpmi_object *log,
                                  struct rpmi_reply *reply)
{
    for (uint32_t i = 0; i < RPMI_CERTIFICATE_KEY_WORDS; i++) {
        log->certificate_key[i] = service->opts.entropy(service->opts.context);
        reply->certificate_key[i] = log->certificate_key[i];
    }
}

/* RPM_E_OWNED if another client holds the log, and @call does not say to fence it. */
static int check_owner(const struct rpmi_object *log, const struct rpmi_call *call)
{
    if (log->writer == 0 || (call->flags & (RPMI_CALL_TAKEOVER | RPMI_CALL_RESUME)) != 0)
        return 0;
    return rpmi_fail(RPM_E_OWNED,
                     "log '%s' is being written by client %u: wait, or take it over "
                     "(RPM_LOG_TAKEOVER, --takeover)",
                     log->entry.name, log->writer);
}

/* May the client have the claim that it asks for, and in which epoch? If the epoch that a client
 * asks for was given out, and another client holds the log, the error is RPM_E_FENCED, not
 * RPM_E_OWNED. */
static int may_claim(struct rpmi_service *service, struct rpmi_object *log,
                     const struct rpmi_call *call, uint32_t *epoch)
{
    bool resumes = (call->flags & RPMI_CALL_RESUME) != 0;
    int err = resumes ? may_resume(service, &log->entry, call) : 0;

    if (err == 0 && call->epoch == 0)
        err = check_owner(log, call);
    if (err == 0)
        err = next_epoch(service, log, call, epoch);
    return err != 0 ? err : check_owner(log, call);
}

/* No key can write to the log by an earlier claim any more. One with a token had this epoch. */
static int end_claims(struct rpmi_service *service, struct rpmi_object *log,
                      const struct rpmi_call *call, uint32_t epoch)
{
    bool again = call->token != 0;
    bool resumes = (call->flags & RPMI_CALL_RESUME) != 0;
    int err;

    RPM_ASSERT(epoch != 0 && log->used);
    if (log->writer != 0) {
        rpmi_key_revoke(service, log->writer, (uint32_t)(log - service->objects));
        service->fenced += !again;
        log->writer = 0;
        rpmi_delegation_end(log);
    }
    RPM_ASSERT(log->writer == 0);
    log->sealed = false; /* until SEAL: records of this epoch are not valid yet */
    log->epoch = epoch;
    log->ungranted = log->ungranted || !again;
    err = again ? 0 : raise_claim(service, &log->entry, resumes, epoch);
    return err != 0 ? err : quiesce(service, &log->entry);
}

static int grant(struct rpmi_service *service, struct rpmi_client *client,
                 const struct rpmi_call *call, struct rpmi_reply *reply)
{
    uint32_t index = client->key[call->key].object;
    struct rpmi_object *log = &service->objects[index];
    int err;

    RPM_ASSERT(log->writer == 0); /* quiesce() waited, and no other claim was granted meanwhile */
    err = rpmi_key_grant(service, client, index, RPMI_RIGHT_READ | RPMI_RIGHT_WRITE, &reply->key);
    if (err != 0)
        return err;
    RPM_ASSERT(client->key[reply->key].object == index);
    RPM_ASSERT(log->epoch != 0 && !log->sealed);
    service->claims++;
    log->ungranted = false;
    log->writer = client->id;
    renew_certificate_key(service, log, reply);
    reply->epoch = log->epoch;
    reply->offset = log->entry.offset;
    reply->token = rpmi_claim_token(service, log);
    return 0;
}

static int claim(struct rpmi_service *service, struct rpmi_client *client,
                 const struct rpmi_call *call, struct rpmi_reply *reply)
{
    struct rpmi_object *log;
    struct rpmi_head head = { 0 };
    uint32_t epoch = call->epoch;
    int err = rpmi_key_object(service, client, call->key, RPMI_RIGHT_READ, &log);

    if (err == 0)
        err = check_call(&log->entry, call);
    if (err == 0)
        err = rpmi_key_room(client);
    if (err != 0)
        return err;
    RPM_ASSERT(rpmi_is_pool_index(service, client->key[call->key].object) && log->keys > 0);
    err = call->token != 0 ? may_claim_again(service, log, call, &head)
                           : may_claim(service, log, call, &epoch);
    if (err == 0)
        err = end_claims(service, log, call, epoch);
    if (err == 0)
        err = grant(service, client, call, reply);
    if (err != 0 || head.epoch != epoch)
        return err;
    RPM_ASSERT(call->token != 0 && log->writer == client->id);
    log->sealed = true; /* by the earlier claim of this epoch */
    log->trim_lsn = head.trim_lsn;
    return 0;
}

void rpmi_claim(struct rpmi_service *service, struct rpmi_client *client,
                const struct rpmi_call *call, struct rpmi_reply *reply)
{
    reply->status = claim(service, client, call, reply);
}
