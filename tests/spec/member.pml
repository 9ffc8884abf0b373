/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * member.pml: a log on one server: its state, and what the server does in one step.
 *
 * An LSN is a number below LSNS, and each record takes one. A frame is the epoch of its writer and
 * the number of its payload. Epoch 0: no whole frame is there.
 */
#define SOUND 0   /* the log has all that its server ever acknowledged */
#define EMPTIED 1 /* the server lost its memory, but not the header: the life in the head is over */
#define GONE 2    /* the server has no such log any more */

typedef Member {
    byte claim;  /* claim word: the highest epoch granted, */
    byte token;  /*     and the writer that got it */
    byte key;    /* the writer whose key reads and writes; 0: none, since a restart */
    byte sealed; /* head: epoch, */
    byte base;   /*     first LSN of this epoch, */
    byte trim;   /*     oldest LSN kept */
    byte commit; /* commit word */
    byte life;
    byte epoch[LSNS]; /* of the frame at an LSN */
    byte payload[LSNS];
#ifdef CUT
    byte durable_epoch[LSNS]; /* what a power cut leaves of it */
    byte durable_payload[LSNS];
#endif
};

Member m[SERVERS];

/* Scratch of one d_step. The checker does not restore it, so no other block may use it. */
hidden byte n_;

/* FORMAT.md, section 5, rule 3 of validity: from the base on the head's own epoch; below it a
 * lower one, that is not lower than that of the frame before. */
#define Belongs(i, n) \
    (n >= m[i].trim && m[i].epoch[n] != 0 && \
     (n >= m[i].base -> m[i].epoch[n] == m[i].sealed \
                      : m[i].epoch[n] < m[i].sealed && \
                        (n == m[i].trim || m[i].epoch[n] >= m[i].epoch[n - 1])))

/* The tail: the first LSN without a frame that belongs there. */
inline FindTail(i, n) {
    n = m[i].trim;
    do
    :: n < LSNS && Belongs(i, n) -> n++
    :: else -> break
    od
}

inline Erase(i, from, end) {
    n_ = from;
    do
    :: n_ < end ->
        m[i].epoch[n_] = 0;
        m[i].payload[n_] = 0;
#ifdef CUT
        m[i].durable_epoch[n_] = 0;
        m[i].durable_payload[n_] = 0;
#endif
        n_++
    :: else -> break
    od
}

/* CLAIM with an epoch: no older key can write once it is answered. */
#define MayClaim(i, e) (m[i].life != GONE && m[i].claim < e)

inline ClaimLog(i, e, who) {
    m[i].claim = e;
    m[i].token = who;
    m[i].key = who
}

/* CLAIM of the same epoch again, with its token. */
#define MayClaimAgain(i, e, who) (m[i].life == SOUND && m[i].claim == e && m[i].token == who)

inline ClaimAgain(i, who) {
    m[i].key = who
}

/* OPEN with CREATE: the claim word of the new log is the creator's epoch from its first moment
 * on. */
inline CreateLog(i, e, who) {
    Erase(i, 0, LSNS);
    m[i].sealed = 0;
    m[i].base = 0;
    m[i].trim = 0;
    m[i].commit = 0;
    m[i].life = SOUND;
    ClaimLog(i, e, who)
}

/* WRITE with a key: visible, not durable. */
inline WriteFrame(i, n, by, what) {
    m[i].epoch[n] = by;
    m[i].payload[n] = what
}

/* Flush: what is visible becomes durable. */
inline Persist(i) {
#ifdef CUT
    n_ = 0;
    do
    :: n_ < LSNS ->
        m[i].durable_epoch[n_] = m[i].epoch[n_];
        m[i].durable_payload[n_] = m[i].payload[n_];
        n_++
    :: else -> break
    od;
    n_ = 0
#else
    skip
#endif
}

/* SEAL: the head gets the claim's epoch, its base, and the life of this server. */
inline SealLog(i, from) {
    m[i].commit = (m[i].commit > from -> from : m[i].commit);
    m[i].sealed = m[i].claim;
    m[i].base = from;
    m[i].life = SOUND
}

/* TRIM: the space in front of @end may be used again at once. */
inline TrimLog(i, end) {
    if
    :: m[i].trim < end -> Erase(i, 0, end); m[i].trim = end
    :: else
    fi
}
