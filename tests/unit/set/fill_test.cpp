// SPDX-License-Identifier: BSD-3-Clause
#include "unit/set/members.h"

extern "C" {
#include "set/fill.h"
}

using members::FIRST;
using members::Servers;
using members::Shape;
using members::Writer;

namespace
{

using Strings = std::vector<std::string>;

// Two members, of which the client has written only some of the records to each.
struct Pair {
    explicit Pair(const loop::Setup &setup) : servers(shape(setup)), writer(servers)
    {
        writer.open_all();
        REQUIRE(writer.round() == 0);
    }
    static Shape shape(const loop::Setup &setup)
    {
        Shape shape;

        shape.copies = 2;
        shape.setup = setup;
        return shape;
    }
    uint64_t append(uint32_t i, const std::string &data)
    {
        uint64_t lsn = 0;

        REQUIRE(rpm_log_append(writer.leg(i).log, data.data(), data.size(), &lsn) == 0);
        return lsn;
    }
    // Claims both for a new epoch, and makes member 1 as member 0 is.
    int fill(uint64_t *filled)
    {
        rpm_log *logs[2] = { writer.leg(0).log, writer.leg(1).log };
        rpmi_scan_report report = {};

        for (rpm_log *log : logs)
            REQUIRE(rpmi_member_claim(log, writer.last.epoch + 1, 0) == 0);
        REQUIRE(rpmi_log_scan(logs[0], logs[0]->head.trim_lsn, nullptr, nullptr, &report) == 0);
        tail = report.end_lsn;
        return rpmi_fill(logs[1], logs[0], tail, filled);
    }
    void seal()
    {
        for (uint32_t i = 0; i < 2; i++)
            REQUIRE(rpmi_member_seal(writer.leg(i).log, tail) == 0);
    }

    Servers servers;
    Writer writer;
    uint64_t tail = 0;
};

loop::Setup setups()
{
    return GENERATE(loop::synchronous(), loop::queued());
}

} // namespace

TEST_CASE("fill: a member gets the records that it lacks, and no others again", "[unit]")
{
    Pair pair(setups());
    uint64_t filled = 1;

    for (uint32_t i = 0; i < 2; i++)
        pair.append(i, "both");
    uint64_t second = pair.append(0, std::string(1000, 'a'));
    pair.append(0, "b");
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == pair.tail - second);
    pair.seal();
    CHECK(pair.writer.read(1) == Strings{ "both", std::string(1000, 'a'), "b" });
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == 0);
}

TEST_CASE("fill: what only the other member has is replaced, or ends at the seal", "[unit]")
{
    Pair pair(setups());
    uint64_t filled = 0;

    pair.append(1, "old");
    pair.append(1, "older writer's, behind the end");
    REQUIRE(pair.writer.leg(0).log->tail_lsn == FIRST);
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == 0);
    pair.seal();
    CHECK(pair.writer.read(1).empty());
    pair.append(0, "new");
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == 64);
    pair.seal();
    CHECK(pair.writer.read(1) == Strings{ "new" });
}

TEST_CASE("fill: a record that is damaged on the member is copied again", "[unit]")
{
    Pair pair(setups());
    uint64_t filled = 0;
    uint64_t first = 0;

    for (uint32_t i = 0; i < 2; i++) {
        first = pair.append(i, "one");
        pair.append(i, "two");
    }
    loop::Mem &pool = pair.servers.all[1]->pool;
    const std::string text = "one";
    size_t at = std::search(pool.bytes.begin(), pool.bytes.end(), text.begin(), text.end()) -
                pool.bytes.begin();

    REQUIRE(at < pool.bytes.size());
    pool.bytes[at] ^= 1;
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == pair.tail - first);
    pair.seal();
    CHECK(pair.writer.read(1) == Strings{ "one", "two" });
}

TEST_CASE("fill: a member is trimmed as the best one is, also by many laps of the ring", "[unit]")
{
    Pair pair(setups());
    uint64_t filled = 0;
    uint32_t laps = GENERATE(0, 1, 3);
    Strings kept;

    pair.append(1, "trimmed on the best member");
    for (uint64_t written = 0; written <= laps * members::CAPACITY; written += 1024) {
        uint64_t lsn = pair.append(0, std::string(1000, static_cast<char>('a' + written % 26)));

        REQUIRE(rpm_log_trim(pair.writer.leg(0).log, lsn) == 0);
    }
    pair.append(0, "last");
    kept = pair.writer.read(0);
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == pair.tail - pair.writer.leg(0).log->head.trim_lsn);
    pair.seal();
    CHECK(pair.writer.read(1) == kept);
    CHECK(kept.size() == 2);
}

TEST_CASE("fill: a member that is trimmed further stays so", "[unit]")
{
    Pair pair(setups());
    uint64_t filled = 0;
    uint64_t second = 0;

    for (uint32_t i = 0; i < 2; i++) {
        pair.append(i, "one");
        second = pair.append(i, "two");
    }
    REQUIRE(rpm_log_trim(pair.writer.leg(1).log, second) == 0);
    pair.append(0, "three");
    REQUIRE(pair.fill(&filled) == 0);
    CHECK(filled == 64);
    pair.seal();
    CHECK(pair.writer.read(1) == Strings{ "two", "three" });
    CHECK(pair.writer.read(0) == Strings{ "one", "two", "three" });
}
