/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.pml: what happens to servers. One of them loses what it had, once; a power cut may hit all.
 */

/* A server restarts without its memory, where head and claim word are on a medium; or its pool is
 * gone. */
proctype Crash() {
    byte i;

    ChooseMember(i);
    if
    :: d_step {
           Erase(i, 0, LSNS);
           m[i].commit = 0;
           m[i].key = 0;
           m[i].life = LifeNow;
           losses++;
           CheckAll()
       }
#ifdef CREATE
    :: d_step {
           CreateLog(i, 0, 0);
           m[i].life = GONE;
           losses++;
           CheckAll()
       }
#endif
    fi;
    i = 0
}

inline CopyMember(a, b) {
    a.claim = b.claim;
    a.token = b.token;
    a.sealed = b.sealed;
    a.base = b.base;
    a.trim = b.trim;
    a.commit = b.commit;
    n_ = 0;
    do
    :: n_ < LSNS -> a.epoch[n_] = b.epoch[n_]; a.payload[n_] = b.payload[n_]; n_++
    :: else -> break
    od;
    n_ = 0
}

/* A pool is replaced by a copy of it that was made before. */
proctype RollBack() {
    Member old;
    byte i;

    ChooseMember(i);
    d_step { CopyMember(old, m[i]) }
    d_step {
        CopyMember(m[i], old);
        m[i].key = 0;
        m[i].life = LifeRolledBack;
        losses++;
        CheckAll()
    }
}

#ifdef CUT
/* Of a frame that was not durable there is now what was there before, all of it, or a part. */
inline CutPower(i) {
    for (n : 0 .. LSNS - 1) {
        if
        :: m[i].epoch[n] != m[i].durable_epoch[n] || m[i].payload[n] != m[i].durable_payload[n] ->
            if
            :: WriteFrame(i, n, m[i].durable_epoch[n], m[i].durable_payload[n])
            :: WriteFrame(i, n, 0, 0)
            :: skip
            fi
        :: else
        fi
    }
    if
    :: d_step {
           true ->
           Persist(i);
           m[i].commit = 0;
           m[i].key = 0
       }
    fi
}

/* Any of the servers, at once. */
proctype PowerCut() {
    byte i, n;

    atomic {
        for (i : 0 .. SERVERS - 1) {
            if
            :: CutPower(i)
            :: skip
            fi
        }
        if
        :: d_step { true -> i = 0; n = 0; CheckAll() }
        fi
    }
}
#endif
