/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h: a writer's conversation with its agent: which records it asks about, and what the server
 * has certified. The agent is a process that sends the PROVEs (wire/steps.h) of many writers to the
 * server in one list. It is not trusted: a certificate counts only with the proof of the server
 * under the key of the claim.
 *
 * One list is outstanding at a time. An agent that is lost, or does not answer in time, is left
 * alone for a while, which doubles; then it is asked again.
 *
 * Invariants
 *   certified_lsn of a claim only grows, and everything of the claim before it is durable
 *   no answer is read before its list has completed
 *
 * Tests: tests/unit/transport/wrap/agent_test.cpp
 */
#ifndef RPMI_WRAP_AGENT_H
#define RPMI_WRAP_AGENT_H

#include "transport/transport.h"
#include "transport/wrap/calibration.h"
#include "transport/wrap/fetch.h"
#include "wire/hello.h"
#include "wire/steps.h"

#define RPMI_ASKS_MAX 16u    /* PROVEs in one list */
#define RPMI_ASK_BYTES 40u   /* of a PROVE */
#define RPMI_CARRIED_MAX 40u /* CARRYs in one list, in front of them */
#define RPMI_CARRIED_BYTES (RPMI_STEPS_BYTES - RPMI_ASKS_MAX * RPMI_ASK_BYTES)
#define RPMI_AGENT_PAUSE_NS 1000000000ull /* after the first failure; doubles */
#define RPMI_AGENT_PAUSE_MAX_NS 60000000000ull

/* What this client knows of a claim: by its key that may write. */
struct rpmi_claimed {
    uint64_t log_id;
    uint32_t epoch; /* 0: no claim */
    uint64_t certificate_key[RPMI_CERTIFICATE_KEY_WORDS];
    uint64_t certified_lsn; /* 0: nothing yet */
    bool delegated;         /* to the agent, which may carry records (carry.h) */
};

struct rpmi_ask {
    uint32_t key;
    uint32_t epoch; /* of its claim; set by rpmi_agent_send() */
    uint64_t first_lsn;
    uint64_t end_lsn;
};

struct rpmi_agent_stats {
    uint64_t lists;   /* sent to the agent */
    uint64_t orders;  /* PROVEs in them */
    uint64_t refused; /* certificates that were none */
};

/* Where the agent listens, and how to connect there; the text and the secret are this struct's
 * own. */
struct rpmi_agent_address {
    char url[RPMI_URL_BYTES_MAX];
    char secret[RPMI_SECRET_BYTES];
    char carry[RPM_NAME_MAX + 1]; /* the name of a declared agent, which is to carry records; "":
                                     it has them certified only */
    struct rpmi_calibration calibration; /* of agent and server; all zeros: none */
    int (*dial)(void *context, const char *url, const struct rpmi_link_opts *opts,
                struct rpmi_link **link);
    void *context;
};

struct rpmi_agent {
    struct rpmi_agent_address address;
    struct rpmi_link *link; /* to the agent; NULL: to be dialled */
    int epoll_fd;           /* which watches that link; -1: none does */
    unsigned char *list;    /* staging memory of that link: RPMI_STEPS_BYTES each */
    unsigned char *answer;
    uint32_t asks; /* PROVEs of the list that is outstanding; 0: none is */
    struct rpmi_ask ask[RPMI_ASKS_MAX];
    uint32_t steps;         /* CARRYs of that list */
    uint32_t carried_steps; /* CARRYs for the next list, which are encoded in carried[] */
    uint32_t carried_bytes;
    unsigned char carried[RPMI_CARRIED_BYTES];
    bool lied; /* it gave a certificate without proof: it is given no bytes any more */
    uint64_t asked_ns;
    uint64_t setup_ns; /* what dialling it took, the last time that it answered */
    uint64_t pause_ns;
    uint64_t away_until_ns;         /* 0: the agent answers */
    uint64_t log_id[RPMI_KEYS_MAX]; /* of a log that is open by this key of the server's link */
    struct rpmi_claimed claimed[RPMI_KEYS_MAX];
    struct rpmi_agent_stats stats;
    uint64_t timeout_us; /* of the connection that it belongs to */
    struct rpmi_fetch fetch;
};

/* Fill in the texts; each '+' of @url stands for a comma. RPM_E_INVAL: the URL or the secret is too
 * long, or the URL names an agent of its own. */
int rpmi_agent_set_address(struct rpmi_agent_address *address, const char *url, const char *secret);

/*
 * Dial, for at most a second. 0, also if no agent answers there, which is then one that is away;
 * RPM_E_NOMEM, RPM_E_NOCAP (the link carries no lists, or has no descriptor for @epoll_fd), or what
 * rpm_conn_open() says of another address, secret or version.
 */
int rpmi_agent_open(struct rpmi_agent *agent, const struct rpmi_agent_address *address,
                    int epoll_fd, uint64_t now_ns, uint64_t timeout_us);
void rpmi_agent_close(struct rpmi_agent *agent);

/* The server has answered a call: learn logs and claims from it. */
void rpmi_agent_learn(struct rpmi_agent *agent, const struct rpmi_call *call,
                      const struct rpmi_reply *reply);

/* The server's link is lost: all keys are void. */
void rpmi_agent_forget(struct rpmi_agent *agent);

/* The claim by which @key writes, or NULL. */
struct rpmi_claimed *rpmi_agent_claim(struct rpmi_agent *agent, uint32_t key);

/* Is it to be left alone for now? It is if the list that is outstanding was sent more than
 * @late_ns ago. */
bool rpmi_agent_is_away(struct rpmi_agent *agent, uint64_t now_ns, uint64_t late_ns);

/* May a list be sent now? Dials an agent again that was away; blocks for at most @dial_ns then. */
bool rpmi_agent_is_free(struct rpmi_agent *agent, uint64_t now_ns, uint64_t dial_ns);

/* Send a list, with all that is in carried[] in front; rpmi_agent_is_free(). A failure makes the
 * agent one that is away. */
void rpmi_agent_send(struct rpmi_agent *agent, const struct rpmi_ask *asks, uint32_t n,
                     uint64_t now_ns);

/* Take the answer, if it is there: claims advance. True: the list has ended, answered or not.
 * @server_epoch, @level: what a certificate must have. */
bool rpmi_agent_take(struct rpmi_agent *agent, uint32_t server_epoch, enum rpm_level level,
                     uint64_t now_ns);

/* Take the decision that was asked for of a log, as rpmi_fetch_take(). One that does not come makes
 * the agent one that is away. */
enum rpmi_fetched rpmi_agent_fetched(struct rpmi_agent *agent, uint64_t log_id, uint64_t now_ns,
                                     struct rpmi_decision *found, uint32_t *run);
/* Read the decision of a log, as rpmi_fetch_send(). Dials an agent again that was away; blocks for
 * at most @dial_ns then. */
void rpmi_agent_fetch(struct rpmi_agent *agent, uint64_t log_id, uint64_t ask, uint64_t now_ns,
                      uint64_t dial_ns);

/* It has not done in time what it was asked for. */
void rpmi_agent_late(struct rpmi_agent *agent, uint64_t now_ns);

#endif
