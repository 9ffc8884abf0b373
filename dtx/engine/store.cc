/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.cc: reading objects that others may be writing, and keeping slots.
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#include "engine/store.h"

#include "engine/membership.h"
#include "engine/round.h"
#include "engine/words.h"
#include <dtx/error.h>

#include <algorithm>
#include <ctime>
#include <poll.h>
#include <sched.h>

namespace dtx
{

static constexpr uint64_t kReadAtOnce = 256 << 10;
static constexpr int kTornTries = 64;      /* a row is written within a microsecond or two */
static constexpr uint64_t kSpinNs = 50000; /* as long as librpm's own waits spin */
static constexpr uint64_t kRestNs = 100000000;
static constexpr uint64_t kSettleNs = 1000000000;
static constexpr uint32_t kLookEvery = 1 << 14; /* quiet polls: is anybody there at all? */

Store::Store(const Cluster &cluster, Scheduler &scheduler)
    : cluster_(cluster),
      scheduler_(scheduler), placement_{ cluster.shards(), cluster.options().replicas, {} },
      guesses_(cluster.options().techniques.guesses ? cluster.options().guesses : 0),
      free_(cluster.shards() * cluster.layout().tables())
{
    for (uint32_t server = 0; server < cluster.shards(); server++)
        ports_.push_back(std::make_unique<Port>(cluster, server));
    copies_.resize(cluster.shards());
    near_.resize(cluster.shards());
}

/* A change of views that begins after we have claimed our logs fences us; one that began before is
 * seen then. */
void Store::open(uint32_t coordinator, Claim claim)
{
    open(coordinator, claim, find_view(*this));
    if (claim != Claim::none)
        begin_era(confirm_view(*this));
}

/* Slots that were handed out to this session stay its own when it joins again, unless a vacuum may
 * have found them with nobody, which servers have heard of, or what was committed may be lost. */
void Store::begin_era(uint64_t heard)
{
    if (heard == heard_ && cluster_.options().durable)
        return;
    heard_ = heard;
    era_++;
    for (auto &slots : free_)
        slots.clear();
}

void Store::open(uint32_t coordinator, Claim claim, const View &view)
{
    joined_++;
    open_ = true;
    placement_.view = view;
    for (auto &port : ports_)
        if (view.alive(port->server())) {
            port->connect();
            port->open(placement_, coordinator, claim);
        } else {
            port->close();
        }
    for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
        find_copies(shard);
}

void Store::find_copies(uint32_t shard)
{
    std::vector<Port *> &copies = copies_[shard];

    copies.clear();
    for (uint32_t copy = 0; copy < placement_.copies(shard); copy++)
        copies.push_back(&port(server_of(shard, copy)));

    bool near = !copies.empty() && copies[0]->places() && !scheduler_.interleaves();

    near_[shard] = near ? copies[0] : nullptr;
}

void Store::poll(uint64_t idle_until_ns)
{
    bool waiting = false;
    uint32_t heard = 0;

    for (auto &port : ports_)
        if (port->is_waited_for()) {
            heard +=
                port->poll([this](std::coroutine_handle<> handle) { scheduler_.wake(handle); });
            waiting |= port->is_waited_for();
        }
    if (!behind_.empty())
        behind_.poll();
    if (heard != 0 || !waiting) {
        quiet_polls_ = 0;
        quiet_since_ns_ = 0;
        return;
    }
    quiet_polls_++;
    if (idle_until_ns == 0) {
        /* Who waits for room in a queue is awake all the time, and may wait for the dead. */
        if (quiet_polls_ % kLookEvery == 0)
            rest(0);
        return;
    }
    /* A server on this machine may wait for this CPU. */
    (void)sched_yield();

    uint64_t now = now_ns();

    if (quiet_since_ns_ == 0)
        quiet_since_ns_ = now;
    else if (now - quiet_since_ns_ >= kSpinNs)
        rest(std::min(idle_until_ns, now + kRestNs));
}

void Store::poll_mapped()
{
    for (auto &port : ports_)
        if (port->is_waited_for() && port->places())
            port->poll([this](std::coroutine_handle<> handle) { scheduler_.wake(handle); });
}

int Store::send_unlock(Address address, uint64_t txn)
{
    Port &there = port(server_of(address.shard(), 0));
    uint64_t offset = layout().lock_offset(address);
    int err = 0;

    if (unheard_ == nullptr)
        unheard_ = new_pending();
    if (there.places())
        (void)there.compare_and_swap(address.shard(), offset, txn, 0);
    else
        err = there.send({ Operation::swap_lock, address.shard(), offset, &unheard_word_,
                           sizeof(unheard_word_), txn, 0 },
                         unheard_.get());
    remote_ += err == 0 ? 1 : 0;
    return err;
}

/* Rows end with the connection at the latest. */
void Store::settle()
{
    uint64_t until = now_ns() + kSettleNs;
    auto is_settled = [this] {
        return behind_.empty() && (unheard_ == nullptr || unheard_->remaining == 0);
    };

    while (open_ && !lost_unlock() && !is_settled() && (!behind_.empty() || now_ns() < until))
        poll(now_ns() + kRestNs);
}

Traffic Store::traffic() const
{
    Traffic all;

    for (const auto &port : ports_) {
        Traffic one = port->traffic();

        all.messages += one.messages;
        all.sent_bytes += one.sent_bytes;
        all.received_bytes += one.received_bytes;
    }
    return all;
}

/* Sleep until something has ended on one of the connections. To arm them also notices servers that
 * have not answered for too long. Worlds of the device model cannot be waited for. */
void Store::rest(uint64_t until_ns)
{
    std::vector<pollfd> fds;
    uint64_t now = now_ns();
    timespec timeout{};

    for (auto &port : ports_) {
        if (!port->is_waited_for())
            continue;

        int fd = rpm_conn_fd(port->conn());

        if (fd < 0 || rpm_conn_arm(port->conn()) != 0)
            return;
        fds.push_back({ fd, POLLIN, 0 });
    }
    if (until_ns <= now)
        return;
    timeout.tv_sec = static_cast<time_t>((until_ns - now) / 1000000000);
    timeout.tv_nsec = static_cast<long>((until_ns - now) % 1000000000);
    (void)ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

std::shared_ptr<Pending> Store::new_pending()
{
    std::erase_if(pending_, [](const auto &pending) {
        return pending->remaining == 0 && pending.use_count() == 1;
    });
    pending_.push_back(std::make_shared<Pending>());
    return pending_.back();
}

void Store::close()
{
    joined_++;
    open_ = false;
    /* Also those that nobody waits for yet: they are not heard of any more. */
    for (auto &pending : pending_)
        if (pending->remaining > 0) {
            pending->status = RPM_E_FENCED;
            pending->remaining = 0;
            if (pending->waiting)
                scheduler_.wake(std::exchange(pending->waiting, nullptr));
        }
    for (auto &port : ports_)
        port->close();
    pending_.clear();
    unheard_ = nullptr;
    behind_.close();
}

uint64_t Store::lock_word(Address address)
{
    remote_++;
    return port(server_of(address.shard(), 0))
        .lock_word(address.shard(), layout().lock_offset(address));
}

Task<bool> Store::peek(Address address, unsigned char *image, uint32_t bytes)
{
    Round round(*this, phases().execute);

    round.read(address, image, bytes);
    co_await round.run();
    co_return is_whole(image, bytes);
}

void Store::each_slot(uint32_t server, uint32_t shard, uint32_t table, uint64_t end,
                      const std::function<void(uint64_t slot, const unsigned char *image)> &heard)
{
    uint32_t bytes = layout().table(table).slot_bytes;
    uint64_t at_once = std::max<uint64_t>(1, kReadAtOnce / bytes);
    std::vector<unsigned char> images(at_once * bytes);

    for (uint64_t slot = 0; slot < end; slot += at_once) {
        uint64_t n = std::min(at_once, end - slot);

        port(server).read(shard, layout().row_offset(Address::of(shard, table, slot)),
                          images.data(), n * bytes);
        for (uint64_t i = 0; i < n; i++)
            heard(slot + i, &images[i * bytes]);
    }
}

/* Is what was read whole? Then that is what the transaction has. */
static bool take_image(Access *access)
{
    if (!is_whole(access->image, access->bytes))
        return false;
    access->whole = true;
    access->version = access->header().version;
    access->writer = access->header().writer;
    return true;
}

Access *Store::fetch_now(Accesses &accesses, Address address, Access *access)
{
    if (access == nullptr) {
        Port *there = near(address.shard());

        if (there == nullptr || phases().execute == Via::call)
            return nullptr;
        access = accesses.add(address, layout().table(address.table()).slot_bytes);
        remote_++;
        there->read(address.shard(), layout().row_offset(address), access->image, access->bytes);
        (void)take_image(access);
    }
    if (!access->whole)
        return nullptr;
    access->seen = !access->fresh;
    return access;
}

void Store::expect(Address address)
{
    port(server_of(address.shard(), 0))
        .expect(address.shard(), layout().row_offset(address),
                layout().table(address.table()).slot_bytes, layout().lock_offset(address));
}

/* A transaction writes an object only while it holds the object's lock. So an object that is torn,
 * and the same after the server found its lock with @owner, 0 or this transaction, is damaged. */
Task<> Store::expect_in_work(const Access &torn, uint64_t owner)
{
    std::vector<unsigned char> again(torn.bytes);
    uint64_t word = 0;
    Round round(*this, phases().execute);

    round.lock_word(torn.address, &word);
    round.then();
    round.read(torn.address, again.data(), torn.bytes);
    co_await round.run();
    if (word == owner && !canary(kCanaryLock) && std::equal(again.begin(), again.end(), torn.image))
        expect_whole(cluster_, torn.address, again.data(), torn.bytes);
}

Task<> Store::wait_behind()
{
    if (lost_unlock())
        throw Fenced(RPM_E_LOST, "installing the rows of an earlier commit of this session failed");
    round_trips_++;
    co_await behind_.wait();
}

/* A read may reach the server before the rows that a commit of this session sent: it would return
 * the rows before that commit. */
Task<> Store::wait_for_rows(Address address)
{
    while (behind_.has(address) && !port(server_of(address.shard(), 0)).is_in_order())
        co_await wait_behind();
}

/* Is the object's lock looked at in the message that reads it? That spares a look at the commit if
 * the transaction uses nothing else: a row, or a bucket or leaf that leads to it or says that there
 * is none. Not by a NIC, which may read what is asked for second before what is asked for first. */
bool Store::looks_first(Accesses &accesses, uint32_t bytes) const
{
    if (phases().execute == Via::one_sided || phases().validate == Via::one_sided ||
        sizeof(uint64_t) + bytes > kAnswerBytes || accesses.size() > 1)
        return false;
    if (accesses.size() == 0)
        return true;

    TableKind kind = cluster_.schema().tables()[accesses[0].address.table()].kind;

    return kind == TableKind::buckets || kind == TableKind::nodes;
}

/* The server looked at the lock before it read the row. If the lock was free, every commit that was
 * acknowledged before the look had installed the row. So the row is as it was then, or the
 * transaction that wrote it took the lock after the look, and took effect before the read, since a
 * row is installed after that. If the lock was held by the transaction that wrote this version,
 * its redo record was safe in all its logs when the row was read, and no other transaction could
 * write the row since it took the lock. Either way this version was the newest committed one at a
 * time between the look and the read. For two rows these may be different times. */
bool Store::is_settled(const Access &access, uint64_t word) const
{
    return word == 0 || (word == access.writer && cluster_.options().durable) ||
           canary(kCanaryLoneRead) || canary(kCanaryValidate);
}

Task<Access *> Store::fetch_far(Accesses &accesses, Address address)
{
    Access *access = accesses.find(address);
    bool looks = false;

    if (access == nullptr) {
        if (!behind_.empty())
            co_await wait_for_rows(address);
        co_await scheduler_.step();
        looks = looks_first(accesses, layout().table(address.table()).slot_bytes);
        access = accesses.add(address, layout().table(address.table()).slot_bytes);
    }
    for (int tries = 0; !access->whole; tries++) {
        Round round(*this, phases().execute);
        uint64_t word = 0;

        if (looks || tries == kTornTries)
            round.lock_word(address, &word);
        round.then();
        round.read(address, access->image, access->bytes);
        co_await round.run();
        if (take_image(access)) {
            access->settled = looks && is_settled(*access, word);
            break;
        }
        if (tries == kTornTries) {
            if (word == 0)
                co_await expect_in_work(*access, 0);
            accesses.obstacle = word;
            throw Conflict{};
        }
        co_await scheduler_.step();
    }
    access->seen = !access->fresh;
    co_return access;
}

/* Can one message lock the row and read it? A server's CPU carries out its steps in order. */
bool Store::locks_first(Address address, uint32_t bytes)
{
    return phases().execute != Via::one_sided && phases().lock != Via::one_sided &&
           sizeof(uint64_t) + bytes <= kAnswerBytes &&
           (scheduler_.interleaves() || is_far(address));
}

/* When a session joins again it frees its locks: an attempt that began before takes none after
 * that. While this session holds the lock no other session writes the row, so the row is whole,
 * unless another session has taken over from this one between the two steps. */
Task<Access *> Store::fetch_locked(Accesses &accesses, Address address)
{
    uint32_t bytes = layout().table(address.table()).slot_bytes;

    if (accesses.find(address) != nullptr || !locks_first(address, bytes))
        co_return co_await fetch(accesses, address);
    while (behind_.has(address))
        co_await wait_behind();
    co_await scheduler_.step();
    if (accesses.joined != joined_)
        throw Fenced(RPM_E_FENCED, "begun before the session joined again");

    Access *access = accesses.add(address, bytes);
    Round round(*this, phases().lock);

    accesses.begun = true;
    if (!canary(kCanaryLock))
        round.compare_and_swap(address, 0, accesses.txn, &access->word);
    round.then();
    round.read(address, access->image, bytes);
    co_await round.run();
    if (access->word != 0) {
        accesses.obstacle = access->word;
        throw Conflict{};
    }
    access->locked = access->taken = access->written = access->seen = true;
    if (!take_image(access)) {
        co_await expect_in_work(*access, accesses.txn);
        throw Conflict{};
    }
    co_return access;
}

Task<> Store::unlock(const Accesses &accesses, Access &access)
{
    int err = RPM_E_BUSY;

    access.taken = access.written = false;
    while (err == RPM_E_BUSY && !canary(kCanaryLock)) {
        err = accesses.joined != joined_ ? int(RPM_E_FENCED)
                                         : send_unlock(access.address, accesses.txn);
        if (err == RPM_E_BUSY)
            co_await scheduler_.turn();
    }
    access.locked = false;
    check(canary(kCanaryLock) ? 0 : err, "letting go of a lock");
}

Task<> Store::bring(Accesses &accesses, const std::vector<Address> &addresses)
{
    Round round(*this, phases().execute);
    uint32_t first = accesses.size();

    for (size_t i = 0; i < addresses.size() && !behind_.empty(); i++)
        co_await wait_for_rows(addresses[i]);
    for (Address address : addresses)
        if (accesses.find(address) == nullptr) {
            Access *access = accesses.add(address, layout().table(address.table()).slot_bytes);

            round.read(address, access->image, access->bytes);
        }
    uint32_t end = accesses.size();

    co_await round.run();
    for (uint32_t i = first; i < end; i++)
        (void)take_image(&accesses[i]);
}

std::vector<uint64_t> &Store::free_slots(uint32_t shard, uint32_t table)
{
    return free_[shard * layout().tables() + table];
}

Task<Access *> Store::allocate(Accesses &accesses, uint32_t shard, uint32_t table)
{
    std::vector<uint64_t> &slots = free_slots(shard, table);

    if (slots.empty()) {
        uint64_t room = layout().table(table).slots;
        uint64_t many = std::clamp<uint64_t>(room / kSlotsAtOnce, 1, kSlotsAtOnce);
        auto more = co_await hand_out(Address::of(shard, kWordsTable, table), many);

        /* The first of them last, where they are taken from. */
        slots.insert(slots.end(), more.rbegin(), more.rend());
        if (slots.empty())
            throw Error(RPM_E_NOSPACE,
                        "table '" + cluster_.schema().tables()[table].name +
                            "' has no slot free in shard " + std::to_string(shard) +
                            ": erase rows, or make the database with a larger rows_max");
    }
    /* What began before cannot use them any more, what begins now can. */
    if (accesses.joined != joined_)
        throw Fenced(RPM_E_FENCED, "begun before the session joined again");

    Address address = Address::of(shard, table, slots.back());
    Access *access = accesses.find(address);
    bool reused = access != nullptr;

    /* A guess may have led here, to see that the row is gone: that was nobody's read. If it was
     * one, another coroutine has committed a deletion of that row since, or the row is there and
     * should not have been handed out. */
    if (!reused)
        access = accesses.add(address, layout().table(table).slot_bytes);
    else if (access->seen || access->written)
        throw Inconsistent{ {}, "a slot was handed out that a row is in" };
    slots.pop_back();
    std::fill(access->image, access->image + access->bytes, 0);
    access->version = 0;
    access->writer = 0;
    access->whole = true;
    access->written = true;
    access->fresh = true;
    access->reused = reused;
    co_return access;
}

/* Others have use for what one session frees. A small table's slots are few. */
static uint64_t kept_most(const Layout &layout, uint64_t table)
{
    return std::clamp<uint64_t>(layout.table(static_cast<uint32_t>(table)).slots / 16, 2,
                                4 * kSlotsAtOnce);
}

void Store::give_back(Address address)
{
    std::vector<uint64_t> &slots = free_slots(address.shard(), address.table());

    slots.push_back(address.slot());
    if (slots.size() > kept_most(layout(), address.table()))
        surplus_ = Address::of(address.shard(), kWordsTable, address.table());
}

std::optional<Address> Store::surplus()
{
    if (surplus_ && free_slots(surplus_->shard(), uint32_t(surplus_->slot())).size() <=
                        kept_most(layout(), surplus_->slot()))
        surplus_.reset();
    return surplus_;
}

std::vector<uint64_t> Store::take(Address word, size_t most)
{
    std::vector<uint64_t> &slots = free_slots(word.shard(), uint32_t(word.slot()));
    auto first = slots.end() - static_cast<ptrdiff_t>(std::min(slots.size(), most));
    std::vector<uint64_t> taken(first, slots.end());

    slots.erase(first, slots.end());
    return taken;
}

bool Store::is_gone(uint32_t coordinator)
{
    return port(placement_.log_servers(coordinator).front()).is_unowned(coordinator);
}

uint32_t Store::shard_of(uint32_t table, uint64_t key) const
{
    return cluster_.schema().tables()[table].partition(key) % cluster_.shards();
}

void expect_whole(const Cluster &cluster, Address address, const unsigned char *image,
                  uint32_t bytes)
{
    if (!is_whole(image, bytes))
        throw Error(RPM_E_CORRUPT, "slot " + std::to_string(address.slot()) + " of table '" +
                                       cluster.schema().tables()[address.table()].name +
                                       "' is torn");
}

} // namespace dtx
