/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canary.h: rules that a test can remove, one at a time, to show that the crash suite then fails.
 * In the shipped library every canary is the constant 0, and the compiler removes its code.
 *
 * Tests: tests/crash/canary_test.cpp
 */
#ifndef RPMI_CANARY_H
#define RPMI_CANARY_H

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
    RPMI_CANARY_COUNT
};

#ifdef RPMI_TESTING
extern enum rpmi_canary rpmi_canary_now;
#define RPMI_CANARY(which) (rpmi_canary_now == RPMI_CANARY_##which)
#else
#define RPMI_CANARY(which) 0
#endif

#endif
