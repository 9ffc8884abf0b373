// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

namespace
{

rpm_script_op at(rpm_script_op op, uint32_t role, uint32_t word = 1)
{
    op.role = role;
    op.word = word;
    return in_dram(op);
}

rpm_script_op read_at(uint32_t phase, uint32_t word = 1)
{
    return at(op_of(phase, RPM_LOAD_READ, 8), RPM_ROLE_READ, word);
}

rpm_script_op update_at(uint32_t phase, uint32_t word = 1)
{
    return at(op_of(phase, RPM_LOAD_CAS, 8), RPM_ROLE_UPDATE, word);
}

Ops locked(uint32_t word = 1)
{
    return { at(op_of(0, RPM_LOAD_CAS, 8), RPM_ROLE_LOCK, word), op_of(1, RPM_LOAD_WRITE, 64),
             at(op_of(2, RPM_LOAD_CAS, 8), RPM_ROLE_UNLOCK, word) };
}

Cluster threads_of(std::vector<Ops> ops, uint32_t threads, uint32_t words = 1)
{
    Cluster cluster(std::move(ops));

    cluster.load.threads = threads;
    cluster.load.words = words;
    return cluster;
}

} // namespace

TEST_CASE("words: a single transaction never fails", "[unit]")
{
    CHECK(threads_of({ { read_at(0), update_at(1) } }, 1).run().failures == 0);
    CHECK(threads_of({ locked() }, 1).run().failures == 0);
    CHECK(threads_of({ locked(1), locked(2) }, 1, 2).run().failures == 0);
}

TEST_CASE("words: an UPDATE fails if another changed the word before, and each successful one is a "
          "change",
          "[unit]")
{
    Cluster cluster = threads_of({ { read_at(0), update_at(1) } }, 8);
    rpmi_params params = params_of("hints");
    rpmi_cluster_model *open = cluster.open(params);
    rpm_cost cost = rpm_cost_init();

    REQUIRE(rpmi_cluster_run(open, &cost) == 0);
    CHECK(cost.failures > cost.ops);
    // attempts under way may have updated it without their completion
    CHECK(open->word[1].changes >= open->finished);
    CHECK(open->word[1].changes <= open->finished + 8);
    rpmi_cluster_close(&open);
}

TEST_CASE("words: one transaction at a time holds a lock", "[unit]")
{
    rpm_cost alone = threads_of({ locked() }, 1).run();
    rpm_cost many = threads_of({ locked() }, 16).run();
    rpm_cost apart = threads_of({ locked(1), locked(2), locked(3), locked(4) }, 16, 4).run();

    CHECK(many.failures > many.ops);
    CHECK(mops(many) < 1.5 * mops(alone)); // most of the transaction is between lock and unlock
    CHECK(mops(apart) > 2 * mops(many));
}

TEST_CASE("words: a failed attempt returns the words that it holds, unchanged", "[unit]")
{
    Ops both = locked(1);
    Ops other = locked(2);

    both.insert(both.begin() + 1, other[0]); // takes 1 and 2 in one phase
    both.push_back(other[2]);
    Cluster cluster = threads_of({ both, other }, 8, 2);
    cluster.load.backoff_ns = cluster.load.backoff_max_ns = 2000;
    rpmi_params params = params_of("hints");
    rpmi_cluster_model *open = cluster.open(params);
    rpm_cost cost = rpm_cost_init();

    REQUIRE(rpmi_cluster_run(open, &cost) == 0); // it ends: no lock is held for ever
    CHECK(cost.failures > 0);
    CHECK(open->word[1].changes <= open->finished + 8);
    CHECK(open->word[1].changes >= open->finished / 4);
    rpmi_cluster_close(&open);
}

TEST_CASE("words: a READ fails at a lock, and at a change since the first READ", "[unit]")
{
    Ops reader = { read_at(0), in_dram(op_of(1, RPM_LOAD_READ, 8)), read_at(2) };

    CHECK(threads_of({ reader }, 8).run().failures == 0); // readers do not conflict
    CHECK(threads_of({ reader, locked() }, 2).run().failures > 0);
    CHECK(threads_of({ { read_at(0) }, { update_at(0) } }, 8).run().failures == 0);
    CHECK(threads_of({ reader, { update_at(0) } }, 8).run().failures > 0);
}

TEST_CASE("words: a NIC swaps one word no faster than one unit does", "[unit]")
{
    uint64_t unit = HINTS.pcie_read + HINTS.dram_latency + HINTS.nic_atomic;
    Cluster one = threads_of({ { update_at(0) } }, 32);
    Cluster ten = threads_of({ { update_at(0, 1) },
                               { update_at(0, 2) },
                               { update_at(0, 3) },
                               { update_at(0, 4) },
                               { update_at(0, 5) },
                               { update_at(0, 6) },
                               { update_at(0, 7) },
                               { update_at(0, 8) },
                               { update_at(0, 9) },
                               { update_at(0, 10) } },
                             32, 10);

    CHECK(mops(one.run()) <= 1e6 / static_cast<double>(unit));
    CHECK(mops(one.run()) > 0.8 * 1e6 / static_cast<double>(unit));
    CHECK(mops(ten.run()) > 3 * mops(one.run()));
}

TEST_CASE("words: transactions that never end are reported, not waited for", "[unit]")
{
    Ops held = locked();

    held.insert(held.begin() + 2, read_at(2, 2)); // of a word that it reads and changes itself
    held.insert(held.begin(), read_at(0, 2));
    held.insert(held.begin() + 2, update_at(0, 2));
    Cluster cluster = threads_of({ held }, 1, 2);
    CHECK_THROWS_WITH(cluster.run(), Catch::Contains("no transaction has ended"));
}

TEST_CASE("words: a backoff after a failure saves attempts", "[unit]")
{
    Cluster hot = threads_of({ { read_at(0), update_at(1) } }, 64);
    rpm_cost without = hot.run();

    hot.load.backoff_ns = 1700;
    hot.load.backoff_max_ns = 1700000;
    rpm_cost with = hot.run();
    CHECK(with.failures < without.failures / 4);
    CHECK(mops(with) > mops(without));
}

TEST_CASE("words: the latency of a transaction is that of all its attempts", "[unit]")
{
    rpm_cost alone = threads_of({ { read_at(0), update_at(1) } }, 1).run();
    rpm_cost many = threads_of({ { read_at(0), update_at(1) } }, 32).run();

    CHECK(many.mean_ps > 5 * alone.mean_ps);
}
