// SPDX-License-Identifier: BSD-3-Clause
// fault_test.cpp: an injected fault keeps the contract of a real one.
#include "unit/transport/fake.h"

namespace
{

using Ids = std::vector<uint64_t>;

Ids ids_of(const std::vector<rpmi_done> &done)
{
    Ids ids;

    for (const rpmi_done &one : done)
        ids.push_back(one.id);
    return ids;
}

// Three groups of an unsignalled write and a signalled read: ids 1..6.
std::vector<rpmi_op> groups()
{
    std::vector<rpmi_op> ops;

    for (uint64_t id = 1; id <= 6; id++)
        ops.push_back(Wrapped::op(id, id % 2 == 0 ? RPMI_OP_SIGNALED : 0,
                                  id % 2 == 0 ? RPMI_OP_READ : RPMI_OP_WRITE));
    return ops;
}

} // namespace

TEST_CASE("fault: without a schedule nothing happens", "[unit]")
{
    Wrapped wrapped("wrap=fault");

    CHECK(wrapped.post(groups()) == 6);
    CHECK(ids_of(wrapped.poll()) == Ids{ 2, 4, 6 });
    CHECK(wrapped.fake.ids() == Ids{ 1, 2, 3, 4, 5, 6 });
}

TEST_CASE("fault: lost: nothing from the chosen op on leaves, all before completes", "[unit]")
{
    uint64_t at = GENERATE(1, 2, 3, 4, 5, 6);
    Wrapped wrapped("wrap=fault,fault_at=" + std::to_string(at));
    std::vector<rpmi_done> done;

    CAPTURE(at);
    CHECK(wrapped.post(groups()) == 6);
    CHECK(wrapped.fake.posted.size() == at - 1);
    CHECK(wrapped.link->ops->wait(wrapped.link, 1 << 20) == 0);
    for (int i = 0; i < 10 && wrapped.last >= 0; i++)
        for (const rpmi_done &one : wrapped.poll())
            done.push_back(one);
    CHECK(wrapped.last == RPM_E_LOST);
    CHECK(wrapped.link->lost == RPM_E_LOST);
    // Signalled ops before the fault succeed, every op from it on completes as lost, in order.
    Ids want;
    for (uint64_t id = 2; id < at; id += 2)
        want.push_back(id);
    size_t good = want.size();
    for (uint64_t id = at; id <= 6; id++)
        want.push_back(id);
    CHECK(ids_of(done) == want);
    for (size_t i = 0; i < done.size(); i++)
        CHECK(done[i].status == (i < good ? 0 : RPM_E_LOST));
    CHECK(wrapped.post(9) == RPM_E_LOST);
    CHECK(wrapped.link->ops->peek(wrapped.link, 1, 0, 1) == nullptr);
}

TEST_CASE("fault: unacked: the chosen op is carried out all the same", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=4,fault_kind=unacked");
    std::vector<rpmi_done> done;

    CHECK(wrapped.post(groups()) == 6);
    CHECK(wrapped.fake.ids() == Ids{ 1, 2, 3, 4 });
    for (int i = 0; i < 10 && wrapped.last >= 0; i++)
        for (const rpmi_done &one : wrapped.poll(1))
            done.push_back(one);
    CHECK(ids_of(done) == Ids{ 2, 4, 5, 6 });
    CHECK(done.at(0).status == 0);
    CHECK(done.at(1).status == RPM_E_LOST);
    CHECK(wrapped.last == RPM_E_LOST);
}

TEST_CASE("fault: a failure is reported after earlier completions, however late", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=4");
    std::vector<rpmi_done> done;

    wrapped.fake.late = 3;
    CHECK(wrapped.post(groups()) == 6);
    for (int i = 0; i < 3; i++)
        CHECK(wrapped.poll().empty());
    done = wrapped.poll();
    CHECK(ids_of(done) == Ids{ 2, 4, 5, 6 });
    CHECK(done.at(0).status == 0);
}

TEST_CASE("fault: timeout: no completion comes until the deadline", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=3,fault_kind=timeout");
    rpmi_call call = {};
    rpmi_reply reply = {};

    CHECK(wrapped.post(groups()) == 6);
    CHECK(ids_of(wrapped.poll()) == Ids{ 2 });
    CHECK(wrapped.poll().empty());
    CHECK(wrapped.last == 0);
    CHECK(wrapped.link->ops->wait(wrapped.link, 50000) == RPM_E_TIMEDOUT);
    CHECK(wrapped.fake.now_ns >= 50000);
    CHECK(wrapped.link->ops->call(wrapped.link, &call, &reply, 60000) == RPM_E_TIMEDOUT);
    CHECK(wrapped.fake.calls == 0);
    wrapped.fake.link.lost = RPM_E_LOST; // no completion reports even that
    CHECK(wrapped.link->ops->wait(wrapped.link, 70000) == RPM_E_TIMEDOUT);
    CHECK(wrapped.post(groups()) == 4); // up to the depth, then full
    CHECK(wrapped.post(groups()) == 0);
    CHECK(wrapped.link->lost == 0); // the user decides how long to wait
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    CHECK(wrapped.post(7) == 1);
    CHECK(ids_of(wrapped.poll()) == Ids{ 7 });
}

TEST_CASE("fault: refuse: only the rest of that post fails", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=4,fault_kind=refuse");
    std::vector<rpmi_done> done;

    CHECK(wrapped.post(groups()) == 6);
    CHECK(wrapped.post(7) == 0); // not before the refusal is reaped: order
    done = wrapped.poll();
    CHECK(ids_of(done) == Ids{ 2, 4, 5, 6 });
    CHECK(done.at(1).status == RPM_E_DENIED);
    CHECK(done.at(3).status == RPM_E_DENIED);
    CHECK(wrapped.post(7) == 1);
    CHECK(ids_of(wrapped.poll()) == Ids{ 7 });
    CHECK(wrapped.link->lost == 0);
}

TEST_CASE("fault: repeat: carried out twice, answered once", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=2,fault_kind=repeat");
    std::vector<rpmi_op> ops = groups();
    int taken = wrapped.post(ops);

    for (int i = 0; i < 6 && taken < 6; i++)
        taken += wrapped.post({ ops.begin() + taken, ops.end() });
    CHECK(wrapped.fake.ids() == Ids{ 1, 2, 2, 3, 4, 5, 6 });
    CHECK(ids_of(wrapped.poll()) == Ids{ 2, 4, 6 });
}

TEST_CASE("fault: repeat: an atomic is carried out once", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=1,fault_kind=repeat");

    CHECK(wrapped.post({ Wrapped::op(1, RPMI_OP_SIGNALED, RPMI_OP_FAA) }) == 1);
    CHECK(wrapped.fake.ids() == Ids{ 1 });
}

TEST_CASE("fault: a loss ends with a reconnect and is not repeated", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=2,fault_dials=2");

    CHECK(wrapped.post(1) == 1);
    CHECK(wrapped.post(2) == 1);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == RPM_E_REFUSED);
    CHECK(wrapped.post(3) == RPM_E_LOST);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == RPM_E_REFUSED);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    CHECK(wrapped.fake.reconnects == 1);
    CHECK(wrapped.link->lost == 0);
    CHECK(wrapped.poll().empty()); // outstanding ops are forgotten
    CHECK(wrapped.last == 0);
    for (uint64_t id = 4; id < 20; id++) {
        CHECK(wrapped.post(id) == 1);
        CHECK(ids_of(wrapped.poll()) == Ids{ id });
    }
}

TEST_CASE("fault: the schedule of a seed repeats itself", "[unit]")
{
    std::vector<int> lost[2];

    for (auto &when : lost) {
        Wrapped wrapped("wrap=fault,fault_every=10,fault_seed=7");

        for (int i = 0; i < 1000; i++) {
            (void)wrapped.post(1);
            wrapped.poll();
            if (wrapped.poll().empty() && wrapped.last == RPM_E_LOST) {
                when.push_back(i);
                CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
            }
        }
    }
    CHECK(lost[0] == lost[1]);
    CHECK(lost[0].size() > 50);
    CHECK(lost[0].size() < 200);
}

TEST_CASE("fault: on a link that completes on post the post itself fails", "[unit]")
{
    {
        Wrapped wrapped("wrap=fault,fault_at=3", RPMI_LINK_COMPLETES_ON_POST);

        CHECK(wrapped.post(groups()) == RPM_E_LOST);
        CHECK(wrapped.fake.ids() == Ids{ 1, 2 });
        CHECK(wrapped.link->lost == RPM_E_LOST);
        CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
        CHECK(wrapped.post(groups()) == 6);
    }
    {
        Wrapped wrapped("wrap=fault,fault_at=3,fault_kind=unacked", RPMI_LINK_COMPLETES_ON_POST);

        CHECK(wrapped.post(groups()) == RPM_E_LOST);
        CHECK(wrapped.fake.ids() == Ids{ 1, 2, 3 });
    }
    {
        Wrapped wrapped("wrap=fault,fault_at=3,fault_kind=refuse", RPMI_LINK_COMPLETES_ON_POST);

        CHECK(wrapped.post(groups()) == RPM_E_DENIED);
        CHECK(wrapped.link->lost == 0);
        CHECK(wrapped.post(groups()) == 6);
    }
    {
        Wrapped wrapped("wrap=fault,fault_at=3,fault_kind=timeout", RPMI_LINK_COMPLETES_ON_POST);

        CHECK(wrapped.post(groups()) == RPM_E_TIMEDOUT);
        CHECK(wrapped.link->lost == RPM_E_TIMEDOUT);
        CHECK(wrapped.post(groups()) == RPM_E_TIMEDOUT);
    }
}

TEST_CASE("fault: on a link that completes on post a repeat takes all", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=3,fault_kind=repeat", RPMI_LINK_COMPLETES_ON_POST);

    CHECK(wrapped.post(groups()) == 6);
    CHECK(wrapped.fake.ids() == Ids{ 1, 2, 3, 3, 4, 5, 6 });
}

TEST_CASE("fault: a call can be the one that fails", "[unit]")
{
    rpmi_call call = {};
    rpmi_reply reply = {};
    std::string kind = GENERATE("lost", "unacked", "refuse", "timeout");
    Wrapped wrapped("wrap=fault,fault_call=2,fault_kind=" + kind);
    const rpmi_transport_ops *ops = wrapped.link->ops;

    CAPTURE(kind);
    CHECK(ops->call(wrapped.link, &call, &reply, 9000) == 0);
    if (kind == "refuse") {
        CHECK(ops->call(wrapped.link, &call, &reply, 9000) == 0);
        CHECK(reply.status == RPM_E_DENIED);
        CHECK(ops->call(wrapped.link, &call, &reply, 9000) == 0);
        CHECK(reply.status == 0);
        return;
    }
    CHECK(ops->call(wrapped.link, &call, &reply, 9000) ==
          (kind == "timeout" ? RPM_E_TIMEDOUT : RPM_E_LOST));
    CHECK(wrapped.fake.calls == (kind == "unacked" ? 2 : 1));
    CHECK(ops->reconnect(wrapped.link, 0) == 0);
    CHECK(ops->call(wrapped.link, &call, &reply, 9000) == 0);
}

TEST_CASE("fault: the inner link's own loss is passed on", "[unit]")
{
    Wrapped wrapped("wrap=fault,fault_at=100");

    CHECK(wrapped.post(groups()) == 6);
    CHECK(wrapped.poll().size() == 3);
    wrapped.fake.link.lost = RPM_E_LOST;
    wrapped.poll();
    CHECK(wrapped.last == RPM_E_LOST);
    CHECK(wrapped.link->lost == RPM_E_LOST);
}

TEST_CASE("fault: when armed, a failure is an event", "[unit]")
{
    Wrapped lost("wrap=fault,fault_at=1");
    uint64_t by_ns = UINT64_MAX;

    CHECK(lost.link->ops->arm(lost.link, &by_ns) == 0);
    lost.post(1);
    CHECK(lost.link->ops->arm(lost.link, &by_ns) == 1);
    lost.poll();
    CHECK(lost.link->ops->arm(lost.link, &by_ns) == 1);
}

TEST_CASE("fault: when armed, a dropped completion gives no event", "[unit]")
{
    Wrapped silent("wrap=fault,fault_at=1,fault_kind=timeout");
    uint64_t by_ns = UINT64_MAX;

    silent.post(1);
    CHECK(silent.link->ops->arm(silent.link, &by_ns) == 0);
    CHECK(by_ns == UINT64_MAX);
}

TEST_CASE("fault: when armed, completions before a failure are events of the link", "[unit]")
{
    Wrapped later("wrap=fault,fault_at=2");
    uint64_t by_ns = UINT64_MAX;

    later.post(1);
    later.post(2);
    CHECK(later.link->ops->arm(later.link, &by_ns) == 1);
    CHECK(later.fake.arms == 1);
}
