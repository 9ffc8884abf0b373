/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * promote.cc: changes of the view: servers that die, servers that come back, changes that were
 * interrupted, and times when nobody may be there.
 *
 * Whoever changes the view has the recoverer's claim on all servers that live in the old view and
 * the new one: of two at once, the first is fenced and begins anew.
 *
 * Invariants
 *   a view is proposed to all that live in it before sessions are fenced: none joins from then on
 *   rows are as the logs say, on all copies of the new view, before anybody accepts it
 *   logs are trimmed after all have accepted it: one who drops the change still finds the records
 *   a server that returns accepts last
 *   a view is proposed when the one before it is accepted by all: a proposal takes the place of
 *   another
 *
 * Why no acknowledged commit is lost: its record was on as many servers as a shard has copies,
 * among them those of the live copies of one shard at least, and it stays there until its rows are
 * on all copies. So as long as each shard has a live copy, each coordinator has a live log.
 *
 * Why none is there in part: rows are written when the record is in all logs, by its coordinator
 * and by whoever recovers it (recover.cc), so also in those of the servers that live.
 *
 * Why the logs of servers that died are not needed, and must not be read when they come back: a
 * record that only they have was never acknowledged, as its coordinator has been fenced on another
 * server that was to have it, and no row of it was installed. Rows that it read may have changed
 * since.
 *
 * Tests: tests/unit/dtx/engine/promote_test.cpp
 */
#include "engine/backoff.h"
#include "engine/cover.h"
#include "engine/descriptor.h"
#include "engine/membership.h"
#include "engine/recover.h"
#include "engine/vacuum.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace dtx
{

static constexpr uint64_t kCopyAtOnce = 256 << 10;
static constexpr uint64_t kLocksAtOnce = 8192;

static void expect(bool good, int code, const std::string &what)
{
    if (!good)
        throw Error(code, what);
}

namespace
{

/* One attempt to change the view. @begun: an earlier one may have done so, if it says so. */
class Change
{
  public:
    Change(const Cluster &cluster, bool &begun)
        : cluster_(cluster), begun_(begun), scheduler_(cluster.options().seed, 0),
          store_(cluster, scheduler_)
    {
    }

    Recovery recover();
    Recovery promote(const std::vector<uint32_t> &dead);
    /* Nothing: it lives already. */
    std::optional<Recovery> restore(uint32_t server);
    Recovery vacuum();

  private:
    void open(const View &base, const View &next);
    bool is_so(const Answers &answers, const View &view) const;
    void check_promotion(const View &next, const std::vector<uint32_t> &dead) const;
    void propose_to_all(const View &view);
    void accept_by_all(const View &view);
    void copy_shard(Port &from, Port &to, uint32_t shard);
    void move_away(Port &from, uint32_t shard);
    void fill(Port &returned, const Placement &next, const Everything &all);

    const Cluster &cluster_;
    bool &begun_;
    Scheduler scheduler_;
    Store store_;
};

} // namespace

/* Claim those that live in @next; the view to go on with must be @base still. */
void Change::open(const View &base, const View &next)
{
    States states(cluster_.shards());

    store_.open(kRecoverer, Claim::takeover, next);
    reserve_locks(store_);
    for (uint32_t server = 0; server < store_.ports(); server++)
        if (next.alive(server))
            states[server] = state_of(store_.port(server), cluster_);
    if (usable_view(states, next) != base)
        throw Fenced(RPM_E_FENCED, "somebody else changes which servers live");
}

/* To all that the store is open to. */
void Change::propose_to_all(const View &view)
{
    begun_ = true;
    for (uint32_t server = 0; server < store_.ports(); server++)
        if (store_.placement().view.alive(server))
            propose(store_.port(server), cluster_, view);
}

void Change::accept_by_all(const View &view)
{
    for (uint32_t server = 0; server < store_.ports(); server++)
        if (store_.placement().view.alive(server))
            accept(store_.port(server), cluster_, view);
}

Recovery Change::recover()
{
    View view = Answers(store_, {}).usable();
    Everything all(store_);

    open(view, view);
    accept_by_all(view);
    cluster_.remember(view);
    all.fence();
    all.redo(view);
    all.clear();
    all.make_ready();
    return all.recovery();
}

/* Throws Error if a server answers that has a part of the database. One that was started with an
 * empty pool has none: no session can be using it. */
static void expect_silence(const Cluster &cluster, uint32_t server)
{
    try {
        Connection connection(cluster, server);

        if (shards_on(connection.get()).count(cluster.schema().name()) == 0)
            return;
    } catch (const Fenced &) {
        return;
    }
    throw Error(RPM_E_BUSY, server_name(cluster, server) +
                                " still answers: stop it before another takes its place");
}

/* Was a change to @view over before we came? */
bool Change::is_so(const Answers &answers, const View &view) const
{
    return !begun_ && is_settled(answers.states(), view);
}

void Change::check_promotion(const View &next, const std::vector<uint32_t> &dead) const
{
    Placement placement{ cluster_.shards(), cluster_.options().replicas, next };

    for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
        expect(placement.copies(shard) > 0, RPM_E_NOCAP,
               "shard " + std::to_string(shard) + " would have no copy left");
    for (uint32_t server : dead)
        expect_silence(cluster_, server);
}

Recovery Change::promote(const std::vector<uint32_t> &dead)
{
    View gone;

    for (uint32_t server : dead)
        gone.kill(server);

    Answers answers(store_, gone);
    View base = answers.usable(gone);
    View next = base;
    Everything all(store_);

    for (uint32_t server : dead)
        next.kill(server);
    if (next == base && is_so(answers, base))
        return {};
    check_promotion(next, dead);
    open(base, next);
    if (next != base) {
        accept_by_all(base);
        next.number = next_number(answers.states());
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

/* The view only gets another number: that keeps everybody out until we are through. */
Recovery Change::vacuum()
{
    Answers answers(store_, {});
    View base = answers.usable();
    View next = base;
    Everything all(store_);

    open(base, next);
    accept_by_all(base);
    next.number = next_number(answers.states());
    propose_to_all(next);
    all.fence();
    all.redo(base);
    all.clear();

    Recovery recovery = all.recovery();
    std::exception_ptr failure;

    /* Where something is damaged, others may go on nevertheless. */
    try {
        recovery.slots = Vacuum(store_, all).run();
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

/* All tables; what is before them has been made for this server. */
void Change::copy_shard(Port &from, Port &to, uint32_t shard)
{
    uint64_t end = cluster_.layout().region_bytes();
    std::vector<unsigned char> wanted(kCopyAtOnce);
    std::vector<unsigned char> found(kCopyAtOnce);

    for (uint64_t offset = kTablesOffset; offset < end; offset += kCopyAtOnce) {
        uint64_t bytes = std::min(kCopyAtOnce, end - offset);
        rpm_patch patch{ offset, wanted.data(), bytes, 0 };

        from.read(shard, offset, wanted.data(), bytes);
        to.read(shard, offset, found.data(), bytes);
        if (std::memcmp(wanted.data(), found.data(), bytes) != 0)
            to.write(shard, { &patch, 1 });
    }
}

/* Who still reads there must not find what was locked last. */
void Change::move_away(Port &from, uint32_t shard)
{
    uint64_t end = cluster_.layout().lock_bytes();
    std::vector<uint64_t> words(kLocksAtOnce, kMoved);

    for (uint64_t offset = kLocksOffset; offset < end; offset += kLocksAtOnce * sizeof(uint64_t))
        from.fill_locks(shard, offset, words.data(),
                        std::min<uint64_t>(end - offset, kLocksAtOnce * sizeof(uint64_t)));
}

/* Bring a server that returns to the state of the others. */
void Change::fill(Port &returned, const Placement &next, const Everything &all)
{
    AllLogs old(store_, returned);

    (void)old.take_over();
    old.trim();
    for (const auto &there : all.logs())
        old.create_as(*there);
    for (uint32_t copy = 0; copy < next.replicas; copy++) {
        uint32_t shard = shard_there(cluster_, returned.server(), copy);
        Port &from = store_.port(store_.server_of(shard, 0));

        copy_shard(from, returned, shard);
        if (next.server_of(shard, 0) == returned.server()) {
            returned.set_lock_word(shard, kReadyOffset, 0);
            move_away(from, shard);
        }
    }
}

/* What a server has not, because it is a new one. It says itself that it is dead. */
static void create_missing(const Cluster &cluster, uint32_t server, const View &base)
{
    Connection connection(cluster, server);

    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++) {
        try {
            create_shard(cluster, connection.get(), { shard_there(cluster, server, copy), server },
                         base);
        } catch (const Error &error) {
            if (error.code() != RPM_E_EXISTS)
                throw;
        }
    }
    create_all_locks(cluster, connection.get(), server);
}

std::optional<Recovery> Change::restore(uint32_t server)
{
    Answers answers(store_, {});
    View base = answers.usable();
    Placement next{ cluster_.shards(), cluster_.options().replicas, base };
    Port returned(cluster_, server);
    Everything all(store_);

    if (base.alive(server))
        return is_so(answers, base) ? std::nullopt : std::optional(recover());
    create_missing(cluster_, server, base);
    open(base, base);
    returned.connect();
    accept_by_all(base);
    next.view.revive(server);
    returned.open(next, kRecoverer, Claim::takeover);
    next.view.number =
        std::max(next_number(answers.states()), state_of(returned, cluster_).heard + 1);
    propose_to_all(next.view);
    propose(returned, cluster_, next.view);
    all.fence();
    all.redo(base);
    all.clear();
    fill(returned, next, all);
    accept_by_all(next.view);
    accept(returned, cluster_, next.view);
    return all.recovery();
}

/* Until nobody is at the same. */
template <class Act> static auto insist(const Cluster &cluster, Act act)
{
    Patience patience(cluster.patience_ns());
    bool begun = false;

    for (;;) {
        try {
            Change change(cluster, begun);

            return act(change);
        } catch (const Error &error) {
            if ((error.code() != RPM_E_FENCED && error.code() != RPM_E_OWNED) || patience.is_over())
                throw;
        }
        patience.wait();
    }
}

static void expect_servers(const Cluster &cluster, const std::vector<uint32_t> &servers)
{
    expect(!servers.empty(), RPM_E_INVAL, "no server is named");
    for (uint32_t server : servers)
        expect(server < cluster.shards(), RPM_E_INVAL,
               "there is no server " + std::to_string(server) + ": the database has " +
                   std::to_string(cluster.shards()));
}

Recovery Cluster::recover() const
{
    return insist(*this, [](Change &change) { return change.recover(); });
}

Recovery Cluster::vacuum() const
{
    return insist(*this, [](Change &change) { return change.vacuum(); });
}

Recovery Cluster::promote(const std::vector<uint32_t> &dead) const
{
    expect_servers(*this, dead);
    return insist(*this, [&](Change &change) { return change.promote(dead); });
}

Recovery Cluster::restore(uint32_t server) const
{
    expect_servers(*this, { server });

    auto recovery = insist(*this, [&](Change &change) { return change.restore(server); });

    if (!recovery)
        return {};
    /* In the new view. */
    recovery->locks += recover().locks;
    return *recovery;
}

} // namespace dtx
