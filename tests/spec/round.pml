/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.pml: a writer: the steps of a round, in their order, and the appends after it.
 *
 * Each statement, each d_step and each atomic is one request to one server or to the directory, and
 * anything may happen between two of them. A writer may be slow for ever, so none is ever killed:
 * what it would leave behind is there while it is slow. A `skip` in a choice is a request that was
 * not sent, or is lost.
 */
#define Payload(r) (id * RECORDS + (r) + 1)

/* 1. A number above every one before, by compare-and-swap. The answer may be lost: the writer
 * learns from what it reads afterwards whether its swap was done. Without a directory: the highest
 * claim word heard, + 1. */
inline Promise() {
#ifdef STATIC
    ensemble = d_ensemble;
    for (i : 0 .. SERVERS - 1) {
        if
        :: atomic { m[i].claim > me -> me = m[i].claim }
        :: skip
        fi
    }
    me++;
#else
    ensemble = EnsembleBefore;
    d_step {
        ensemble = EnsembleNow;
        installed = d_epoch;
        recorded = d_sealed;
        me = d_promised + 1
    }
    d_promised >= id; /* writers are alike: they are numbered in the order of their first promise */
    if
    :: d_step { d_promised + 1 == me && d_epoch == installed -> d_promised = me; d_nonce = id }
    :: d_promised + 1 != me || d_epoch != installed
    fi;
#endif
    if
    :: Promised && IsMine(installed)
    :: else -> goto done
    fi
}

/* 2. Any members, each once. One that is lost but has a log is claimed, too: it can be filled
 * again. */
inline Claim() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               In(ensemble, i) && MayClaim(i, me) ->
               ClaimLog(i, me, id);
               claimed = claimed | Bit(i);
               lost = (m[i].life == SOUND -> lost : lost | Bit(i))
           }
        :: skip
        fi
    }
}

inline TakeAsBest(i, end) {
    best = i;
    sealed = m[i].sealed;
    tail = end;
    n_ = 0;
    do
    :: n_ < LSNS -> found[n_] = (n_ < end -> m[i].payload[n_] : 0); n_++
    :: else -> break
    od
}

/* 3. The best has the highest sealed epoch, then the longest log. Nothing is ever taken from a
 * shorter one. */
inline Scan() {
    best = SERVERS;
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               MayScan(i) && !In(lost, i) ->
               FindTail(i, k);
               if
               :: Counts(i, k, recorded, installed) ->
                   heard++;
                   word = (m[i].commit > word -> m[i].commit : word);
                   if
                   :: best == SERVERS || m[i].sealed > sealed ||
                      (m[i].sealed == sealed && k > tail) ->
                       TakeAsBest(i, k)
                   :: else
                   fi
               :: else
               fi;
               k = 0
           }
        :: else
        fi
    }
    if
    :: heard >= COPIES - MyAcks + 1 && IsMine(sealed)
    :: else -> goto done
    fi;
    if
    :: sealed < installed || tail < word -> Refused(); goto done
    :: else
    fi;
    d_step { installed = 0; recorded = 0; lost = 0; sealed = 0; word = 0; heard = 0 }
}

/* The ensemble of the new epoch: a spare may take the place of a member that was not claimed, and
 * a member whose log is gone gets a new one. */
inline Choose() {
    next = ensemble;
#ifdef REPLACE
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               !In(ensemble, i) && next == ensemble && (ensemble & ~claimed) != 0 &&
               MayClaim(i, me) ->
               ClaimLog(i, me, id);
               k = 0;
               do
               :: !In(ensemble & ~claimed, k) -> k++
               :: else -> break
               od;
               next = (ensemble & ~Bit(k)) | Bit(i);
               claimed = claimed | Bit(i);
               k = 0
           }
        :: skip
        fi
    }
#endif
#ifdef CREATE
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               In(next & ~claimed, i) && MayCreate(i) ->
               CreateLog(i, me, id);
               claimed = claimed | Bit(i)
           }
        :: skip
        fi
    }
#endif
}

/* Frame by frame, in order, from the first one on that differs; then durable. The best itself
 * needs no frame, but what it has may only be visible. */
inline CopyTo(i) {
    if
    :: d_step {
           Holds(i) && Holds(best) ->
           TrimLog(i, m[best].trim);
           k = m[i].trim;
           do
           :: k < tail && m[i].epoch[k] == m[best].epoch[k] &&
              m[i].payload[k] == m[best].payload[k] -> k++
           :: else -> break
           od;
           k = FirstToCopy(k)
       }
    :: else
    fi;
    do
    :: d_step {
           k < tail && Holds(i) && Holds(best) ->
           WriteFrame(i, k, m[best].epoch[k], m[best].payload[k]);
           k++;
           CheckAll()
       }
    :: d_step {
           k >= tail && Holds(i) ->
           if
           :: NeedsFlush(i) -> Persist(i)
           :: else
           fi;
           equal = equal | Bit(i)
       };
       break
    :: !Holds(i) || (k < tail && !Holds(best)) -> break
    od;
    k = 0
}

/* 4. Each member of the new ensemble gets equal to the best. One may be claimed as late as now. */
inline Copy() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               In(next & ~claimed, i) && MayClaim(i, me) ->
               ClaimLog(i, me, id);
               claimed = claimed | Bit(i)
           }
        :: skip
        fi;
        if
        :: In(next & claimed, i) -> CopyTo(i)
        :: skip
        fi
    }
}

/* 5. From the tail on, frames of this epoch are valid, on at least `acks` members. */
inline Seal() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               In(equal, i) && Holds(i) ->
               Sealed(i, tail);
               legs = legs | Bit(i);
               CheckAll()
           }
        :: skip
        fi
    }
    if
    :: Size(legs) >= MyAcks
    :: else -> goto done
    fi;
    d_step { ensemble = 0; claimed = 0; equal = 0; best = 0 }
}

inline ForgetFound() {
    k = 0;
    do
    :: k < LSNS -> found[k] = 0; k++
    :: else -> break
    od;
    k = 0
}

/* 6. By compare-and-swap, which fails if another round has promised since. All that this round
 * found is settled by it; so may be a record that this writer posted in its epoch before, and did
 * not see acknowledged. */
inline Install() {
    if
    :: d_step {
           Promised ->
           assert(own == 0 || owner == id);
           owner = id;
           own = me;
#ifndef STATIC
           d_ensemble = next;
           d_epoch = me;
           d_sealed = SealedOf(legs);
#endif
           k = 0;
           do
           :: k < tail && found[k] != 0 ->
               Settle(k, found[k]);
               record = (found[k] == Payload(record) -> record + 1 : record);
               k++
           :: k < tail && found[k] == 0 -> k++
           :: else -> break
           od;
           CheckAll();
           next = 0;
           members = legs;
           ForgetFound()
       }
    :: !Promised -> goto done
    fi
}

/* The record goes to one leg after the other. A leg that does not answer is dropped; one that is
 * slow is a dropped one that comes back. */
inline Post() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step {
               In(legs & ~held, i) && MayWrite(i) ->
               WriteFrame(i, at, me, Payload(record));
#ifndef CUT
               held = held | Bit(i);
#endif
#ifdef COUNT_TWICE
               answers++
#endif
           }
#ifdef CUT
           if
           :: d_step { MayWrite(i) -> Persist(i); held = held | Bit(i) }
           :: legs = legs & ~Bit(i)
           fi
#endif
        :: In(legs & ~held, i) -> legs = legs & ~Bit(i)
        :: !In(legs & ~held, i)
        fi
    }
}

/* A leg whose link broke comes back without a round, if the member is sealed in this epoch, its
 * claim word is still this epoch, and its life holds. It gets what it missed, then the record that
 * all are to get. */
inline Rejoin() {
    i = 0;
    do
    :: d_step {
           i < SERVERS && In(members, i) && MayClaimAgain(i, me, id) && m[i].sealed == me ->
           ClaimAgain(i, id)
       };
       break
    :: i < SERVERS -> i++
    :: i == SERVERS -> break
    od;
    if
    :: i < SERVERS ->
        k = tail;
        do
        :: d_step { k < at && Holds(i) -> WriteFrame(i, k, me, Payload(record - (at - k))); k++ }
        :: k == at -> legs = legs | Bit(i); held = held & ~Bit(i); break
        :: !Holds(i) -> break
        od;
        k = 0
    :: else
    fi
}

/* The commit word is posted behind the records, and no append waits for it. What it covers may be
 * trimmed. */
inline Commit() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: d_step { In(legs, i) && Holds(i) -> m[i].commit = at }
        :: skip
        fi
    }
#ifdef TRIM
    if
    :: true ->
        for (i : 0 .. SERVERS - 1) {
            if
            :: d_step { In(legs, i) && Holds(i) -> TrimLog(i, at); CheckAll() }
            :: skip
            fi
        }
    :: skip
    fi
#endif
}

/* 7. Each LSN once, and in one epoch with one content for ever. */
inline Append() {
    at = tail;
    do
    :: at < LSNS && record < RECORDS ->
        held = 0;
        Post();
#ifdef REJOIN
        if
        :: Rejoin(); Post()
        :: skip
        fi;
#endif
        if
        :: d_step { Acknowledged -> Settle(at, Payload(record)); at++; record++ }
        :: else -> break /* its outcome is unknown until the next round */
        fi;
        Commit()
    :: break
    od
}

/* What is over must not make states differ. */
inline Forget() {
    d_step {
        ensemble = 0; installed = 0; recorded = 0; me = 0;
        claimed = 0; lost = 0; equal = 0; legs = 0; members = 0; next = 0;
        best = 0; sealed = 0; tail = 0; word = 0; heard = 0;
        at = 0; held = 0; i = 0;
        ForgetFound()
    }
}

/* A writer opens the log, or takes it over from any other, and appends. With PAUSE it may run one
 * round of its own later, and goes on. */
proctype Writer(byte id) {
    byte ensemble, installed, recorded; /* what the directory said with the promise */
    byte me, own;                       /* epoch of this round; the last that it installed, or 0 */
    byte claimed, lost, equal, next;    /* members claimed, lost ones, copied; the new ensemble */
    byte legs, members;                 /* members sealed: those that are written to, all */
    byte best, sealed, tail, word;      /* best member, its epoch and tail; highest commit word */
    byte heard, found[LSNS];            /* how many were scanned; payloads of the best */
    byte at, record, held;              /* next LSN, next record, members that have it */
    byte i, k;
#ifdef PAUSE
    bit paused;
#endif
#ifdef COUNT_TWICE
    byte answers;
#endif

again:
    Promise();
    ClaimAndScan();
    Choose();
    Copy();
    Seal();
    InstallAndAppend();
#ifdef PAUSE
    if
    :: !paused -> paused = true; Forget(); goto again
    :: skip
    fi;
#endif
done:
    Forget();
    own = 0;
    record = 0
}
