/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * promote.cc: changes of the view, to go on without a server, to use a server again, to finish or
 * drop an interrupted change, or to keep all sessions out while a vacuum runs.
 *
 * A command that changes the view claims log-recovery on all live servers of the new view: of two
 * commands at once, the second fences the first, which begins anew.
 *
 * Invariants
 *   a view is proposed to all its live servers before sessions are fenced: no session joins after
 *   rows are as the logs say, on all copies of the new view, before any server accepts it
 *   logs are trimmed after all servers have accepted the view: a command that drops the change
 *   instead still finds the records
 *   a server that returns accepts last
 *   a view is proposed after all servers have accepted the one before it, because a proposal
 *   overwrites an earlier proposal
 *
 * Why no acknowledged commit is lost: its record was on as many servers as a shard has copies,
 * among them the servers of the live copies of at least one shard, and it stays there until its
 * rows are on all copies. So while each shard has a live copy, each coordinator has a live log.
 *
 * Why no commit is applied in part: the coordinator, and a session that recovers it (recover.cc),
 * write rows only when the record is in all logs, so also in the logs of the live servers.
 *
 * Why the logs of servers that died are not needed, and must not be read when they come back: a
 * record that only dead servers have was never acknowledged, because its coordinator was fenced on
 * another server that was to have it, and no row of it was installed. Rows that the transaction
 * read may have changed since.
 *
 * Tests: tests/unit/dtx/engine/recovery/promote_test.cpp
 */
#include "engine/base/assert.h"
#include "engine/base/backoff.h"
#include "engine/cluster/membership.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/shard_header.h"
#include "engine/format/names.h"
#include "engine/recovery/recover.h"
#include "engine/recovery/vacuum.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace dtx
{

static constexpr uint64_t kCopyAtOnce = 256 << 10;
static constexpr uint64_t kWordsAtOnce = 8192;

static void expect(bool good, int code, const std::string &what)
{
    if (!good)
        throw Error(code, what);
}

namespace
{

/* One attempt of a command to change the view. @begun: set when the attempt proposes a view; true
 * from the start if an earlier attempt of the same command has proposed one. */
class Change
{
  public:
    Change(const Cluster &cluster, bool &begun)
        : cluster_(cluster), begun_(begun), scheduler_(cluster.options().seed, 0),
          servers_(cluster, scheduler_)
    {
    }

    Recovery recover();
    Recovery promote(const std::vector<uint32_t> &dead, bool force);
    /* nullopt: the server is live already. */
    std::optional<Recovery> restore(uint32_t server);
    Recovery vacuum();

  private:
    void open(const View &base, const View &next);
    uint64_t number_after(const StateQuery &answers) const;
    bool is_in_force(const StateQuery &answers, const View &view) const;
    void expect_copies(const View &view) const;
    void propose_to_all(const View &view);
    void accept_by_all(const View &view);
    void copy_bytes(ServerConnection &from, ServerConnection &to, uint32_t shard, uint64_t begin,
                    uint64_t end);
    void copy_span(ServerConnection &from, ServerConnection &to, uint32_t shard,
                   const SpanLayout &span);
    void copy_shard(ServerConnection &from, ServerConnection &to, uint32_t shard);
    void mark_locks_moved(ServerConnection &from, uint32_t shard);
    void rebuild(ServerConnection &returned, const Placement &next, const FullRecovery &all);

    const Cluster &cluster_;
    bool &begun_;
    Scheduler scheduler_;
    Servers servers_;
    uint64_t free_number_ = 0; /* read under the claims of open(): no view had it or a higher one */
};

} // namespace

/* Connect to all live servers of @next, with the recoverer's claim. Throws Fenced unless the
 * view that is in force, or can be finished, is still @base. */
void Change::open(const View &base, const View &next)
{
    States states(cluster_.shards());

    DTX_ASSERT(!servers_.is_open());
    servers_.open(kRecoverer, Claim::takeover, next);
    reserve_locks(servers_);
    for (uint32_t server = 0; server < servers_.count(); server++)
        if (next.alive(server)) {
            DTX_ASSERT(base.alive(server)); /* the logs of one that returns are not read */
            states[server] = state_of(servers_.connection(server), cluster_);
        }
    if (usable_view(states, next) != base)
        throw Fenced(RPM_E_FENCED, "another command is changing the view: wait until it has ended, "
                                   "then repeat this one");
    free_number_ = next_number(states);
}

/* Throws Error, RPM_E_CORRUPT, for the last number: servers that accept it could accept no other
 * view any more. */
static uint64_t proposable(uint64_t number)
{
    if (number == UINT64_MAX)
        throw Error(RPM_E_CORRUPT,
                    "a server names view " + std::to_string(number - 1) +
                        " as its highest, which leaves no number for another view: its state is "
                        "damaged; rebuild that server, or restore it from a backup");
    return number;
}

/* A number for the view to propose: higher than those in @answers, and than those of views that
 * another command has proposed after the answers and before the claims of open(). If two views had
 * one number, a session that joined in between would keep slots that a vacuum returns. */
uint64_t Change::number_after(const StateQuery &answers) const
{
    DTX_ASSERT(free_number_ != 0); /* the claims are held */
    return proposable(std::max(next_number(answers.states()), free_number_));
}

/* Proposes @view to all live servers of the view given to open(). */
void Change::propose_to_all(const View &view)
{
    DTX_ASSERT(servers_.owns(kRecoverer));
    begun_ = true;
    for (uint32_t server = 0; server < servers_.count(); server++)
        if (servers_.placement().view.alive(server))
            propose(servers_.connection(server), cluster_, view);
}

void Change::accept_by_all(const View &view)
{
    DTX_ASSERT(servers_.owns(kRecoverer));
    for (uint32_t server = 0; server < servers_.count(); server++)
        if (servers_.placement().view.alive(server))
            accept(servers_.connection(server), cluster_, view);
}

Recovery Change::recover()
{
    View view = StateQuery(servers_, {}).usable();
    FullRecovery all(servers_);

    open(view, view);
    accept_by_all(view);
    cluster_.remember(view);
    all.fence();
    all.redo(view);
    all.clear();
    all.make_ready();
    return all.recovery();
}

/* Throws Error unless a server has stopped, as far as that can be seen from here: if it answers and
 * has a part of the database, if it has its maximum of clients, or if the host's name in its URL
 * has no address. A server that was started with an empty pool has no part: no session can be using
 * it. */
static void expect_stopped(const Cluster &cluster, uint32_t server)
{
    std::string found = server_name(cluster, server) + " still answers, and has shards of '" +
                        cluster.schema().name() + "'";

    DTX_ASSERT(server < cluster.shards());
    try {
        RawConnection connection(cluster, server);

        if (shards_on(connection.get()).count(cluster.schema().name()) == 0)
            return;
    } catch (const Away &) {
        return;
    } catch (const Fenced &refusal) {
        if (refusal.code() != RPM_E_REFUSED) /* it was lost while it was asked */
            return;
        found = refusal.what();
    }
    throw Error(RPM_E_BUSY, found + "; only a stopped server is promoted away: if this one is not "
                                    "lost, leave it in; if it is, stop it and repeat this, with "
                                    "--force if it cannot be stopped and no client can reach it");
}

/* Had all servers accepted @view before this command began? */
bool Change::is_in_force(const StateQuery &answers, const View &view) const
{
    return !begun_ && is_settled(answers.states(), view);
}

void Change::expect_copies(const View &view) const
{
    Placement placement{ cluster_.shards(), cluster_.options().replicas, view };

    for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
        expect(placement.copies(shard) > 0, RPM_E_NOCAP,
               "shard " + std::to_string(shard) +
                   " would have no copy left of its rows; promote fewer servers, or restore one "
                   "first");
}

Recovery Change::promote(const std::vector<uint32_t> &dead, bool force)
{
    View gone;

    for (uint32_t server : dead)
        gone.kill(server);
    expect_copies(gone); /* before servers are asked: @dead may be all of them */

    StateQuery answers(servers_, gone);
    View base = answers.usable(gone);
    View next = base;
    FullRecovery all(servers_);

    for (uint32_t server : dead)
        next.kill(server);
    if (next == base && is_in_force(answers, base))
        return {};
    expect_copies(next);
    for (uint32_t server : dead)
        if (!force)
            expect_stopped(cluster_, server);
    open(base, next);
    if (next != base) {
        accept_by_all(base);
        next.number = number_after(answers);
        propose_to_all(next);
    }
    all.fence();
    if (cluster_.options().canary != kCanaryNoRedo)
        all.redo(base);
    accept_by_all(next);
    cluster_.remember(next);
    all.clear();
    all.make_ready();
    return all.recovery();
}

/* Proposes a view with the same servers and a new number: no session joins while it is proposed. */
Recovery Change::vacuum()
{
    StateQuery answers(servers_, {});
    View base = answers.usable();
    View next = base;
    FullRecovery all(servers_);

    open(base, next);
    accept_by_all(base);
    next.number = number_after(answers);
    propose_to_all(next);
    all.fence();
    all.redo(base);
    all.clear();

    Recovery recovery = all.recovery();
    std::exception_ptr failure;

    /* If a table is damaged, finish the change of the view before throwing: otherwise no session
     * could join until a recovery. */
    try {
        recovery.slots = Vacuum(servers_, all).run();
    } catch (const Fenced &) {
        throw;
    } catch (const Error &) {
        failure = std::current_exception();
    }
    accept_by_all(next);
    cluster_.remember(next);
    all.make_ready();
    if (failure)
        std::rethrow_exception(failure);
    return recovery;
}

/* Copies the bytes of a shard from @begin to @end. */
void Change::copy_bytes(ServerConnection &from, ServerConnection &to, uint32_t shard,
                        uint64_t begin, uint64_t end)
{
    std::vector<unsigned char> wanted(kCopyAtOnce);
    std::vector<unsigned char> found(kCopyAtOnce);

    DTX_ASSERT(from.server() != to.server() && to.owns(kRecoverer));
    for (uint64_t offset = begin; offset < end; offset += kCopyAtOnce) {
        uint64_t bytes = std::min(kCopyAtOnce, end - offset);
        rpm_patch patch{ offset, wanted.data(), bytes, 0 };

        from.read(shard, offset, wanted.data(), bytes);
        to.read(shard, offset, found.data(), bytes);
        if (std::memcmp(wanted.data(), found.data(), bytes) != 0)
            to.write(shard, { &patch, 1 });
    }
}

/* Copies the marks of a span, and the slabs that are marked. The primary has the mark of each slab
 * with bytes that a row can lead to: a session writes marks and bytes to all copies before it
 * commits the row. */
void Change::copy_span(ServerConnection &from, ServerConnection &to, uint32_t shard,
                       const SpanLayout &span)
{
    std::vector<uint64_t> marks(kWordsAtOnce);

    copy_bytes(from, to, shard, span.marks, span.mark_offset(span.slabs));
    for (uint64_t first = 0; first < span.slabs; first += kWordsAtOnce) {
        uint64_t many = std::min(kWordsAtOnce, span.slabs - first);

        from.read(shard, span.mark_offset(first), marks.data(), many * sizeof(uint64_t));
        for (uint64_t i = 0; i < many; i++)
            if (marks[i] != 0)
                copy_bytes(from, to, shard, span.slab_offset(first + i),
                           span.slab_offset(first + i + 1));
    }
}

/* Copies all tables and spans; the header before them was written when the shard was created. */
void Change::copy_shard(ServerConnection &from, ServerConnection &to, uint32_t shard)
{
    const Layout &layout = cluster_.layout();

    copy_bytes(from, to, shard, kTablesOffset, layout.tables_end());
    for (uint32_t span = 0; span < layout.spans(); span++)
        copy_span(from, to, shard, layout.span(span));
}

/* Marks all locks of a shard whose primary moves to another server: a session that still uses them
 * must not find them free, and reads the view again when it finds kMoved. */
void Change::mark_locks_moved(ServerConnection &from, uint32_t shard)
{
    uint64_t end = cluster_.layout().lock_bytes();
    std::vector<uint64_t> words(kWordsAtOnce, kMoved);

    DTX_ASSERT(servers_.server_of(shard, 0) == from.server());
    for (uint64_t offset = kLocksOffset; offset < end; offset += kWordsAtOnce * sizeof(uint64_t))
        from.fill_locks(shard, offset, words.data(),
                        std::min<uint64_t>(end - offset, kWordsAtOnce * sizeof(uint64_t)));
}

/* Bring the shards and logs of a server that returns to the state of the live servers. */
void Change::rebuild(ServerConnection &returned, const Placement &next, const FullRecovery &all)
{
    AllLogs old(servers_, returned);

    DTX_ASSERT(next.view.alive(returned.server()));
    DTX_ASSERT(!servers_.placement().view.alive(returned.server()));
    DTX_ASSERT(all.is_cleared()); /* what is copied has the rows of all commits */
    (void)old.take_over();
    old.trim();
    for (const auto &there : all.logs())
        old.create_as(*there);
    for (uint32_t copy = 0; copy < next.replicas; copy++) {
        uint32_t shard = shard_of_copy(cluster_, returned.server(), copy);
        ServerConnection &from = servers_.primary(shard);

        copy_shard(from, returned, shard);
        if (next.server_of(shard, 0) == returned.server()) {
            returned.set_ready_word(shard, 0);
            mark_locks_moved(from, shard);
        }
    }
}

/* Removes a shard whose header was not written as a whole: a restoration was killed while it
 * created the shard. All of its bytes would be copied from other servers in any case. */
static void remove_unfinished(const Cluster &cluster, rpm_conn *conn, Replica replica)
{
    const std::string &database = cluster.schema().name();

    DTX_ASSERT(replica.server < cluster.shards() && replica.shard < cluster.shards());
    try {
        (void)read_shard_header(conn, database, cluster, replica);
    } catch (const Error &error) {
        if (error.code() == RPM_E_FOREIGN || error.code() == RPM_E_CORRUPT)
            (void)!rpm_conn_remove(conn, shard_name(database, replica.shard).c_str());
        else if (error.code() != RPM_E_NOENT)
            throw;
    }
}

/* Create the shards that a server with an empty pool lacks. They record that it accepted @base, in
 * which it is dead. */
static void create_missing(const Cluster &cluster, uint32_t server, const View &base)
{
    RawConnection connection(cluster, server);

    DTX_ASSERT(!base.alive(server)); /* an empty shard must not count as a copy */
    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++) {
        Replica replica{ shard_of_copy(cluster, server, copy), server };
        std::vector<std::string> made;

        remove_unfinished(cluster, connection.get(), replica);
        try {
            create_shard(cluster, connection.get(), replica, base, made);
        } catch (const Error &error) {
            /* A shard without its header would pass for a restored one at the next try. */
            for (const std::string &name : made)
                (void)!rpm_conn_remove(connection.get(), name.c_str());
            if (error.code() != RPM_E_EXISTS)
                throw;
        }
    }
    create_all_locks(cluster, connection.get(), server);
}

std::optional<Recovery> Change::restore(uint32_t server)
{
    StateQuery answers(servers_, {});
    View base = answers.usable();
    Placement next{ cluster_.shards(), cluster_.options().replicas, base };
    ServerConnection returned(cluster_, server);
    FullRecovery all(servers_);

    if (base.alive(server))
        return is_in_force(answers, base) ? std::nullopt : std::optional(recover());
    create_missing(cluster_, server, base);
    open(base, base);
    returned.connect();
    accept_by_all(base);
    next.view.revive(server);
    returned.open(next, kRecoverer, Claim::takeover);
    next.view.number =
        proposable(std::max(number_after(answers), state_of(returned, cluster_).highest + 1));
    propose_to_all(next.view);
    propose(returned, cluster_, next.view);
    all.fence();
    all.redo(base);
    all.clear();
    rebuild(returned, next, all);
    accept_by_all(next.view);
    accept(returned, cluster_, next.view);
    return all.recovery();
}

/* Calls @act for a Change, again and again while another command is changing the view, until the
 * retry deadline. */
template <class Act> static auto retry_change(const Cluster &cluster, Act act)
{
    RetryDeadline deadline(cluster.retry_ns());
    bool begun = false;

    for (;;) {
        try {
            Change change(cluster, begun);

            return act(change);
        } catch (const Error &error) {
            if ((error.code() != RPM_E_FENCED && error.code() != RPM_E_OWNED) || deadline.is_over())
                throw;
        }
        deadline.wait();
    }
}

static void expect_servers(const Cluster &cluster, const std::vector<uint32_t> &servers)
{
    expect(!servers.empty(), RPM_E_INVAL, "no server is named; name one or more by number");
    for (uint32_t server : servers)
        expect(server < cluster.shards(), RPM_E_INVAL,
               "there is no server " + std::to_string(server) + ": the database has servers 0 to " +
                   std::to_string(cluster.shards() - 1));
}

Recovery Cluster::recover() const
{
    return retry_change(*this, [](Change &change) { return change.recover(); });
}

Recovery Cluster::vacuum() const
{
    return retry_change(*this, [](Change &change) { return change.vacuum(); });
}

Recovery Cluster::promote(const std::vector<uint32_t> &dead, bool force) const
{
    expect_servers(*this, dead);
    return retry_change(*this, [&](Change &change) { return change.promote(dead, force); });
}

Recovery Cluster::restore(uint32_t server) const
{
    expect_servers(*this, { server });

    auto recovery = retry_change(*this, [&](Change &change) { return change.restore(server); });

    if (!recovery)
        return {};
    /* Recover in the new view, to free the locks of sessions that were fenced and to make the
     * shards ready. */
    recovery->locks += recover().locks;
    return *recovery;
}

} // namespace dtx
