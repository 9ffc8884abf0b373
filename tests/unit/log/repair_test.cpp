// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/log/kinds.h"

extern "C" {
#include "base/rng.h"
#include "log/log.h"
}

#include <cstring>
#include <set>

using namespace loop;

namespace
{

constexpr uint64_t LOG_BYTES = 8192;

struct Outcome {
    int err = 0;
    std::string text;
    rpm_repair_report report = rpm_repair_report_init();
};

Outcome repair(rpm_conn *conn, uint32_t flags = 0, uint64_t from = 0)
{
    rpm_repair_opts opts = rpm_repair_opts_init();
    Outcome outcome;

    opts.flags = flags;
    opts.from_lsn = from;
    outcome.err = rpm_log_repair(conn, "a", &opts, &outcome.report);
    outcome.text = rpm_last_error();
    return outcome;
}

int open_error(rpm_conn *conn, uint32_t flags)
{
    rpm_log_opts opts = rpm_log_opts_init();
    Log log;

    opts.flags = flags;
    return log.open(conn, "a", opts);
}

// Appends records by two writers, and trims the first few. Returns the content of the log.
std::vector<Record> fill(rpm_conn *conn, unsigned trimmed = 3)
{
    std::vector<Record> all;
    uint64_t keep = 0;

    for (unsigned writer = 0; writer < 2; writer++) {
        Log log(conn, "a", WRITER, LOG_BYTES);

        for (unsigned i = 0; i < 10; i++) {
            std::string data = payload(writer * 10 + i, 20 + 37 * i);
            all.push_back({ data, append(log, data), writer + 1 });
        }
        keep = all[trimmed].lsn;
        REQUIRE(rpm_log_trim(log, keep) == 0);
    }
    all.erase(all.begin(), all.begin() + trimmed);
    return all;
}

void damage_slots(Server &server, uint32_t slots)
{
    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++)
        if ((slots >> slot & 1) != 0)
            server.pool.bytes[HEADER + slot * RPMI_HEAD_SLOT_STRIDE + 16] ^= 0x20;
}

// Flips a bit of the record at @lsn.
void damage_record(Server &server, uint64_t lsn)
{
    server.pool.bytes[RING + lsn % LOG_BYTES + 30] ^= 1;
}

struct Quiet {
    Quiet()
    {
        rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_WARNING);
    }
    ~Quiet()
    {
        rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    }
};

} // namespace

TEST_CASE("repair: a lost head is computed from the ring, reported, and written", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<Record> wrote = fill(conn);

    damage_slots(server, 15);
    CHECK(open_error(conn, 0) == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("2 a wrong checksum") != std::string::npos);
    CHECK(open_error(conn, RPM_LOG_WRITE) == RPM_E_CORRUPT);
    std::vector<unsigned char> before = server.pool.bytes;
    Outcome seen = repair(conn);
    REQUIRE(seen.err == 0);
    CHECK(seen.report.state == RPM_REPAIR_NEEDED);
    CHECK(seen.report.done == 0);
    CHECK(std::string(seen.report.why).find("3 a wrong checksum") != std::string::npos);
    CHECK(std::string(seen.report.slots[1].wrong) == "a wrong checksum");
    CHECK(seen.report.claim == 2);
    // Nothing is left that says what was trimmed: the first records are in the log again.
    CHECK(seen.report.chains == 1);
    CHECK(seen.report.head_lsn == 0);
    CHECK(seen.report.records == wrote.size() + 3);
    CHECK(seen.report.tail_lsn == seen.report.chain[0].end_lsn);
    CHECK(seen.report.lost == 0);
    CHECK(seen.report.epoch == 3);
    CHECK(server.pool.bytes == before);
    // The caller knows the trim.
    Outcome done =
        repair(conn, RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD | RPM_REPAIR_FROM, wrote.front().lsn);
    REQUIRE(done.err == 0);
    CHECK(done.report.done == 1);
    CHECK(done.report.lost == 3);
    CHECK(done.report.epoch == 3);
    CHECK(done.report.records == wrote.size());
    {
        Log log(conn, "a", 0);
        CHECK(read_all(log) == wrote);
    }
    // The log is sound, and not changed.
    before = server.pool.bytes;
    Outcome again = repair(conn, RPM_REPAIR_WRITE);
    REQUIRE(again.err == 0);
    CHECK(again.report.state == RPM_REPAIR_SOUND);
    CHECK(again.report.done == 0);
    CHECK(again.report.why[0] == '\0');
    CHECK(server.pool.bytes == before);
    Log log(conn, "a", RPM_LOG_WRITE);
    CHECK(info(log).epoch == 4);
    wrote.push_back({ "more", append(log, "more"), 4 });
    CHECK(read_all(log) == wrote);
}

TEST_CASE("repair: a head that is older than its records is brought up to them", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<Record> wrote;
    std::vector<unsigned char> old;
    uint32_t slots = GENERATE(0u, 6u, 11u); // of the old head, which is damaged as well

    CAPTURE(slots);
    {
        Log log(conn, "a", WRITER, LOG_BYTES);
        for (int i = 0; i < 5; i++)
            wrote.push_back({ "first", append(log, "first"), 1 });
        REQUIRE(rpm_log_trim(log, wrote[1].lsn) == 0);
        REQUIRE(rpm_log_trim(log, wrote[2].lsn) == 0);
    }
    wrote.erase(wrote.begin(), wrote.begin() + 2);
    old.assign(&server.pool.bytes[HEADER], &server.pool.bytes[HEADER] + HEADS);
    {
        Log log(conn, "a", RPM_LOG_WRITE);
        for (int i = 0; i < 5; i++)
            wrote.push_back({ "second", append(log, "second"), 2 });
    }
    std::memcpy(&server.pool.bytes[HEADER], old.data(), HEADS);
    damage_slots(server, slots);
    Outcome seen = repair(conn);
    REQUIRE(seen.err == 0);
    CHECK(seen.report.state == RPM_REPAIR_NEEDED);
    CHECK(seen.report.why[0] != '\0');
    CHECK(seen.report.head_lsn >= wrote[0].lsn - 64); // as the remaining slots say
    CHECK(seen.report.lost == 0);
    REQUIRE(repair(conn, RPM_REPAIR_WRITE).report.done == 1);
    Log log(conn, "a", RPM_LOG_WRITE);
    std::vector<Record> got = read_all(log);
    REQUIRE(got.size() >= wrote.size());
    got.erase(got.begin(), got.end() - static_cast<std::ptrdiff_t>(wrote.size()));
    CHECK(got == wrote);
}

TEST_CASE("repair: whole records are dropped only if the caller allows it", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    std::vector<Record> wrote = fill(conn, 0);
    bool slots = GENERATE(true, false); // the head says where the log begins

    CAPTURE(slots);
    damage_record(server, wrote[12].lsn); // 12 records in front of it, 7 behind
    if (!slots)
        damage_slots(server, 15);
    // Records behind it say that it was acknowledged: the log may not end there.
    CHECK(open_error(conn, RPM_LOG_WRITE) == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("'rpm-log repair'") != std::string::npos);
    std::vector<unsigned char> before = server.pool.bytes;
    Outcome refused = repair(conn, RPM_REPAIR_WRITE);
    CHECK(refused.err == RPM_E_CORRUPT);
    CHECK(refused.report.state == RPM_REPAIR_NEEDED);
    std::string damaged = "its record at " + std::to_string(wrote[12].lsn) + " is damaged";
    CHECK((std::string(refused.report.why).find(damaged) != std::string::npos) == slots);
    CHECK(refused.text.find("RPM_REPAIR_DISCARD") != std::string::npos);
    CHECK(refused.report.lost == 7); // fewer records, of the same writer
    CHECK(refused.report.done == 0);
    REQUIRE(refused.report.chains_reported == 2);
    CHECK(refused.report.chain[0].records == 12);
    CHECK(refused.report.chain[1].records == 7);
    CHECK(refused.report.chain[0].fate == RPM_REPAIR_KEPT);
    CHECK(refused.report.chain[1].fate == RPM_REPAIR_LOST);
    CHECK(server.pool.bytes == before);
    CHECK(repair(conn, RPM_REPAIR_WRITE | RPM_REPAIR_FROM, 64 + 32).err == RPM_E_RANGE);
    CHECK(repair(conn, RPM_REPAIR_FROM, wrote[12].lsn).err == RPM_E_RANGE);
    CHECK(repair(conn, RPM_REPAIR_FROM, 1u << 30).err == RPM_E_RANGE);
    CHECK(server.pool.bytes == before);
    bool behind = GENERATE(true, false);
    uint32_t flags =
        RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD | (behind ? uint32_t{ RPM_REPAIR_FROM } : 0u);
    Outcome done = repair(conn, flags, behind ? wrote[13].lsn : 0);
    REQUIRE(done.err == 0);
    CHECK(done.report.done == 1);
    CHECK(repair(conn).report.state == RPM_REPAIR_SOUND);
    Log log(conn, "a", RPM_LOG_WRITE);
    std::vector<Record> left(wrote.begin() + (behind ? 13 : 0),
                             behind ? wrote.end() : wrote.begin() + 12);
    CHECK(read_all(log) == left);
    // Bytes behind the cut, whole records or not, are never read again.
    for (unsigned i = 0; i < 3; i++)
        left.push_back({ "behind", append(log, "behind"), info(log).epoch });
    CHECK(read_all(log) == left);
    CHECK(repair(conn).report.state == RPM_REPAIR_SOUND);
}

TEST_CASE("repair: records behind a writer's seal do not come back", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    std::vector<Record> wrote;

    {
        Log log(conn, "a", WRITER, LOG_BYTES);
        for (int i = 0; i < 4; i++) {
            uint64_t lsn;
            REQUIRE(append_async(log, "ten bytes.", 0, RPM_MORE, &lsn) == 0);
            wrote.push_back({ "ten bytes.", lsn, 1 });
        }
        REQUIRE(rpm_log_persist(log) == 0);
    }
    damage_record(server, wrote[2].lsn);
    {
        Quiet quiet;
        Log log(conn, "a", RPM_LOG_WRITE); // seals the log at the third record, and appends nothing
    }
    damage_record(server, wrote[2].lsn); // whole again
    rpm_repair_report report = repair(conn, RPM_REPAIR_FROM, 0).report;
    CHECK(report.records == 2);
    CHECK(report.tail_lsn == wrote[2].lsn);
    CHECK(report.epoch == 3);
}

TEST_CASE("repair: where the first record is damaged, the log begins behind it", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    std::vector<Record> wrote = fill(conn);
    uint32_t left = GENERATE(range(0u, RPMI_HEAD_SLOTS)); // the report says where it was

    CAPTURE(left);
    damage_slots(server, 15u & ~(1u << left));
    damage_record(server, wrote[0].lsn);
    rpm_repair_report report = repair(conn, RPM_REPAIR_WRITE).report;
    CHECK(report.done == 1);
    CHECK(report.head_lsn == wrote[1].lsn);
    CHECK(report.lost == 0);
    wrote.erase(wrote.begin());
    Log log(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(log) == wrote);
}

TEST_CASE("repair: a damaged head copy is reported and repaired", "[unit]")
{
    Quiet quiet;
    Server server;
    Conn conn(server, synchronous());
    std::vector<Record> wrote = fill(conn);
    uint32_t slot = GENERATE(range(0u, RPMI_HEAD_SLOTS));

    CAPTURE(slot);
    damage_slots(server, 1u << slot);
    Outcome seen = repair(conn);
    REQUIRE(seen.err == 0);
    CHECK(seen.report.slots[slot].wrong != nullptr);
    CHECK(seen.report.slots[slot ^ 2].wrong == nullptr);
    bool in_force = seen.report.slots[slot ^ 2].turn > seen.report.slots[slot ^ 1].turn;
    // The next head overwrites a damaged copy of the previous head, like one that a power cut tore.
    CHECK(seen.report.state == (in_force ? RPM_REPAIR_SURVIVED : RPM_REPAIR_SOUND));
    CHECK(seen.report.records == wrote.size());
    CHECK(repair(conn, RPM_REPAIR_WRITE).report.done == (in_force ? 1 : 0));
    Log log(conn, "a", 0);
    CHECK(read_all(log) == wrote);
    if (in_force)
        CHECK(repair(conn).report.slots[slot].wrong == nullptr);
}

TEST_CASE("repair: a living writer is fenced only if the caller asks for it", "[unit]")
{
    Quiet quiet;
    Server server;
    Conn mine(server, queued());
    Conn conn(server, queued());
    Log writer(mine, "a", WRITER, LOG_BYTES);

    append(writer, "one");
    damage_slots(server, 15);
    append(writer, "two"); // a repair needs no head
    Outcome refused = repair(conn, RPM_REPAIR_WRITE);
    CHECK(refused.err == RPM_E_OWNED);
    Outcome done = repair(conn, RPM_REPAIR_WRITE | RPM_REPAIR_TAKEOVER);
    CHECK(done.err == 0);
    CHECK(done.report.done == 1);
    CHECK(rpm_log_append(writer, "three", 5, nullptr) == RPM_E_FENCED);
    Log log(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(log).size() == 2);
}

TEST_CASE("repair: a claim word that holds no epoch is no end", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    std::vector<Record> wrote = fill(conn);

    std::memset(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], 0xff, 8);
    CHECK(open_error(conn, RPM_LOG_WRITE) == RPM_E_CORRUPT);
    Outcome done = repair(conn, RPM_REPAIR_WRITE);
    CHECK(done.err == 0);
    CHECK(done.report.state == RPM_REPAIR_NEEDED);
    CHECK(std::string(done.report.why).find("claim word") != std::string::npos);
    CHECK(done.report.done == 1);
    Log log(conn, "a", RPM_LOG_WRITE);
    CHECK(info(log).epoch == 4);
    CHECK(read_all(log) == wrote);
}

TEST_CASE("repair: a repair interrupted anywhere can be repeated", "[unit]")
{
    for (uint64_t call = 1;; call++) {
        Server server;
        Conn conn(server, queued());
        std::vector<Record> wrote = fill(conn, 0);
        bool answer = call % 2 == 0;

        CAPTURE(call);
        damage_slots(server, 15);
        conn.link->faults.lose_call = (call + 1) / 2;
        conn.link->faults.lose_reply = answer;
        Outcome cut = repair(conn, RPM_REPAIR_WRITE);
        if (cut.err == 0) {
            CHECK(call > 6); // at least open, claim and seal
            break;
        }
        CHECK(cut.err == RPM_E_LOST);
        REQUIRE(call < 40);
        conn.link->faults = {};
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        CHECK(repair(conn, RPM_REPAIR_WRITE).err == 0);
        Log log(conn, "a", RPM_LOG_WRITE);
        CHECK(read_all(log) == wrote);
    }
}

TEST_CASE("repair: for any bytes in header and ring, it ends and returns no invented record",
          "[unit]")
{
    Quiet quiet;
    uint32_t repaired = 0;

    for (uint64_t seed : seeds(0, rounds(300))) {
        Server server;
        Conn conn(server, seed % 2 == 0 ? queued() : synchronous());
        std::set<std::string> known = { "more" };
        rpmi_rng rng;

        CAPTURE(seed);
        for (const Record &record : fill(conn, 0))
            known.insert(record.data);
        rpmi_rng_seed(&rng, seed);
        for (uint64_t i = 0; i < 64; i++) {
            bool header = rpmi_rng_below(&rng, 3) != 0;
            uint64_t at = header ? HEADER + rpmi_rng_below(&rng, HEADS + 64)
                                 : RING + rpmi_rng_below(&rng, LOG_BYTES);
            // A bit, a word, or a line of other bytes.
            switch (rpmi_rng_below(&rng, 3)) {
            case 0:
                server.pool.bytes[at] ^= 1u << rpmi_rng_below(&rng, 8);
                break;
            case 1:
                rpmi_store64(&server.pool.bytes[at & ~7ull],
                             rpmi_rng_next(&rng) >> rpmi_rng_below(&rng, 64));
                break;
            default:
                std::memcpy(&server.pool.bytes[at & ~63ull],
                            &server.pool.bytes[RING + (rpmi_rng_below(&rng, LOG_BYTES) & ~63ull)],
                            64);
            }
        }
        Outcome done = repair(conn, RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD);
        INFO(done.text);
        REQUIRE(done.err == 0);
        REQUIRE(done.report.tail_lsn - done.report.head_lsn <= LOG_BYTES);
        repaired += done.report.done;
        CHECK(repair(conn).report.state == RPM_REPAIR_SOUND);
        Log log(conn, "a", RPM_LOG_WRITE);
        CHECK(info(log).records == done.report.records);
        append(log, "more");
        for (const Record &record : read_all(log))
            CHECK(known.count(record.data) == 1);
    }
    CHECK(repaired > rounds(300) * 5 / 6);
}

TEST_CASE("repair: lines that all claim to begin a long record do not hold it up", "[unit]")
{
    // Checking each of them would take half the square of the ring's bytes, by 64: 16384 laps at 2
    // MiB.
    const uint64_t capacity = GENERATE(1u << 20, 2u << 20);
    // A survey to report, and one when no writer can change the ring any more.
    const uint64_t surveys = 2;
    const uint64_t laps = 16; // of a survey, for broken frames; see lib/log/scan.c
    const uint64_t more = 4;  // laps: the frame that ends it, each line, and the log
    const uint64_t bound = surveys * ((laps + more) * capacity +
                                      (laps + more) * RPMI_BOUNCE_BYTES); // read ahead behind each
    Server server(8u << 20);
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, capacity);

    append(log, "one");
    log.close();
    for (uint64_t at = 64; at < capacity - 4096; at += 64) {
        rpmi_frame frame = {};

        frame.lsn = at;
        frame.len = static_cast<uint32_t>(capacity - at - 4096);
        frame.epoch = 1;
        rpmi_store64(&server.pool.bytes[RING + at], at);
        rpmi_store64(&server.pool.bytes[RING + at + 8], rpmi_frame_word(&frame));
    }
    damage_slots(server, 15);
    conn.link->peeks = false; // each frame is read before it is checked, and reads are counted
    uint64_t before = conn.link->stats().read_bytes;
    Outcome done = repair(conn, RPM_REPAIR_WRITE);
    CHECK(done.err == 0);
    CHECK(done.report.records == 1);
    CHECK(conn.link->stats().read_bytes - before > surveys * laps * capacity);
    CHECK(conn.link->stats().read_bytes - before < bound);
}
