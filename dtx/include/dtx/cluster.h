/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h: the servers of a database, and the database on them: created, opened, recovered.
 *
 * Shard s has its primary copy on server s and its backups on the servers that follow, modulo their
 * number: Options.replicas copies in all. If a server is lost permanently, or for long, the
 * operator promotes the backups: other copies of its shards become the primaries, and the server is
 * dead until it is restored. FORMAT.md has the bytes on each server.
 *
 * Tests: tests/unit/dtx/engine/cluster/cluster_test.cpp
 */
#ifndef DTX_CLUSTER_H
#define DTX_CLUSTER_H

#include <dtx/layout.h>
#include <dtx/phases.h>
#include <dtx/schema.h>
#include <dtx/techniques.h>

#include <librpm.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dtx
{

inline constexpr uint32_t kCoordinatorsMax = 1000; /* each with a log in the pool of each server */
inline constexpr uint32_t kAnyCoordinator = UINT32_MAX; /* one that no live session has */

struct Options {
    std::vector<std::string> urls;   /* of the servers; the number of shards */
    uint32_t replicas = 1;           /* copies of a shard and of a redo record: 1 to urls.size() */
    Phases phases;                   /* whether the client or the servers carry out each phase */
    Techniques techniques;           /* that reduce contention of threads */
    bool durable = true;             /* off: no redo log and nothing flushed, for comparison; as the
                                        database was made */
    uint32_t coordinators = 64;      /* sessions at once, 1 to kCoordinatorsMax */
    uint64_t log_bytes = 8ull << 20; /* of each coordinator's log on each server */
    uint32_t guesses = 1 << 18;      /* entries of a session's cache of the slots of rows */
    uint32_t conflicts_max = 0;      /* conflicts of one transaction, after which it throws Error,
                                        RPM_E_BUSY; 0: no limit. A lock that the same attempt still
                                        holds counts once until lease_us have passed */
    uint64_t lease_us = 2000000;     /* a session that meets the same lock for longer fences the
                                        lock's owner, completes or undoes its transaction from its
                                        logs, and frees the lock. If the owner's connection is
                                        closed, it does so after about 10 ms */
    uint64_t return_us = 10000000;   /* how long a session has to join again after a server was
                                        started, or the view changed, before inherit() takes it for
                                        dead: from when a call of this Cluster first sees it away */
    uint64_t timeout_us = 0;         /* of librpm's calls; 0: its default */
    uint64_t retry_us = 0;           /* how long a session tries again while servers do not answer,
                                        or another session has its logs, before it throws Error;
                                        0: 30 s */
    /* Called when a session has waited for a second, or has found a copy damaged and stored it
     * again, with a text for the operator that names the server and says what to do. Called by the
     * thread of any session, by one thread at a time. Empty: the text goes to standard error. */
    std::function<void(const std::string &text)> notice;
    std::string secret;        /* shared with the servers; empty: none */
    std::string hints = "all"; /* of librpm */
    uint64_t seed = 1;         /* of the random part of back-off, and of interleave */
    uint64_t numbers = 0;      /* for tests: attempts of a session after which it claims its logs
                                  again; 0: 2^29 - 1 */
    uint32_t interleave = 0;   /* for tests: of 256 steps that need not wait, how many let another
                                  coroutine run first; at most 255 */
    uint32_t canary = 0;       /* for tests: enum Canary, a rule that is left out */
    /* Connects to a server, for tests on the device model. Empty: the session uses the URL. */
    std::function<int(uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn)> dial;
};

/* Rules of the protocol. A test has the engine break one, to see that the test's checks fail. */
enum Canary : uint32_t {
    kCanaryNone = 0,
    kCanaryValidate = 1,       /* reads are not validated */
    kCanaryLock = 2,           /* rows are written without their locks */
    kCanaryVersion = 3,        /* a commit does not increase the versions of rows */
    kCanaryLogLate = 4,        /* rows are installed before the redo record is written */
    kCanaryPhantom = 5,        /* absent keys and the ends of ranges are not validated */
    kCanarySkipLog = 6,        /* recovery leaves out the log of one coordinator */
    kCanaryDropCommit = 7,     /* one commit of 97 is acknowledged, and not logged or installed */
    kCanaryNoRedo = 8,         /* a promotion does not apply the logs */
    kCanaryVacuum = 9,         /* slots that have rows are returned */
    kCanaryNoRecord = 10,      /* slots are returned without a redo record */
    kCanaryGiveUp = 11,        /* the reads of a body that gives up are not validated */
    kCanaryValidateEarly = 12, /* the message that locks validates, with several servers as well */
    kCanaryUnlockEarly = 13,   /* locks are freed before the rows are installed */
    kCanaryLoneRead = 14,      /* a transaction's only row is not validated, though it was locked */
    kCanarySpanPrimary = 15,   /* bytes of spans are written to the primary alone */
    kCanarySpanUnmarked = 16,  /* slabs of spans are not marked when they are written */
    kCanaryVisible = 17, /* rows and bytes of spans are acknowledged before they are durable */
    kCanarySpare = 18    /* a recovery returns each slot that a log names, used since or not */
};

/* What a recovery found and did. */
struct Recovery {
    uint32_t coordinators = 0; /* whose logs were taken over */
    uint64_t records = 0;      /* redo records read */
    uint64_t rows = 0;         /* copies of rows written from records: they were older, or torn */
    uint64_t locks = 0;        /* freed; by recover(coordinator) none: a claim word voids them */
    uint64_t slots = 0;        /* of dead or fenced sessions, returned */
};

/* What inherit() found of a session. */
enum class Life {
    died,
    away, /* not connected, but it has not joined since all sessions were last fenced, as when a
             server was started again: it may be about to, for Options::return_us */
    alive /* connected, or another session is just taking over from it */
};

struct View;

/* A database and its servers. No connection is open between calls, except within a Reading. */
class Cluster
{
  public:
    /* Throws Error for invalid options or an invalid schema. */
    Cluster(Schema schema, Options options);

    /* Make the database on all servers. Durable when it returns. Throws Error: RPM_E_EXISTS if the
     * servers have the database or a part of it; RPM_E_NOSPACE if a server's pool has no room for
     * its shards, or its DRAM for the locks of all of them, backups included. Before it throws it
     * removes what it has created. */
    void create() const;

    /* Remove the database, or what is left of it, from all servers: its shards, locks and logs.
     * Durable when it returns. May be interrupted and repeated; does nothing if there is none.
     * Throws Error: RPM_E_OWNED, a session has it open; then a part may be removed. */
    void remove() const;

    /* Throws Error, RPM_E_NOENT or RPM_E_VERSION, unless all live servers have the database and it
     * has this schema, number of replicas and durability. */
    void verify() const;

    /* Bring the database to the state of exactly the committed transactions. Sessions that still
     * live are fenced and join again. May itself be interrupted and repeated. Ends an interrupted
     * promotion or restoration: finishes it if a server has accepted the new view, drops it
     * otherwise. Throws Error. */
    Recovery recover() const;

    /* Fence one coordinator, complete its transactions, return its spare slots, void its locks. */
    Recovery recover(uint32_t coordinator) const;

    /* As recover(coordinator), if the session of the coordinator has died. Else nothing is done. */
    Life inherit(uint32_t coordinator) const;

    /* Go on without the servers @dead, given by number: fences all sessions, applies the logs of
     * the other servers to the copies there, and makes the next live copy of each shard its
     * primary. Sessions join again. No acknowledged commit is lost if each shard still has a copy
     * on a live server.
     *
     * @dead names all servers that are lost, and all others must answer. The caller must have
     * stopped the servers in @dead, and may start one again only to restore() it: sessions that can
     * still reach one would go on reading it. A server that was promoted away lacks the commits
     * made since: if all others are lost later, the database must not be started again from that
     * server. @force: do not ask the servers in @dead whether they answer; the caller knows that no
     * session can reach them.
     *
     * May be interrupted and repeated, or ended by recover(). Does nothing if the servers are dead
     * already. Throws Error; then the view has not changed, but sessions may have been fenced:
     * RPM_E_INVAL (no such server), RPM_E_NOCAP (a shard would have no copy left), RPM_E_BUSY
     * (without @force: the server answers and has a shard of the database, or has its maximum of
     * clients, or the host of its URL has no address). */
    Recovery promote(const std::vector<uint32_t> &dead, bool force = false) const;

    /* Use a server again that was promoted away, or an empty one that is now at its URL: fences all
     * sessions, empties the server's old logs and copies its shards to it. Sessions join again. May
     * be interrupted and repeated; does nothing for a live server. Throws Error: RPM_E_INVAL
     * (no such server). */
    Recovery restore(uint32_t server) const;

    /* Recover the database, and return to it the slots that sessions had kept for new rows when
     * they died or were fenced. Reads all slots that were ever used; sessions are fenced and wait
     * meanwhile, for up to retry_us. May be interrupted and repeated, by recover() as well. Throws
     * Error: RPM_E_CORRUPT. */
    Recovery vacuum() const;

    /* The servers that are dead in the view in force. */
    std::vector<uint32_t> dead() const;

    /* Calls @callback for all rows of a table, in no order, as copy @copy of each shard has them
     * (0: the primary); if a shard has fewer copies now, as its last copy has them. For a database
     * that no session writes: a row that is being written may be reported torn. Throws Error:
     * RPM_E_CORRUPT, RPM_E_INVAL (no such table). */
    void each_row(
        uint32_t table, uint32_t copy,
        const std::function<void(uint64_t key, const void *row, size_t bytes)> &callback) const;

    /* While a Reading lives, all reads of whole tables by its thread share its connections. It
     * keeps the view that it began with: to see a change of the view, or a server that was started
     * again, make a new Reading. */
    class Reading
    {
      public:
        explicit Reading(const Cluster &cluster);
        ~Reading();
        Reading(const Reading &) = delete;
        Reading &operator=(const Reading &) = delete;

      private:
        const Cluster &cluster_;
    };

    /* As each_row(), for all slots, used or not, with their headers. */
    void each_object(uint32_t table, uint32_t copy,
                     const std::function<void(Address address, const unsigned char *image,
                                              uint32_t bytes)> &callback) const;

    /* Reads one slot as each_object() does, with its header, into @image: for a callback of
     * each_object() that found it torn, while a session may be writing it. */
    void read_object(Address address, uint32_t copy, unsigned char *image) const;

    const Schema &schema() const
    {
        return schema_;
    }
    const Options &options() const
    {
        return options_;
    }
    const Layout &layout() const
    {
        return layout_;
    }
    uint32_t shards() const
    {
        return static_cast<uint32_t>(options_.urls.size());
    }
    /* The server of copy @copy of a shard, 0: the primary, while all servers are live. */
    uint32_t server_of(uint32_t shard, uint32_t copy) const
    {
        return (shard + copy) % shards();
    }
    /* Options.retry_us, or its default. */
    uint64_t retry_ns() const
    {
        return 1000 * (options_.retry_us != 0 ? options_.retry_us : 30000000);
    }
    /* The newest view that a session or call of this Cluster has seen: the next call connects to
     * the live servers of that view first. */
    View last_view() const;
    void remember(const View &view) const;
    /* Was the session of a coordinator first seen away less than Options::return_us ago, while its
     * log had the epoch @epoch, which each recovery changes? */
    bool may_return(uint32_t coordinator, uint64_t epoch) const;
    /* Give @text to Options.notice; the same text at most once in ten seconds. */
    void notify(const std::string &text) const;

  private:
    struct Seen;
    struct Reader;

    std::shared_ptr<Reader> reader() const;

    Schema schema_;
    Options options_;
    Layout layout_;
    std::shared_ptr<Seen> seen_; /* shared by copies of this Cluster */
};

} // namespace dtx
#endif
