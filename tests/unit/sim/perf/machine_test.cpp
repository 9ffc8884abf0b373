// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

#include "support/rounds.h"

namespace
{

// One client machine whose threads read 8 bytes of DRAM at a time.
Cluster reader(uint32_t threads, uint32_t coroutines)
{
    Cluster cluster({ { in_dram(op_of(0, RPM_LOAD_READ, 8)) } });

    cluster.load.machines = 1;
    cluster.load.threads = threads;
    cluster.load.coroutines = coroutines;
    cluster.load.transactions = rounds(40000);
    return cluster;
}

double mops(Cluster &cluster, uint32_t doorbells)
{
    cluster.load.doorbells = doorbells;
    return mops(cluster.run());
}

} // namespace

TEST_CASE("machine: a doorbell of its own costs a thread nothing", "[unit]")
{
    Cluster one = reader(1, 8);

    one.load.doorbells = 0;
    uint64_t without = one.run().duration_ps;
    one.load.doorbells = 12;
    CHECK(one.run().duration_ps == without);
    Cluster twelve = reader(12, 8);
    CHECK(mops(twelve, 12) == mops(twelve, 0));
}

TEST_CASE("machine: threads that share a doorbell post one after another, and slower", "[unit]")
{
    Cluster four = reader(48, 8);
    Cluster eight = reader(96, 8);

    // what the two numbers of the preset were computed from
    CHECK(mops(four, 12) == Approx(29.4).epsilon(0.1));
    CHECK(mops(eight, 12) == Approx(19.2).epsilon(0.1));
    CHECK(mops(eight, 0) > 5 * mops(eight, 12));
}

TEST_CASE("machine: a phase rings once for each server", "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    Cluster two({ { read, read } });
    Cluster one = reader(96, 8);

    two.load.machines = 1;
    two.load.threads = 96;
    two.load.coroutines = 8;
    two.load.transactions = rounds(40000);
    CHECK(2 * mops(two, 12) > 1.5 * mops(one, 12));
}

TEST_CASE("machine: more requests outstanding than the NIC holds slow it down", "[unit]")
{
    Cluster few = reader(72, 16);
    Cluster many = reader(96, 32);

    REQUIRE(72 * 16 <= HINTS.request_cache);
    CHECK(mops(few, 0) > 0.9 * 1e6 / static_cast<double>(HINTS.nic_message));
    CHECK(mops(many, 0) < 0.75 * mops(few, 0));
    many.load.outstanding_max = 8;
    CHECK(mops(many, 0) > 0.95 * mops(few, 0));
}

TEST_CASE("machine: a thread has at most its maximum of requests in flight", "[unit]")
{
    Cluster eight = reader(1, 8);
    Cluster many = reader(1, 64);

    many.load.outstanding_max = 8;
    CHECK(mops(many.run()) == Approx(mops(eight.run())).epsilon(0.03));
    // a phase that is larger goes alone
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    Cluster wide({ Ops(6, read) });
    Cluster alone({ Ops(6, read) });
    wide.load.coroutines = 8;
    wide.load.outstanding_max = 5;
    CHECK(mops(wide.run()) == Approx(mops(alone.run())).epsilon(0.03));
}
