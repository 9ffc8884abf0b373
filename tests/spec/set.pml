/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set.pml: a replicated log: members on servers, writers that run rounds, readers, and faults.
 *
 * Invariants, each an assertion in check.pml, looked at after every step that could break it
 *   whichever n - acks + 1 sound members answer the next round, it finds all that is settled
 *   what is settled is on `acks` members, but for what a lost server took with it
 *   one LSN has one content for all users, and one record one LSN
 *   no round takes a sound member for a damaged one, or refuses a set that is not damaged
 *   a writer that was taken over never comes back by itself
 *   a frame above its head's epoch is below the claim word: a copy before its seal
 *
 *   member.pml  a log on one server, and what the server does in one step
 *   rules.pml   the rules that this rests on; a canary removes each of them
 *   check.pml   the assertions
 *   round.pml   Writer: promise, claim, scan, copy, seal, install; then append
 *   reader.pml  Follower, IdleReader
 *   fault.pml   Crash, RollBack, PowerCut
 *
 * `run` names the sizes and the parts that are checked together. README.md says what they are.
 */
#ifndef COPIES
#define COPIES 3 /* n */
#endif
#ifndef SERVERS
#define SERVERS COPIES /* those above COPIES are spares; at most 4 */
#endif
#ifndef ACKS
#define ACKS 2
#endif
#ifndef LSNS
#define LSNS 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef RECORDS
#define RECORDS 1 /* that each writer appends */
#endif
#define CLAIMS (COPIES - ACKS + 1) /* meet any `acks` members */

/* A set of servers is a number with a bit for each. */
#define Bit(i) (1 << (i))
#define In(set, i) (((set) >> (i)) & 1)
#define Size(set) (In(set, 0) + In(set, 1) + In(set, 2) + In(set, 3))

/* The log in the directory. Without one (STATIC) the ensemble never changes, and nothing else is
 * known. */
byte d_ensemble = Bit(COPIES) - 1;
byte d_promised, d_nonce; /* the highest epoch given out, and to which writer */
byte d_epoch;             /* installed, */
byte d_sealed;            /*     and the members that had been sealed in it */

#include "member.pml"
#include "rules.pml"
#include "check.pml"
#include "round.pml"
#include "reader.pml"
#include "fault.pml"

/* A writer that is gone had installed epoch 1 on `acks` members or more, and written its first
 * record to some of these. Members are alike, so those that have more come first. */
inline Past() {
    for (i : 0 .. COPIES - 1) {
        if
        :: i == 0 || In(held, i - 1) -> sealed = sealed | Bit(i); held = held | Bit(i)
        :: i == 0 || In(sealed, i - 1) -> sealed = sealed | Bit(i)
        :: skip
        fi
    }
#ifdef LONE_FRAME /* only the past in which one member has the record, and all are sealed */
    Size(sealed) == COPIES && Size(held) == 1;
#else
    Size(sealed) >= ACKS;
#endif
    d_step {
        i = 0;
        do
        :: i < COPIES ->
            if
            :: In(sealed, i) -> ClaimLog(i, 1, 0); SealLog(i, 0)
            :: else
            fi;
            if
            :: In(held, i) -> WriteFrame(i, 0, 1, 1)
            :: else
            fi;
            if
            :: Size(held) >= ACKS -> Persist(i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        d_promised = 1;
#ifndef STATIC
        d_epoch = 1;
        d_sealed = sealed;
#endif
        settled[0] = (Size(held) >= ACKS -> 1 : 0);
        CheckAll()
    }
}

init {
    byte i, sealed, held;

    atomic {
        Past();
        for (i : 1 .. WRITERS) {
            run Writer(i)
        }
#ifdef FOLLOWER
        run Follower();
#endif
#ifdef IDLE_READER
        run IdleReader();
#endif
#ifdef CRASH
        run Crash();
#endif
#ifdef ROLL_BACK
        run RollBack();
#endif
#ifdef CUT
        run PowerCut();
#endif
        i = 0; sealed = 0; held = 0
    }
}
