/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.pml: the two ways to read a set. What a reader has delivered is settled: every later
 * recovery has it, and no other reader delivers anything else there.
 */
inline ChooseMember(i) {
    if
    :: i = 0
    :: i = 1
    :: i = 2
    fi
}

inline ChooseLsn(n) {
    if
    :: n = 0
#if LSNS > 1
    :: n = 1
#endif
    fi
}

/* Does the frame belong there, under a head that was read before it? */
#define BelongsUnder(i, n, sealed, base) \
    (n >= m[i].trim && m[i].epoch[n] != 0 && \
     (n >= base -> m[i].epoch[n] == sealed : m[i].epoch[n] < sealed))

/* A reader beside a writer: from any member, what is below its commit word. */
proctype Follower() {
    byte i, n, word, sealed, base, payload;

    do
    :: ChooseMember(i);
        ChooseLsn(n);
#ifdef FRAME_FIRST
        payload = (Belongs(i, n) -> m[i].payload[n] : 0);
        if
        :: d_step { payload != 0 && MayDeliver(n, m[i].commit) -> Settle(n, payload) }
        :: else
        fi;
#else
        word = m[i].commit;
        d_step { sealed = m[i].sealed; base = m[i].base }
        if
        :: d_step {
               MayDeliver(n, word) && BelongsUnder(i, n, sealed, base) ->
               Settle(n, m[i].payload[n])
           }
        :: else
        fi;
#endif
        d_step { i = 0; n = 0; word = 0; sealed = 0; base = 0; payload = 0 }
    od
}

/* A reader where no writer is left. */
proctype IdleReader() {
    byte i, n, sealed, epoch, payload, agreed;

    do
    :: ChooseLsn(n);
        for (i : 0 .. COPIES - 1) {
            if
            :: d_step {
                   Belongs(i, n) && (payload == 0 || payload == m[i].payload[n]) ->
                   payload = m[i].payload[n];
                   sealed = m[i].sealed
               };
               d_step {
                   if
                   :: IsQuiet(i) -> agreed++; epoch = sealed
                   :: else
                   fi;
                   sealed = 0
               }
            :: skip
            fi
        }
        if
        :: d_step { agreed >= ACKS -> Settle(n, payload) }
        :: else
        fi;
        d_step { i = 0; n = 0; epoch = 0; payload = 0; agreed = 0 }
    od
}
