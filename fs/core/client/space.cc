/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space.cc: become the owner of slabs: of unused ones first, which needs no search.
 *
 * Tests: tests/unit/fs/client/space_test.cpp
 */
#include "core/client/space.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/client/client.h"
#include "core/format/keys.h"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace rfs
{

static constexpr uint32_t kSlabsAtOnce = 256;    /* read in one transaction */
static constexpr uint64_t kLeaseNs = 100000;     /* between looks whether another call has ended */
static constexpr uint64_t kShareNs = 1500000000; /* a turn of the other clients, and more */
static constexpr uint64_t kShareAgainNs = 5000000000;
static constexpr size_t kKept = 2; /* slabs of a full shard that a client keeps unused */

namespace
{

/* The turn of one call, among those of a client that wait for it: taken while it lives. */
class Turn
{
  public:
    explicit Turn(bool &taken) : taken_(taken)
    {
        RFS_ASSERT(!taken_);
        taken_ = true;
    }
    Turn(const Turn &) = delete;
    ~Turn()
    {
        taken_ = false;
    }

  private:
    bool &taken_;
};

} // namespace

/* Of this session, or of an earlier one with its coordinator number, which has ended. */
bool Space::is_own(uint64_t owner) const
{
    return owner != 0 && coordinator_of(owner) == client_.session().coordinator();
}

Space::Own *Space::find(Slab slab)
{
    auto found =
        std::find_if(own_.begin(), own_.end(), [slab](const Own &own) { return own.slab == slab; });

    return found == own_.end() ? nullptr : &*found;
}

Space::Lease::~Lease()
{
    if (space_ != nullptr)
        give_up();
}

void Space::Lease::give_up()
{
    if (room_.slabs.empty())
        return; /* a call that waits for slabs waits for none of these */
    for (Slab slab : room_.slabs)
        if (Own *own = space_->find(slab))
            own->leased = false;
    room_.slabs.clear();
    space_->given_up_++;
}

void Space::Lease::used(size_t blocks)
{
    for (Slab slab : room_.slabs)
        if (Own *own = space_->find(slab)) {
            size_t here = std::min<size_t>(usable(own->free, room_.reserve), blocks);

            own->free -= static_cast<uint32_t>(here);
            blocks -= here;
        }
}

void Space::forget(Slab slab)
{
    std::erase_if(own_, [slab](const Own &own) { return own.slab == slab; });
}

void Space::Lease::exhausted()
{
    for (Slab slab : room_.slabs)
        space_->forget(slab);
    room_.slabs.clear();
}

/* Another call of this client may have become the owner of the slab already: what it committed is
 * seen by this one before it has added the slab itself. With two entries, two calls would lease the
 * slab at once, and write to the same blocks. */
void Space::add_own(Slab slab, uint32_t free)
{
    if (find(slab) == nullptr)
        own_.push_back({ slab, free });
}

/* Leases own slabs of a shard. Returns how many of the blocks they lack. */
size_t Space::lease_own(uint32_t shard, size_t blocks, Room &room)
{
    for (Own &own : own_) {
        size_t here = usable(own.free, room.reserve);

        if (blocks > 0 && own.slab.shard == shard && !own.leased && here > 0) {
            own.leased = true;
            room.slabs.push_back(own.slab);
            blocks -= std::min(blocks, here);
        }
    }
    return blocks;
}

/* Free blocks of a shard that calls may lease, as far as this client knows. */
size_t Space::known_free(uint32_t shard, bool reserve) const
{
    size_t free = 0;

    for (const Own &own : own_)
        free += own.slab.shard == shard && !own.leased ? usable(own.free, reserve) : 0;
    return free;
}

/* Awaited: look how many blocks of own slabs calls have freed since. Forgets those that are not its
 * own any more. */
dtx::Task<> Space::count_again(uint32_t shard)
{
    std::vector<Own> seen = idle(shard);
    auto body = [&](Call &call) -> dtx::Task<> {
        for (Own &own : seen) {
            auto row = co_await call.txn.read(call.tables().slabs,
                                              key_of(own.slab.shard, own.slab.number));

            own.lost = !row || row->owner != call.owner;
            own.free = own.lost ? 0 : free_in(*row);
        }
    };

    if (!seen.empty())
        co_await client_.call(kSelf, body);
    for (const Own &now : seen)
        if (Own *own = find(now.slab); own != nullptr && !own->leased)
            *own = now;
    std::erase_if(own_, [](const Own &own) { return own.lost; });
}

/* Awaited: lease slabs of all shards, beginning with one. Returns how many blocks are lacking. */
dtx::Task<size_t> Space::lease_more(uint32_t shard, size_t blocks, Room &room)
{
    uint32_t shards = client_.volume().shards;

    for (uint32_t i = 0; i < shards && blocks > 0; i++) {
        uint32_t here = (shard + i) % shards;

        if (known_free(here, room.reserve) < blocks)
            co_await count_again(here);
        blocks = lease_own(here, blocks, room);
        for (bool more = true; more && blocks > 0;) {
            more = co_await acquire(here, room.reserve);
            blocks = lease_own(here, blocks, room);
        }
    }
    co_return blocks;
}

/* Do other calls lease slabs, beside those of a lease? They may leave some of the blocks. */
bool Space::others_lease(const Room &room) const
{
    auto leased =
        std::count_if(own_.begin(), own_.end(), [](const Own &own) { return own.leased; });

    return static_cast<size_t>(leased) > room.slabs.size();
}

dtx::Task<Space::Lease> Space::lease(uint32_t shard, size_t blocks)
{
    std::optional<Turn> again;

    RFS_ASSERT(shard < client_.volume().shards);
    for (;;) {
        Lease lease(*this, Room{});
        bool waits = false;

        for (bool reserve : { false, true }) {
            uint64_t given_up = given_up_;

            lease.room_.reserve = reserve;
            living_.clear();
            others_have_room_ = false;

            size_t lacking = co_await lease_more(shard, blocks, lease.room_);

            if (lacking == 0)
                co_return std::move(lease);
            waits = others_lease(lease.room_) || given_up != given_up_;
            lease.give_up(); /* else two calls might wait for each other */
            if (waits)
                break;
        }
        expect(waits, ENOSPC);
        /* One call at a time tries again: several might each give up the slabs that another lacks,
         * and wait for each other for ever. */
        do
            co_await client_.session().sleep_until(dtx::now_ns() + kLeaseNs);
        while (!again && tries_again_);
        if (!again)
            again.emplace(tries_again_);
    }
}

/* Awaited: own one more slab of a shard that has free blocks. False: there is none. */
dtx::Task<bool> Space::acquire(uint32_t shard, bool reserve)
{
    next_.resize(client_.volume().shards, 0);

    bool found = co_await acquire_unused(shard);

    if (!found)
        found = co_await acquire_used(shard, reserve, false);
    if (!found)
        found = co_await acquire_used(shard, reserve, true);
    co_return found;
}

/* Awaited: the first slab of a shard that has no row yet. */
dtx::Task<bool> Space::acquire_unused(uint32_t shard)
{
    uint64_t slabs = client_.volume().tables.sizes.slabs;
    uint64_t last_key = last_slab_key(client_.volume().tables.sizes, shard);

    for (uint32_t &next = next_[shard]; next < slabs;) {
        uint32_t from = next;
        auto body = [&](Call &call) -> dtx::Task<std::optional<uint32_t>> {
            auto last = co_await call.txn.scan(call.tables().slabs, key_of(shard, from), last_key,
                                               1, dtx::Order::descending);
            uint32_t number = last.empty() ? from : lower_half(last[0].first) + 1;
            SlabRow row{};

            row.owner = call.owner;
            if (number >= slabs)
                co_return std::nullopt;
            (void)co_await add_row(call, call.tables().slabs, key_of(shard, number), row);
            co_return number;
        };
        std::optional<uint32_t> number;

        try {
            number = co_await client_.call(kSelf, body);
        } catch (const Failure &failure) {
            if (failure.error != ENOSPC)
                throw;
            co_return false; /* other sessions keep the slots for new rows */
        }

        next_[shard] = number ? *number + 1 : static_cast<uint32_t>(slabs);
        if (number) {
            add_own({ shard, *number }, kSlabBlocks);
            co_return true;
        }
    }
    co_return false;
}

/* Awaited: fences the owner of a slab if it has died. False: it lives. One lease at a time does so:
 * of two for the same dead owner, the second would find the owner's logs claimed by the first, and
 * take the owner for living. */
dtx::Task<bool> Space::fence(uint64_t owner)
{
    while (asks_)
        co_await client_.session().sleep_until(dtx::now_ns() + kLeaseNs);
    if (canary(Canary::slab_shared) || canary(Canary::no_fence) || fenced_.contains(owner))
        co_return true;
    if (living_.contains(owner))
        co_return false;

    Turn turn(asks_);
    bool died = co_await client_.inherit(coordinator_of(owner));

    (died ? fenced_ : living_).insert(owner);
    co_return died;
}

/* Awaited: a slab that was given back, or that an earlier session with this one's coordinator has
 * left, or, with @of_dead, one of a client that has died. */
dtx::Task<bool> Space::acquire_used(uint32_t shard, bool reserve, bool of_dead)
{
    uint64_t last_key = last_slab_key(client_.volume().tables.sizes, shard);

    for (uint64_t from = key_of(shard, 0); from <= last_key;) {
        auto body = [&](Call &call) {
            return call.txn.scan(call.tables().slabs, from, last_key, kSlabsAtOnce);
        };
        auto rows = co_await client_.call(kSelf, body);

        for (const auto &[key, row] : rows) {
            Slab slab{ shard, lower_half(key) };
            bool other = row.owner != 0 && !is_own(row.owner);

            if (usable(free_in(row), reserve) == 0 || find(slab) != nullptr || other != of_dead ||
                (other && coordinator_of(row.owner) >= kClientsMax))
                continue;
            if (other) {
                bool fenced = co_await fence(row.owner);

                if (!fenced) {
                    others_have_room_ = true; /* its session lives */
                    continue;
                }
            }

            bool taken = co_await take(slab, row.owner);

            if (taken)
                co_return true;
        }
        if (rows.size() < kSlabsAtOnce)
            co_return false;
        from = rows.back().first + 1;
    }
    co_return false;
}

/* Awaited: become the owner of a slab, unless its owner is not @owner any more. */
dtx::Task<bool> Space::take(Slab slab, uint64_t from)
{
    auto body = [&](Call &call) -> dtx::Task<uint32_t> {
        uint64_t key = key_of(slab.shard, slab.number);
        auto row = co_await call.txn.read(call.tables().slabs, key);

        if (!row || row->owner != from)
            co_return 0;
        row->owner = call.owner;
        (void)co_await call.txn.write(call.tables().slabs, key, *row);
        co_return free_in(*row);
    };
    uint32_t free = co_await client_.call(kSelf, body);

    if (free > 0)
        add_own(slab, free);
    co_return free > 0;
}

/* Awaited: give a slab back, unless a call of this client leases it. No call can lease it
 * meanwhile, so this client has no write under way to a slab that another client may take. */
dtx::Task<> Space::give_back(Slab slab)
{
    Own *own = find(slab);
    auto body = [&](Call &call) -> dtx::Task<> {
        uint64_t key = key_of(slab.shard, slab.number);
        auto row = co_await call.txn.read(call.tables().slabs, key);

        if (!row || !is_own(row->owner))
            co_return;
        row->owner = 0;
        (void)co_await call.txn.write(call.tables().slabs, key, *row);
    };

    if (own == nullptr || own->leased)
        co_return;
    own->leased = true;
    try {
        co_await client_.call(kSelf, body);
    } catch (...) { /* whether it was given back is not known: the client uses it no more */
        forget(slab);
        throw;
    }
    forget(slab);
}

/* The slabs of a shard that no call leases, those with most free blocks first. */
std::vector<Space::Own> Space::idle(uint32_t shard) const
{
    std::vector<Own> found;

    for (const Own &own : own_)
        if (own.slab.shard == shard && !own.leased)
            found.push_back(own);
    std::stable_sort(found.begin(), found.end(),
                     [](const Own &one, const Own &other) { return one.free > other.free; });
    return found;
}

dtx::Task<> Space::give_back()
{
    for (uint32_t shard = 0; shard < client_.volume().shards; shard++)
        for (const Own &own : idle(shard))
            co_await give_back(own.slab);
}

/* Awaited: has a shard slabs that no client has owned yet? */
dtx::Task<bool> Space::has_unused(uint32_t shard)
{
    const Sizes &sizes = client_.volume().tables.sizes;
    auto body = [&](Call &call) {
        return call.txn.scan(call.tables().slabs, key_of(shard, 0), last_slab_key(sizes, shard), 1,
                             dtx::Order::descending);
    };
    auto last = co_await client_.call(kSelf, body);

    co_return last.empty() || lower_half(last[0].first) + 1 < sizes.slabs;
}

dtx::Task<bool> Space::await_share()
{
    uint64_t now_ns = dtx::now_ns();

    if (!others_have_room_ || now_ns < wait_again_ns_)
        co_return false;
    wait_again_ns_ = now_ns + kShareAgainNs;
    co_await client_.session().sleep_until(now_ns + kShareNs);
    co_return true;
}

dtx::Task<> Space::share()
{
    for (uint32_t shard = 0; shard < client_.volume().shards; shard++) {
        if (idle(shard).size() <= kKept)
            continue;

        bool unused = co_await has_unused(shard);

        if (unused)
            continue;
        co_await count_again(shard);

        std::vector<Own> spare = idle(shard);

        for (size_t i = kKept; i < spare.size(); i++)
            co_await give_back(spare[i].slab);
    }
}

} // namespace rfs
