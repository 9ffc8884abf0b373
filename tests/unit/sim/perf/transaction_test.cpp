// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

TEST_CASE("transaction: operations of a phase overlap, and phases follow each other", "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    rpm_script_op later = read;
    uint64_t one = cost_of({ read }).p50_ps;

    later.phase = 1;
    CHECK(cost_of({ read, later }).p50_ps == 2 * one);
    // the second is posted behind the first, and there is its own share of polling at most
    rpm_cost both = cost_of({ read, read });
    CHECK(both.p50_ps >= one + HINTS.nic_post);
    CHECK(both.p50_ps <= one + HINTS.nic_post + HINTS.nic_poll);
    CHECK(both.requests == 2 * both.ops);
}

TEST_CASE("transaction: the server of a later phase waits for that of an earlier one", "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    rpm_script_op other = in_dram(op_of(1, RPM_LOAD_READ, 8, 1));
    Cluster cluster({ { read, other } });

    cluster.load.servers = 2;
    CHECK(cluster.run().p50_ps == 2 * cost_of({ read }).p50_ps);
}

TEST_CASE("transaction: calls of a phase to one server are one message", "[unit]")
{
    rpm_script_op read = by_call(in_dram(op_of(0, RPM_LOAD_READ, 64)));
    Ops ops(5, read);
    rpm_cost one = cost_of({ read });
    rpm_cost five = cost_of(ops);

    CHECK(one.requests == one.ops);
    CHECK(five.requests == five.ops);
    CHECK(five.module_read_bytes == 0); // of the pool; they are of DRAM
    CHECK(five.bytes == 5 * one.bytes);
    CHECK(five.p50_ps > one.p50_ps);
    CHECK(five.p50_ps < 2 * one.p50_ps);
    ops[2].server = 1; // between the others: three messages
    Cluster cluster({ ops });
    cluster.load.servers = 2;
    CHECK(cluster.run().requests == 3 * cluster.load.transactions);
}

TEST_CASE("transaction: a thread is no faster than its posts, polls and coroutine switches",
          "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    Cluster cluster({ { read, read } });

    cluster.load.coroutines = 64;
    rpm_cost cost = cluster.run();
    uint64_t busy = 2 * (HINTS.nic_post + HINTS.nic_poll) + HINTS.client_switch;
    CHECK(cost.duration_ps / cost.ops >= busy);
    CHECK(cost.duration_ps / cost.ops <= busy * 101 / 100);
}
