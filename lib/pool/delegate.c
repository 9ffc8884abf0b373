/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delegate.c: the holder of a claim lets a declared agent carry its records: the agent sends their
 * bytes by CARRY, and the server CPU stores them. An agent gets no key: the server checks each
 * CARRY when it carries it out, under the lock that also a claim, a trim and an UNDELEGATE take, so
 * nothing of an agent is on its way once one of these is answered.
 *
 * Invariants
 *   a delegation ends with its claim
 *   bytes are stored only for the claim in force, behind its seal, as its holder made them
 *   bytes are stored only in LSNs that the log may have now: those of an earlier lap were trimmed
 *
 * Format: FORMAT.md, sections 7 and 12.   Tests: tests/unit/pool/delegate_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/canary.h"
#include "base/err.h"
#include "wire/carry.h"
#include "wire/head.h"

#include <string.h>

/* The number of the declared agent @name, from 1; 0: the server declares none. */
static uint32_t agent_of(const struct rpmi_service *service, const char *name)
{
    const char *at = service->opts.agents != NULL ? service->opts.agents : "";
    size_t len = strlen(name);
    uint32_t number = 0;

    if (len == 0)
        return 0;
    while (*at != '\0') {
        size_t word = strcspn(at, " ");

        number += word > 0;
        if (word == len && memcmp(at, name, len) == 0)
            return number;
        at += word + strspn(at + word, " ");
    }
    return RPMI_CANARY(AGENT_UNDECLARED) ? number + 1 : 0;
}

static int refuse_name(const struct rpmi_call *call)
{
    return rpmi_fail(RPM_E_DENIED,
                     "the server declares no agent '%s', so it carries no records; start the "
                     "server with --agent %s, or name one that it declares",
                     call->name, call->name[0] != '\0' ? call->name : "NAME");
}

int rpmi_enrol_agent(struct rpmi_service *service, struct rpmi_client *client,
                     const struct rpmi_call *call)
{
    uint32_t agent = agent_of(service, call->name);

    if (agent == 0)
        return refuse_name(call);
    client->agent = agent;
    return 0;
}

int rpmi_delegate(struct rpmi_service *service, struct rpmi_client *client,
                  const struct rpmi_call *call)
{
    bool gives = call->kind == RPMI_CALL_DELEGATE;
    uint32_t agent = gives ? agent_of(service, call->name) : 0;
    struct rpmi_object *log;
    int err;

    if (gives && agent == 0)
        return refuse_name(call);
    if (gives && call->key == RPMI_KEY_SCRATCH)
        return 0; /* only a question */
    err = rpmi_key_object(service, client, call->key, RPMI_RIGHT_READ | RPMI_RIGHT_WRITE, &log);
    if (err != 0)
        return err;
    if (log->entry.kind != RPM_KIND_LOG)
        return rpmi_fail(RPM_E_DENIED,
                         "key %u is that of '%s', which is not a log; an agent carries records of "
                         "a log",
                         call->key, log->entry.name);
    /* A live key to write to a log is the claim on it. */
    RPM_ASSERT(log->writer == client->id && log->epoch != 0);
    log->agent = agent;
    return 0;
}

/* Is it the claim in force, and has its holder made the step? */
static int check_claim(const struct rpmi_object *log, const struct rpmi_step *step)
{
    if (RPMI_CANARY(DELEGATION_OUTLIVES))
        return 0;
    if (log->writer == 0 || !log->sealed || log->epoch != step->epoch)
        return RPM_E_FENCED;
    return rpmi_carry_check(step, log->certificate_key);
}

/* Is [lsn, lsn + len) one piece of the ring, and where the log may have records now? */
static int check_place(const struct rpmi_object *log, uint64_t lsn, uint64_t len)
{
    uint64_t capacity = rpmi_ring_bytes(log);

    if (!rpmi_is_aligned(lsn, RPMI_LINE_BYTES) || lsn >= RPMI_HEAD_LIMIT || len > capacity ||
        lsn % capacity > capacity - len)
        return RPM_E_RANGE;
    if (RPMI_CANARY(CARRY_REUSED))
        return 0;
    return lsn < log->trim_lsn || lsn + len - log->trim_lsn > capacity ? RPM_E_RANGE : 0;
}

int rpmi_service_carry(const struct rpmi_service *service, uint32_t client,
                       const struct rpmi_step *step, struct rpmi_span *span)
{
    const struct rpmi_client *slot = rpmi_client_find(service, client);
    const struct rpmi_object *log = rpmi_log_of_id(service, step->log_id);
    int err;

    RPM_ASSERT(step->kind == RPMI_STEP_CARRY && step->len > 0);
    if (slot == NULL || log == NULL || slot->agent == 0 || log->agent != slot->agent)
        return RPM_E_DENIED;
    err = check_claim(log, step);
    if (err == 0)
        err = check_place(log, step->offset, step->len);
    if (err != 0)
        return err;
    span->area = RPMI_AREA_POOL;
    span->offset = rpmi_ring_place(log, step->offset);
    RPM_ASSERT(rpmi_in_bounds(span->offset, step->len, log->entry.offset + log->entry.bytes));
    return 0;
}

uint32_t rpmi_service_agents(const struct rpmi_service *service)
{
    uint32_t agents = 0;

    for (uint32_t i = 0; i < service->clients_max; i++)
        agents += service->clients[i].id != 0 && service->clients[i].agent != 0;
    return agents;
}
