/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canary.h: rules that a test can remove, one at a time, to show that the crash suite then fails;
 * and for rules of the performance model, that the check of published values then fails.
 * In the shipped library every canary is the constant 0, and the compiler removes its code.
 *
 * Tests: tests/crash/canary_test.cpp, tests/unit/set/round_test.cpp, tests/tools/hints_canary_test
 */
#ifndef RPMI_CANARY_H
#define RPMI_CANARY_H

/* Rules of the performance model: X(NAME, what is so without the rule). */
#define RPMI_MODEL_CANARIES(X)                                                                     \
    X(NO_COMBINING, "the module's buffer keeps lines of one media line apart")                     \
    X(NO_FILL, "a part of a media line costs a whole write although the rest was read")            \
    X(FULL_WAITS, "a full media line is written only when it is evicted")                          \
    X(FULL_LEAVES, "a full media line leaves the buffer when it is written")                       \
    X(NEWEST_VICTIM, "the buffer evicts the entry that was taken last, none at random")            \
    X(ONE_SLICE, "lines that wait for a controller are accepted in order of arrival")              \
    X(NO_FENCE, "a core never waits for its lines at the end of an operation")                     \
    X(NO_FENCE_TIME, "a fence returns as soon as the lines are accepted")                          \
    X(NO_OWNERSHIP, "a cached store does not read its line first")                                 \
    X(LLC_IN_ORDER, "the cache evicts the oldest line of a set")                                   \
    X(NO_DDIO, "inbound writes never enter the cache")                                             \
    X(NO_INTERLEAVING, "all addresses belong to one module")                                       \
    X(NO_LINK, "the other socket is as near as the local one")                                     \
    X(NO_DIRECTORY_READ, "a write to the other socket does not read the directory")                \
    X(NO_DIRECTORY_WRITE, "a write to the other socket does not write the directory")              \
    X(NO_PARTIAL_READ, "an inbound write of a part of a line does not read the line")              \
    X(NO_PARTIAL_STREAM, "a streamed part of a line does not read the line")                       \
    X(READ_PASSES, "a READ does not wait for the WRITEs before it")                                \
    X(NO_CHAIN, "a READ is posted after the WRITE that it follows is acknowledged")                \
    X(NO_CHAIN_FETCH, "the client's NIC need not fetch a chain from memory")                       \
    X(NO_UNITS, "a NIC carries out as many atomics at a time as it has room for")                  \
    X(NO_WORDS, "atomics on the same word do not wait for each other")                             \
    X(NO_MESSAGE_RATE, "a NIC receives any number of messages a second")                           \
    X(NO_READ_LIMIT, "a NIC has any number of reads outstanding")                                  \
    X(NO_PORT_RATE, "a port carries any number of bytes a second")                                 \
    X(CALL_FROM_CACHE, "a core finds a call's message in the cache, with DDIO or without")

/* Rules of certificates and decisions (wire/certificate.h, wire/decision.h) and of carried records
 * (pool/delegate.c): X(NAME, what is so without the rule). */
#define RPMI_AGENT_CANARIES(X)                                                                     \
    X(CERTIFICATE_UNCHECKED, "the writer takes a certificate without its proof")                   \
    X(CERTIFICATE_BEYOND, "the writer takes a certificate that does not begin at its record")      \
    X(CERTIFICATE_EARLY, "the server certifies records before it has flushed them")                \
    X(CERTIFICATE_UNSEEN, "the server certifies records that it has not looked at")                \
    X(CERTIFICATE_HEADERS, "the server looks at the headers of frames only")                       \
    X(ORDER_SHORT, "the writer takes a certificate of some records for all of them")               \
    X(ORDER_PART, "the server copies some of the records that it is to make durable, not all")     \
    X(ORDER_ENDLESS, "the writer waits for an agent for as long as it takes")                      \
    X(STALE_COMMITTED, "the writer trims by a decision although its log has changed since")        \
    X(STAGED_EARLY, "the agent stages a decision before the segment is durable")                   \
    X(DELEGATION_OUTLIVES, "an agent stores records by a claim that has ended")                    \
    X(CARRY_REUSED, "an agent stores records where the log was trimmed")                           \
    X(AGENT_UNDECLARED, "an agent stores records that the server does not declare")                \
    X(CARRY_STAGED, "the writer takes records that its agent has for durable ones")                \
    X(COPIED_DURABLE, "the agent calls records durable when its copy engine has completed")

/* Rules of replicated logs (lib/set): X(NAME, what is so without the rule). */
#define RPMI_SET_CANARIES(X)                                                                       \
    X(FORGET_LIFE, "a member counts although its memory was lost")                                 \
    X(COUNT_SHORT, "a member counts although it lacks records that it once had")                   \
    X(NO_COPY, "members are sealed without the records that they lack")                            \
    X(EARLY_SEAL, "members are sealed before their records are at the log's level")                \
    X(LONGEST_LOG, "the longest log has all acknowledged records, whatever its epoch")             \
    X(FEW_CLAIMS, "one member less is enough to find the end of the log")                          \
    X(FEW_SEALS, "one member less is enough to append to")                                         \
    X(ACK_SHORT, "a record is acknowledged when one member has it")

enum rpmi_canary {
    RPMI_CANARY_NONE = 0,
    RPMI_CANARY_NO_FLUSH,          /* no flush after a write */
    RPMI_CANARY_OTHER_QP,          /* flush on the other queue pair */
    RPMI_CANARY_READ_DDIO,         /* READ as a flush although DDIO is on */
    RPMI_CANARY_NO_FENCE,          /* no fence before a dependent write */
    RPMI_CANARY_NO_SUM,            /* checksum not checked */
    RPMI_CANARY_NO_EPOCH,          /* epoch not checked */
    RPMI_CANARY_LATE_EPOCH,        /* epoch raised after the first append */
    RPMI_CANARY_EARLY_ACK,         /* acknowledged before the flush completes */
    RPMI_CANARY_LATE_TRIM,         /* trim made durable after its space is reused */
    RPMI_CANARY_PAD_NEIGHBOUR,     /* padding over a neighbour's bytes */
    RPMI_CANARY_BLIND_RESUME,      /* resume calls every unknown record absent */
    RPMI_CANARY_NO_RECOVERY_FLUSH, /* recovered records not made durable before the seal */
    RPMI_CANARY_NO_START_FLUSH,    /* directory and heads not made durable when a server starts */
    RPMI_CANARY_EARLY_DETACH,      /* a client's locks freed while its writes may still land */
    RPMI_CANARY_HEAD_IN_PLACE,     /* the next head of a log overwrites the valid one */
    RPMI_CANARY_EARLY_STATE,       /* directory entry valid before its body is durable */
    RPMI_CANARY_NO_LOG_ID,         /* log's id not under the frame's checksum */
    RPMI_CANARY_OLD_HEADER,        /* slots of an older log left in the header of a new one */
    RPMI_CANARY_WEAK_ZEROS,        /* a new region's zeros not durable */
    RPMI_CANARY_VISIBLE_HEAD,      /* appends admitted by a head that may not be durable */
    RPMI_CANARY_EARLY_STEPS,       /* a list of steps answered before its writes are drained */
    RPMI_CANARY_ONE_HEAD,          /* one copy of a log's head written instead of two */
    RPMI_CANARY_OLD_FLUSH,         /* a write is acknowledged by a flush posted before it */
    RPMI_CANARY_EARLY_LAG,         /* a frame counts records as acknowledged that were only posted
                                      before it */
    RPMI_CANARY_STORE_VISIBLE,     /* an archiver stores records that are only visible */
    RPMI_CANARY_COUNT,             /* of those above, which the crash suite detects */
#define RPMI_MODEL_CANARY(name, without) RPMI_CANARY_MODEL_##name,
    RPMI_MODEL_CANARIES(RPMI_MODEL_CANARY)
#define RPMI_AGENT_CANARY(name, without) RPMI_CANARY_##name,
        RPMI_AGENT_CANARIES(RPMI_AGENT_CANARY)
#define RPMI_SET_CANARY(name, without) RPMI_CANARY_##name,
            RPMI_SET_CANARIES(RPMI_SET_CANARY)
};

#ifdef RPMI_TESTING
extern enum rpmi_canary rpmi_canary_now;
#define RPMI_CANARY(which) (rpmi_canary_now == RPMI_CANARY_##which)
#else
#define RPMI_CANARY(which) 0
#endif

#endif
