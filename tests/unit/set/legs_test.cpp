// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"
#include "unit/set/members.h"

using members::Servers;
using members::Shape;
using members::Writer;

namespace
{

using Strings = std::vector<std::string>;

// Three members, two of which must have a record.
struct Set {
    explicit Set(const loop::Setup &setup = loop::queued(), uint32_t acks = 2)
        : servers(shape(setup, acks)), writer(servers)
    {
        writer.open_all();
        REQUIRE(writer.round() == 0);
    }
    static Shape shape(const loop::Setup &setup, uint32_t acks)
    {
        Shape shape;

        shape.acks = acks;
        shape.setup = members::probed(setup);
        return shape;
    }
    int submit(const std::string &data)
    {
        uint64_t lsn = 0;

        return rpmi_legs_submit(&writer.legs, data.data(), static_cast<uint32_t>(data.size()),
                                nullptr, &lsn);
    }
    // The statuses of all that has ended.
    std::vector<int> poll(uint32_t turns = 20)
    {
        std::vector<int> ended;
        rpm_completion done = {};

        for (uint32_t i = 0; i < turns; i++)
            while (rpmi_legs_poll(&writer.legs, &done, 1) == 1)
                ended.push_back(done.status);
        return ended;
    }
    std::vector<unsigned char> frames(uint32_t i) const
    {
        const std::vector<unsigned char> &bytes = servers.all[i]->pool.bytes;

        return { bytes.begin() + RING, bytes.begin() + RING + members::CAPACITY };
    }
    // The member's link carries nothing out until it is let go.
    void stall(uint32_t i, bool stalls)
    {
        writer.link(i)->manual = stalls;
        writer.link(i)->hold = 0;
    }

    Servers servers;
    Writer writer;
};

} // namespace

TEST_CASE("legs: members get the same bytes, although their platforms differ", "[unit]")
{
    Shape shape;
    uint64_t lsn = 0;

    shape.setup = members::probed(loop::queued());
    Servers servers(shape);
    Writer writer(servers);

    REQUIRE(writer.open(0));
    REQUIRE(writer.open(1));
    servers.shape.setup = members::probed(loop::synchronous());
    servers.shape.setup.line_bytes = RPMI_XPLINE_BYTES; // where long frames begin at a media line
    REQUIRE(writer.open(2));
    REQUIRE(writer.round() == 0);
    for (size_t len : { 1, 40, 41, 300, 64, 1000, 233, 500 })
        REQUIRE(writer.append(loop::payload(len, len), &lsn) == 3);
    std::vector<loop::Record> all = loop::read_all(writer.leg(0).log, members::FIRST);

    REQUIRE(all.size() == 8);
    for (uint32_t i = 1; i < 3; i++) {
        rpmi_frame one = {};
        rpmi_frame other = {};
        rpmi_verdict verdict;

        for (const loop::Record &record : all) {
            REQUIRE(rpmi_log_judge(writer.leg(0).log, record.lsn, &one, &verdict) == 0);
            REQUIRE(rpmi_log_judge(writer.leg(i).log, record.lsn, &other, &verdict) == 0);
            CHECK(verdict == RPMI_FRAME_VALID);
            CHECK(one.sum == other.sum); // over lag and flags too
        }
    }
}

TEST_CASE("legs: a record is acknowledged when acks members have it", "[unit]")
{
    uint32_t acks = GENERATE(1u, 2u, 3u);
    Set set(loop::queued(), acks);

    for (uint32_t i = 0; i < 3; i++)
        set.stall(i, true);
    REQUIRE(set.submit("one") == 0);
    CHECK(set.poll().empty());
    for (uint32_t i = 0; i < 3; i++) {
        set.stall(i, false);
        CHECK(set.poll() == std::vector<int>(i + 1 == acks ? 1 : 0));
    }
    CHECK(set.poll().empty());
    for (uint32_t i = 0; i < 3; i++)
        CHECK(set.writer.read(i) == Strings{ "one" });
}

TEST_CASE("legs: a member that lags is caught up with, and its frames are the same", "[unit]")
{
    Set set;

    set.stall(1, true);
    for (int i = 0; i < 6; i++) {
        REQUIRE(set.submit("record " + std::to_string(i)) == 0);
        CHECK(set.poll() == std::vector<int>{ 0 });
    }
    CHECK(set.writer.leg(1).sealed);
    set.stall(1, false);
    CHECK(set.poll().empty());
    CHECK(set.writer.legs.of[1].acked == 6);
    CHECK(set.frames(0) == set.frames(1));
    CHECK(set.frames(0) == set.frames(2));
}

TEST_CASE("legs: a member that keeps the queue full is dropped while acks others go on", "[unit]")
{
    Set set;
    uint32_t records = 0;

    set.stall(1, true);
    set.writer.link(1)->faults.take_most = 1; // and its log soon takes no more
    for (int i = 0; i < 40; i++) {
        int err = set.submit(std::string(50, 'x'));

        REQUIRE((err == 0 || err == RPM_E_BUSY));
        for (int status : set.poll()) {
            CHECK(status == 0);
            records++;
        }
    }
    CHECK(records == 40);
    CHECK_FALSE(set.writer.leg(1).sealed);
    CHECK(set.writer.legs.dead == 0);
    // With acks members left none is dropped: the records wait.
    set.stall(2, true);
    for (int i = 0; i < 20; i++)
        (void)set.submit(std::string(50, 'y'));
    CHECK(set.submit("z") == RPM_E_BUSY);
    CHECK(set.poll().empty());
    CHECK(set.writer.leg(2).sealed);
    set.stall(2, false);
    CHECK(set.poll() == std::vector<int>(members::QUEUED));
}

TEST_CASE("legs: a member that is silent for suspect_ns is dropped while acks others go on",
          "[unit]")
{
    Set set;

    set.stall(1, true);
    REQUIRE(set.submit("one") == 0);
    CHECK(set.poll() == std::vector<int>{ 0 });
    for (uint32_t i = 0; i < 3; i++)
        set.servers.all[i]->now_ns += members::SUSPECT_NS / 2;
    CHECK(set.poll().empty());
    CHECK(set.writer.leg(1).sealed);
    for (uint32_t i = 0; i < 3; i++)
        set.servers.all[i]->now_ns += members::SUSPECT_NS;
    CHECK(set.poll().empty());
    CHECK_FALSE(set.writer.leg(1).sealed);
    REQUIRE(set.submit("two") == 0);
    CHECK(set.poll() == std::vector<int>{ 0 });
}

TEST_CASE("legs: with fewer than acks members records end as unknown, and none is taken", "[unit]")
{
    Set set(GENERATE(loop::synchronous(), loop::queued()));
    uint64_t lsn = 0;

    CHECK(set.writer.append("one", &lsn) == 3);
    set.servers.all[0]->stop();
    CHECK(set.writer.append("two", &lsn) == 2);
    set.servers.all[1]->stop();
    REQUIRE(set.submit("three") == 0);
    CHECK(rpmi_legs_flush(&set.writer.legs) < 0);
    std::vector<int> ended = set.poll();

    CHECK(ended == std::vector<int>{ set.writer.legs.dead });
    CHECK(set.writer.legs.dead == RPM_E_LOST);
    CHECK(set.submit("four") == RPM_E_LOST);
}

TEST_CASE("legs: a full log takes records again when it is trimmed", "[unit]")
{
    Set set(GENERATE(loop::synchronous(), loop::queued()));
    uint64_t lsn = 0;
    uint64_t last = 0;
    int err = 0;

    for (int i = 0; i < 100 && err == 0; i++) {
        std::string data(400, static_cast<char>('a' + i % 26));

        err = rpmi_legs_submit(&set.writer.legs, data.data(), 400, nullptr, &lsn);
        last = err == 0 ? lsn : last;
        REQUIRE(rpmi_legs_flush(&set.writer.legs) == 0);
        (void)set.poll(1);
    }
    CHECK(err == RPM_E_FULL);
    CHECK(rpmi_legs_trim(&set.writer.legs, set.writer.legs.tail_lsn + 64) == RPM_E_RANGE);
    REQUIRE(rpmi_legs_trim(&set.writer.legs, last) == 0);
    CHECK(set.writer.append("after", &lsn) == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(set.writer.read(i).size() == 2);
}

TEST_CASE("legs: a member that was away comes back without a round", "[unit]")
{
    Set set(GENERATE(loop::synchronous(), loop::queued()));
    bool again = GENERATE(false, true); // it goes away a second time
    uint64_t lsn = 0;
    Strings all = { "one" };

    CHECK(set.writer.append("one", &lsn) == 3);
    for (int round = 0; round < (again ? 2 : 1); round++) {
        set.servers.all[1]->stop();
        for (int i = 0; i < 12; i++) { // more than are queued
            all.push_back("away " + std::to_string(i));
            CHECK(set.writer.append(all.back(), &lsn) == 2);
        }
        REQUIRE(set.servers.all[1]->start() == 0);
        CHECK_FALSE(set.writer.leg(1).sealed);
        REQUIRE(set.writer.rejoin(1) == 0);
        all.push_back("back");
        CHECK(set.writer.append("back", &lsn) == 3);
    }
    for (uint32_t i = 0; i < 3; i++)
        CHECK(set.writer.read(i) == all);
    CHECK(set.frames(0) == set.frames(1));
    // It counts: the record is acknowledged by it and one other.
    set.servers.all[0]->stop();
    CHECK(set.writer.append("last", &lsn) == 2);
}

TEST_CASE("legs: a member that another writer has claimed needs a round", "[unit]")
{
    Set set;
    uint64_t lsn = 0;

    CHECK(set.writer.append("one", &lsn) == 3);
    set.writer.link(1)->drop();
    CHECK(set.writer.append("two", &lsn) == 2);
    {
        loop::Conn conn(*set.servers.all[1], set.servers.shape.setup);
        loop::Log log;
        rpm_log_opts opts = set.servers.opts(RPM_LOG_WRITE);
        rpmi_member member = set.servers.member(1);

        REQUIRE(rpmi_member_open(conn, "copy", &opts, &member, &log.log) == 0);
        REQUIRE(rpmi_member_claim(log, set.writer.last.epoch + 1, 0) == 0);
    }
    CHECK(set.writer.rejoin(1) == RPM_E_FENCED);
    CHECK(set.writer.append("three", &lsn) == 2);
    REQUIRE(set.writer.round() == 0);
    CHECK(set.writer.append("four", &lsn) == 3);
    CHECK(set.writer.read(1) == Strings{ "one", "two", "three", "four" });
}

TEST_CASE("legs: a member whose memory was lost needs a round", "[unit]")
{
    Set set;
    uint64_t lsn = 0;

    CHECK(set.writer.append("one", &lsn) == 3);
    set.servers.all[1]->power_cut();
    CHECK(set.writer.append("two", &lsn) == 2);
    REQUIRE(set.servers.all[1]->start() == 0);
    set.writer.link(1)->link.facts.domain_declared = 1; // lives count
    CHECK(set.writer.rejoin(1) == RPM_E_QUORUM);
    CHECK(members::text_has("its machine was started again"));
}

TEST_CASE("legs: what a dropped member had acknowledged does not count any more", "[unit]")
{
    Set set;

    set.stall(1, true);
    set.stall(2, true);
    REQUIRE(set.submit("one") == 0);
    CHECK(set.poll().empty());
    CHECK(set.writer.legs.of[0].acked == 1);
    set.servers.all[0]->power_cut(); // its memory may be lost
    CHECK(set.poll().empty());
    set.stall(1, false);
    CHECK(set.poll().empty());
    CHECK(set.writer.legs.of[1].acked == 1);
    set.stall(2, false);
    CHECK(set.poll() == std::vector<int>{ 0 });
}

TEST_CASE("legs: a member that was away for many laps of the ring comes back", "[unit]")
{
    Set set(GENERATE(loop::synchronous(), loop::queued()));
    uint64_t lsn = 0;

    set.servers.all[1]->stop();
    for (int i = 0; i < 100; i++) {
        REQUIRE(set.writer.append(std::string(400, 'a'), &lsn) == 2);
        REQUIRE(rpmi_legs_trim(&set.writer.legs, lsn) == 0);
    }
    REQUIRE(lsn > 4 * members::CAPACITY);
    REQUIRE(set.servers.all[1]->start() == 0);
    REQUIRE(set.writer.rejoin(1) == 0);
    CHECK(set.writer.append("back", &lsn) == 3);
    CHECK(set.writer.read(1) == Strings{ std::string(400, 'a'), "back" });
}
