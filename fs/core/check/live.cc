/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.cc: the check of a volume that clients write. A scan meets rows of different times, so what
 * looks wrong is judged by a second scan (scan.h): it is told if nothing that it depends on has
 * changed between them.
 *
 * Tests: tests/fs/live_check.cpp
 */
#include "core/check/check.h"

#include "core/check/scan.h"
#include <dtx/session.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <tuple>

namespace rfs
{

static constexpr uint64_t kLiveKeep = 10000; /* of each rule; more are counted */
static constexpr int kScansMax = 8;

/* Reads the witnesses in one transaction, which waits while another transaction has locked one of
 * them: so the other transaction's rows are all installed before the next scan. Ignores torn rows
 * and indexes, which the scan reports. */
static void settle(dtx::Session &session, const std::vector<Witness> &witnesses)
{
    const std::vector<dtx::TableSpec> &tables = session.cluster().schema().tables();

    try {
        (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            for (const Witness &each : witnesses) {
                dtx::ByteTable table{ each.table, tables[each.table].row_bytes };
                auto row = co_await txn.read(table, each.key);

                (void)row;
            }
            co_return true;
        });
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_CORRUPT)
            throw;
    }
}

/* @waits: until the client with that number is not away any more. */
static bool has_died(const dtx::Cluster &cluster, uint32_t coordinator, bool waits)
{
    dtx::Life life = cluster.inherit(coordinator);

    while (waits && life == dtx::Life::away) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        life = cluster.inherit(coordinator);
    }
    return life == dtx::Life::died;
}

ClientSet living_clients(const OpenVolume &open)
{
    dtx::Session session(*open.cluster, dtx::kAnyCoordinator);
    ClientSet clients{};

    (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        auto row = co_await txn.read(open.volume.tables.mounts, 0);

        clients = row ? row->clients : ClientSet{};
        co_return true;
    });
    clients.remove(session.coordinator());
    for (bool waits : { false, true }) /* those that are away have the same time to come back */
        for (uint32_t c = 0; c < kClientsMax; c++)
            if (clients.has(c) && has_died(*open.cluster, c, waits))
                clients.remove(c);
    return clients;
}

namespace
{

/* Which Wrong it is, whatever its numbers are. */
std::pair<Kind, uint64_t> name_of(const Wrong &wrong)
{
    return { wrong.kind, wrong.key };
}

std::tuple<Kind, uint64_t, uint64_t, uint64_t> order_of(const Wrong &wrong)
{
    return { wrong.kind, wrong.key, wrong.more, wrong.other };
}

class Live
{
  public:
    explicit Live(const OpenVolume &open)
        : open_(open), session_(*open.cluster, dtx::kAnyCoordinator)
    {
    }

    LiveFindings run()
    {
        Results first = scan();

        told_.checked = first.checked;
        pending_ = std::move(first.wrongs);
        for (int scans = 1; scans < kScansMax && !pending_.empty(); scans++) {
            (void)living_clients(open_); /* finishes what the dead ones have begun */
            for (const Wrong &wrong : pending_)
                settle(session_, wrong.witnesses);
            judge(scan().wrongs);
        }
        return { told_.findings(), pending_.size() };
    }

  private:
    Results scan() const
    {
        dtx::Cluster::Reading reading(*open_.cluster);
        ScanOptions options;

        options.keep = kLiveKeep;
        options.live = true;
        return Scan(open_, options).run();
    }

    /* Tells what @again has as well, with the same witnesses. Keeps what has changed and still
     * looks wrong. */
    void judge(std::vector<Wrong> again)
    {
        std::set<std::pair<Kind, uint64_t>> names;
        std::vector<Wrong> left;

        std::sort(pending_.begin(), pending_.end(), [](const Wrong &one, const Wrong &other) {
            return order_of(one) < order_of(other);
        });
        for (const Wrong &wrong : pending_)
            names.insert(name_of(wrong));
        for (Wrong &wrong : again) {
            if (names.count(name_of(wrong)) == 0)
                continue; /* it began after the first scan, or was not wrong then */
            if (was_pending(wrong))
                tell(wrong);
            else
                left.push_back(std::move(wrong));
        }
        pending_ = std::move(left);
    }

    bool was_pending(const Wrong &wrong) const
    {
        auto same = std::lower_bound(
            pending_.begin(), pending_.end(), wrong,
            [](const Wrong &one, const Wrong &other) { return order_of(one) < order_of(other); });

        for (; same != pending_.end() && order_of(*same) == order_of(wrong); ++same)
            if (*same == wrong)
                return true;
        return false;
    }

    void tell(const Wrong &wrong)
    {
        size_t rule = static_cast<size_t>(rule_of(wrong.kind));

        if (!known_.insert(order_of(wrong)).second)
            return;
        told_.broken[rule]++;
        told_.checked[rule] = std::max(told_.checked[rule], told_.broken[rule]);
        told_.wrongs.push_back(wrong);
    }

    const OpenVolume &open_;
    dtx::Session session_;
    Results told_;
    std::set<std::tuple<Kind, uint64_t, uint64_t, uint64_t>> known_; /* told already */
    std::vector<Wrong> pending_;
};

} // namespace

LiveFindings check_live(const OpenVolume &open)
{
    return Live(open).run();
}

} // namespace rfs
