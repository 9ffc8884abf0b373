/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.pml: what must hold, whatever the processes do. The protocol never reads these variables.
 *
 * A record is settled as soon as a user may rely on it: its append was acknowledged, a reader
 * delivered it, or a round that found it has installed its epoch.
 */
byte settled[LSNS]; /* payload settled at an LSN; 0: none */
byte owner;         /* the writer that last opened the log */
byte losses;        /* servers that lost what they had acknowledged */

/* Scratch, as n_. */
hidden byte q_, i_, k_, best_, sound_, tail_[SERVERS];

/* The best of the members @quorum has every settled record that is not trimmed; and no round would
 * refuse it as older than what was installed. A canary has to fail by the loss that it leads to,
 * not by that refusal. */
inline CheckBest(quorum) {
    best_ = SERVERS;
    i_ = 0;
    do
    :: i_ < SERVERS ->
        if
        :: In(quorum, i_) && (best_ == SERVERS || m[i_].sealed > m[best_].sealed ||
                              (m[i_].sealed == m[best_].sealed && tail_[i_] > tail_[best_])) ->
            best_ = i_
        :: else
        fi;
        i_++
    :: else -> break
    od;
#ifndef CANARY
    assert(m[best_].sealed >= d_epoch);
#endif
    k_ = m[best_].trim;
    do
    :: k_ < LSNS ->
        assert(settled[k_] == 0 ||
               (k_ < tail_[best_] && m[best_].payload[k_] == settled[k_]));
        k_++
    :: else -> break
    od
}

/* Each way to choose n - acks + 1 or more of the sound members. */
inline CheckQuorums() {
    q_ = 1;
    do
    :: q_ < Bit(SERVERS) && (q_ & ~sound_) == 0 && Size(q_) >= CLAIMS -> CheckBest(q_); q_++
    :: q_ < Bit(SERVERS) && !((q_ & ~sound_) == 0 && Size(q_) >= CLAIMS) -> q_++
    :: else -> break
    od
}

/* No sound member is taken for a damaged one. A power cut may tear a frame of a copy: then the
 * member is lost. */
#if (defined(CANARY) && !defined(COPY_IS_DAMAGE)) || defined(CUT)
#define CheckMember(i, n) skip
#else
#define CheckMember(i, n) assert(m[i].life != SOUND || !IsShort(i, n))
#endif

#ifdef CANARY
#define CheckFrame(i, n) skip
#else
#define CheckFrame(i, n) assert(m[i].epoch[n] <= m[i].sealed || m[i].epoch[n] < m[i].claim)
#endif

inline CheckMembers() {
    sound_ = 0;
    i_ = 0;
    do
    :: i_ < SERVERS ->
        FindTail(i_, k_);
        CheckMember(i_, k_);
        tail_[i_] = k_;
        sound_ = sound_ | (In(d_ensemble, i_) && m[i_].life == SOUND &&
                           Counts(i_, k_, d_sealed, d_epoch) -> Bit(i_) : 0);
        n_ = 0;
        do
        :: n_ < LSNS -> CheckFrame(i_, n_); n_++
        :: else -> break
        od;
        i_++
    :: else -> break
    od
}

/* Each settled record is in the logs of `acks` members, or they have trimmed it. */
inline CheckHolders() {
    n_ = 0;
    do
    :: n_ < LSNS ->
        q_ = 0;
        i_ = 0;
        do
        :: i_ < SERVERS ->
            q_ = q_ + (n_ < m[i_].trim ||
                       (n_ < tail_[i_] && m[i_].payload[n_] == settled[n_]) -> 1 : 0);
            i_++
        :: else -> break
        od;
        assert(settled[n_] == 0 || q_ + losses >= ACKS);
        n_++
    :: else -> break
    od
}

inline CheckAll() {
    CheckMembers();
    CheckQuorums();
    CheckHolders();
    n_ = 0; q_ = 0; i_ = 0; k_ = 0
}

/* One LSN has one content, and one record one LSN. */
inline Settle(lsn, what) {
    assert(settled[lsn] == 0 || settled[lsn] == what);
    settled[lsn] = what;
    n_ = 0;
    do
    :: n_ < LSNS -> assert(n_ == lsn || settled[n_] != what); n_++
    :: else -> break
    od;
    CheckAll()
}

/* RPM_E_CORRUPT, although nothing is damaged. */
inline Refused() {
#ifdef CANARY
    skip
#else
    assert(false)
#endif
}
