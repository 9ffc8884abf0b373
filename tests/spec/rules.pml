/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.pml: the rules that a set rests on, in the order in which a round meets them. Under the name
 * of a canary stands what would be done without the rule; `run` shows that an assertion then fails.
 *
 * In these macros `id` is the writer, `me` the epoch of its round.
 */

/* The directory has this writer's own promise, not another writer's of the same number. */
#if defined(STATIC)
#define Promised true
#elif defined(PROMISE_BY_VALUE)
#define Promised (d_promised == me)
#else
#define Promised (d_promised == me && d_nonce == id)
#endif

/* The members are those of the directory at the promise, not those that the writer knew before. */
#ifdef STALE_MEMBER
#define EnsembleBefore d_ensemble
#define EnsembleNow ensemble
#else
#define EnsembleBefore 0
#define EnsembleNow d_ensemble
#endif

/* All clients take n and acks from the URL, and a member refuses one that says otherwise. */
#ifdef OTHER_ACKS
#define MyAcks (id == 1 -> ACKS - 1 : ACKS)
#else
#define MyAcks ACKS
#endif

/* A claim ends every older key. */
#define Holds(i) (m[i].key == id)
#ifdef NO_REVOKE
#define MayWrite(i) (m[i].life != GONE)
#else
#define MayWrite(i) Holds(i)
#endif

/* Members are claimed before they are scanned, and scanned with the key of that very claim, which
 * also ends when the server restarts. */
#ifdef NO_CLAIM
#define ClaimAndScan() Scan(); Claim()
#define MayScan(i) In(ensemble, i)
#else
#define ClaimAndScan() Claim(); Scan()
#ifdef OLD_KEY_SCAN
#define MayScan(i) In(claimed, i)
#else
#define MayScan(i) (In(claimed, i) && Holds(i))
#endif
#endif

/* A server whose memory did not last since the seal is lost: its head says in which life that
 * was. */
#ifdef FORGET_LIFE
#define LifeNow SOUND
#else
#define LifeNow EMPTIED
#endif

/* So is one whose pool is a copy of an older one: it has counted fewer starts than the directory
 * knows. */
#ifdef ROLLED_BACK
#define LifeRolledBack SOUND
#else
#define LifeRolledBack EMPTIED
#endif

/* A frame above the head's epoch is a copy that was not sealed. It ends the log, and is no sign of
 * damage: the frame that it replaced was never committed. */
#ifdef COPY_IS_DAMAGE
#define IsShort(i, n) (n < m[i].base || n < m[i].commit || HasCopy(i, n))
#else
#define IsShort(i, n) ((n < m[i].base && !HasCopy(i, n)) || n < m[i].commit)
#endif
#define HasCopy(i, n) (n < LSNS && m[i].epoch[n] > m[i].sealed)

/* A member that a round has claimed does not count if its log, which ends at @n, is shorter than
 * its head or its commit word says; or if its seal is below the one that the install recorded. */
#define Counts(i, n, recorded, installed) \
    (!IsShort(i, n) && !(In(recorded, i) && m[i].sealed < installed))

/* A writer's own round is only a pause: it ends the writer if another one has sealed or installed
 * meanwhile. */
#ifdef PAUSE_FOREIGN
#define IsMine(epoch) true
#else
#define IsMine(epoch) (own == 0 || epoch == own)
#endif

/* A member that holds a claim is never created anew; and without a directory, none: nothing would
 * say then that the claims and the records that the lost log had are missing from the new one. */
#if defined(RECREATE_HELD)
#define MayCreate(i) true
#elif defined(STATIC) && !defined(CREATE_STATIC)
#define MayCreate(i) false
#else
#define MayCreate(i) (m[i].life == GONE)
#endif

/* Each member is equal to the best before its seal, and durable: also the best itself. */
#ifdef NO_COPY
#define FirstToCopy(k) tail
#else
#define FirstToCopy(k) k
#endif
#ifdef BEST_UNFLUSHED
#define NeedsFlush(i) (i != best)
#else
#define NeedsFlush(i) true
#endif

/* Frames of an epoch are valid only on a member that was sealed in it. */
#ifdef NO_SEAL
#define Sealed(i, from) skip
#define SealedOf(legs) 0
#else
#define Sealed(i, from) SealLog(i, from)
#define SealedOf(legs) legs
#endif

/* No acknowledgement counts before the directory has the epoch. */
#ifdef ACK_BEFORE_INSTALL
#define InstallAndAppend() Append(); Install()
#else
#define InstallAndAppend() Install(); Append()
#endif

/* An append ends when `acks` different members have the record. */
#if defined(ACK_SHORT)
#define Acknowledged (Size(held) >= MyAcks - 1)
#elif defined(COUNT_TWICE)
#define Acknowledged (answers >= MyAcks)
#else
#define Acknowledged (Size(held) >= MyAcks)
#endif

/* A reader gives out what is below the commit word; it reads the word, then the head, then the
 * frame. */
#ifdef READ_PAST_COMMIT
#define MayDeliver(n, word) true
#else
#define MayDeliver(n, word) (n < word)
#endif

/* Without a writer: what is valid on `acks` members whose claim words, read behind the frame,
 * equal the epoch in their heads, the same on all. */
#ifdef READ_UNSEALED
#define IsQuiet(i) true
#else
#define IsQuiet(i) (m[i].claim == sealed && (epoch == 0 || epoch == sealed))
#endif
