/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * servers.cc: connect to all servers, poll their connections, and sleep while no operation ends.
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#include "engine/cluster/servers.h"

#include "engine/base/assert.h"
#include "engine/cluster/membership.h"
#include "engine/format/roots.h"
#include <dtx/error.h>
#include <dtx/object.h>

#include <algorithm>
#include <ctime>
#include <poll.h>
#include <sched.h>

namespace dtx
{

static constexpr uint64_t kReadAtOnce = 256 << 10;
static constexpr uint64_t kSpinNs = 50000;       /* as in librpm's own waits */
static constexpr uint32_t kYieldEvery = 64;      /* quiet polls while a coroutine is ready */
static constexpr uint32_t kCheckEvery = 1 << 14; /* quiet polls between checks for lost servers */

Servers::Servers(const Cluster &cluster, Scheduler &scheduler)
    : cluster_(cluster),
      scheduler_(scheduler), placement_{ cluster.shards(), cluster.options().replicas, {} }
{
    for (uint32_t server = 0; server < cluster.shards(); server++)
        connections_.push_back(std::make_unique<ServerConnection>(cluster, server));
    copies_.resize(cluster.shards());
    mapped_.resize(cluster.shards());
}

/* Claims the logs, then reads the view again: a change of the view that begins after the logs are
 * claimed fences this session, and confirm_view() detects a change that began before. */
void Servers::open(uint32_t coordinator, Claim claim)
{
    open(coordinator, claim, find_view(*this));
    if (claim != Claim::none)
        confirm_view(*this);
}

void Servers::open(uint32_t coordinator, Claim claim, const View &view)
{
    DTX_ASSERT(!open_);
    /* Operations of the claim before have ended: no completion of them would come any more. */
    DTX_ASSERT(std::all_of(pending_.begin(), pending_.end(),
                           [](const auto &pending) { return pending->remaining == 0; }));
    joined_++;
    open_ = true;
    owns_ = false;
    coordinator_ = coordinator;
    placement_.view = view;
    for (auto &connection : connections_)
        if (view.alive(connection->server())) {
            connection->connect(view);
            connection->open(placement_, coordinator, claim);
        } else {
            connection->close();
        }
    owns_ = std::all_of(connections_.begin(), connections_.end(), [&](const auto &connection) {
        return connection->owns(coordinator) || !view.alive(connection->server());
    });
    for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
        find_copies(shard);
}

void Servers::find_copies(uint32_t shard)
{
    std::vector<ServerConnection *> &copies = copies_[shard];

    copies.clear();
    for (uint32_t copy = 0; copy < placement_.copies(shard); copy++) {
        ServerConnection *next = &connection(server_of(shard, copy));

        /* If two were on one server, its loss would take both. */
        DTX_ASSERT(std::find(copies.begin(), copies.end(), next) == copies.end());
        copies.push_back(next);
    }
    /* Sessions lock a row at primary() and read it at the first copy. */
    DTX_ASSERT(copies.empty() || copies.front() == &primary(shard));

    bool mapped = !copies.empty() && copies[0]->is_mapped() && !scheduler_.interleaves();

    mapped_[shard] = mapped ? copies[0] : nullptr;
}

void Servers::adopt(Servers &opened)
{
    DTX_ASSERT(&opened.cluster_ == &cluster_ && opened.open_ && !open_);
    DTX_ASSERT(opened.pending_.empty()); /* their coroutines would be those of another scheduler */
    joined_++;
    open_ = std::exchange(opened.open_, false);
    owns_ = opened.owns_;
    coordinator_ = opened.coordinator_;
    placement_ = opened.placement_;
    remote_ += opened.remote_;
    for (uint32_t server = 0; server < count(); server++)
        opened.connection(server).count_before(connection(server).traffic());
    connections_.swap(opened.connections_);
    for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
        find_copies(shard);
}

void Servers::drop()
{
    for (auto &connection : connections_)
        connection->drop();
}

void Servers::close()
{
    joined_++;
    open_ = false;
    for (auto &pending : pending_)
        if (pending->remaining > 0) {
            pending->status = RPM_E_FENCED;
            pending->remaining = 0;
            if (pending->waiting)
                scheduler_.wake(std::exchange(pending->waiting, nullptr));
        }
    for (auto &connection : connections_)
        connection->close();
    pending_.clear();
}

bool Servers::poll(bool may_sleep)
{
    bool waiting = false;
    uint32_t ended = 0;

    for (auto &connection : connections_)
        if (connection->is_waited_for()) {
            ended += connection->poll(
                [this](std::coroutine_handle<> handle) { scheduler_.wake(handle); });
            waiting |= connection->is_waited_for();
        }
    if (ended == 0 && (waiting || may_sleep))
        return true;
    quiet_polls_ = 0;
    quiet_since_ns_ = 0;
    return false;
}

/* A server process on this machine may need this CPU; the device model does not. */
void Servers::yield_to_servers() const
{
    if (std::any_of(connections_.begin(), connections_.end(), [](const auto &connection) {
            return connection->is_waited_for() && !connection->is_modelled();
        }))
        (void)sched_yield();
}

void Servers::idle(uint64_t until_ns)
{
    quiet_polls_++;
    if (until_ns == 0) {
        /* A coroutine that waits for room in a queue stays ready. In case its server was lost, arm
         * the connections now and then, which detects that. */
        if (quiet_polls_ % kCheckEvery == 0)
            sleep_until(0);
        if (quiet_polls_ % kYieldEvery == 0)
            yield_to_servers();
        return;
    }
    yield_to_servers();

    uint64_t now = now_ns();

    if (quiet_since_ns_ == 0)
        quiet_since_ns_ = now;
    else if (now - quiet_since_ns_ >= kSpinNs)
        sleep_until(std::min(until_ns, now + kSleepMaxNs));
}

void Servers::poll_mapped()
{
    for (auto &connection : connections_)
        if (connection->is_waited_for() && connection->is_mapped())
            connection->poll([this](std::coroutine_handle<> handle) { scheduler_.wake(handle); });
}

bool Servers::arm(std::vector<pollfd> &fds)
{
    for (auto &connection : connections_) {
        if (!connection->is_waited_for())
            continue;

        int fd = rpm_conn_fd(connection->conn());

        if (fd < 0 || rpm_conn_arm(connection->conn()) != 0)
            return false;
        fds.push_back({ fd, POLLIN, 0 });
    }
    return true;
}

/* Sleep until an operation has ended on one of the connections, or a descriptor can be read that a
 * coroutine waits for, at most until @until_ns. Connections on the device model have no descriptors
 * to wait for: with them this returns at once. */
void Servers::sleep_until(uint64_t until_ns)
{
    std::vector<pollfd> fds = scheduler_.watched();
    uint64_t now = now_ns();
    timespec timeout{};
    bool armed = arm(fds);

    if (!armed || until_ns <= now)
        return;
    timeout.tv_sec = static_cast<time_t>((until_ns - now) / 1000000000);
    timeout.tv_nsec = static_cast<long>((until_ns - now) % 1000000000);
    (void)ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

std::shared_ptr<Pending> Servers::new_pending()
{
    std::erase_if(pending_, [](const auto &pending) {
        return pending->remaining == 0 && pending.use_count() == 1;
    });
    pending_.push_back(std::make_shared<Pending>());
    return pending_.back();
}

Traffic Servers::traffic() const
{
    Traffic all;

    for (const auto &connection : connections_)
        all.add(connection->traffic());
    return all;
}

uint64_t Servers::lock_word(Address address)
{
    /* The lock behind the table's last one is of another table. */
    DTX_ASSERT(address.slot() < layout().table(address.table()).slots);
    remote_++;
    return primary(address.shard()).lock_word(address.shard(), layout().lock_offset(address));
}

void Servers::each_slot(
    uint32_t server, uint32_t shard, uint32_t table, uint64_t end,
    const std::function<void(uint64_t slot, const unsigned char *image)> &callback)
{
    uint32_t bytes = layout().table(table).slot_bytes;
    uint64_t at_once = std::max<uint64_t>(1, kReadAtOnce / bytes);
    std::vector<unsigned char> images(at_once * bytes);

    DTX_ASSERT(open_ && end <= layout().table(table).slots);
    DTX_ASSERT(placement_.view.alive(server)); /* a dead server has old rows */
    for (uint64_t slot = 0; slot < end; slot += at_once) {
        uint64_t n = std::min(at_once, end - slot);

        connection(server).read(shard, layout().row_offset(Address::of(shard, table, slot)),
                                images.data(), n * bytes);
        for (uint64_t i = 0; i < n; i++)
            callback(slot + i, &images[i * bytes]);
    }
}

uint32_t Servers::shard_of(uint32_t table, uint64_t key) const
{
    return cluster_.schema().tables()[table].partition(key) % cluster_.shards();
}

bool is_disconnected(const Cluster &cluster, uint32_t server, uint32_t coordinator)
{
    ServerConnection connection(cluster, server);

    connection.connect();
    return connection.is_unowned(coordinator);
}

std::string object_name(const Cluster &cluster, Address address)
{
    return "slot " + std::to_string(address.slot()) + " of table '" +
           cluster.schema().tables()[address.table()].name + "' in shard " +
           std::to_string(address.shard());
}

void fail_torn(const Cluster &cluster, Address address)
{
    throw Error(RPM_E_CORRUPT, object_name(cluster, address) +
                                   " is torn: its checksum is wrong, or zeros have replaced it; "
                                   "run dtx-check check to compare the copies");
}

void expect_whole(const Cluster &cluster, Address address, const unsigned char *image,
                  uint32_t bytes)
{
    if (!is_intact(cluster.schema(), address, image, bytes))
        fail_torn(cluster, address);
}

uint64_t next_version(const Cluster &cluster, Address address, uint64_t version)
{
    if (version == UINT64_MAX)
        throw Error(RPM_E_CORRUPT, object_name(cluster, address) +
                                       " has the highest version that there is, which no program "
                                       "reaches by writing: it is damaged; run dtx-check check to "
                                       "compare the copies");
    return version + 1;
}

} // namespace dtx
