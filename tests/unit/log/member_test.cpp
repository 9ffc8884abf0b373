// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/member.h"
#include "wire/guard.h"
}

using namespace loop;

namespace
{

const uint64_t FIRST = 640;
const uint32_t BOTH = RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS;

rpmi_member sample(uint32_t epoch = 5)
{
    return { 0x77, FIRST, epoch, { 3, 2, 1, 99 } };
}

// A log that a client of its own has open as a member.
struct Member {
    Conn conn;
    Log log;

    Member(Server &server, const Kind &kind, const rpm_conn_opts *opts)
        : conn(server, kind.setup, opts)
    {
    }
    int open(const rpmi_member &member = sample(), uint32_t flags = WRITER)
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = flags;
        opts.capacity_bytes = 8192;
        return rpmi_member_open(conn, "copy", &opts, &member, &log.log);
    }
    // To the tail that a scan finds.
    int take(uint32_t epoch, uint32_t flags = 0)
    {
        rpmi_scan_report report = {};
        int err = rpmi_member_claim(log, epoch, flags);

        if (err == 0)
            err = rpmi_log_scan(log, log.log->head.trim_lsn, nullptr, nullptr, &report);
        return err != 0 ? err : rpmi_member_seal(log, report.end_lsn);
    }
    int again()
    {
        int err = rpm_conn_reconnect(conn);

        return err != 0 ? err : rpmi_member_attach(log);
    }
    uint64_t commit() const
    {
        uint64_t lsn = 99;

        REQUIRE(rpmi_member_committed(log, &lsn) == 0);
        return lsn;
    }
};

std::vector<std::string> data_of(rpm_log *log)
{
    std::vector<std::string> all;

    for (const Record &record : read_all(log))
        all.push_back(record.data);
    return all;
}

using Strings = std::vector<std::string>;

// A whole frame, as a copy from another member writes it; it may lie in another lap.
void plant(Server &server, uint64_t lsn, uint32_t epoch, uint64_t log_id = 0x77,
           uint64_t capacity = 8192)
{
    const char data[] = "copied";
    rpmi_frame frame = {};
    unsigned char *at = &server.pool.bytes[RING + lsn % capacity];

    frame.lsn = lsn;
    frame.len = sizeof(data);
    frame.epoch = epoch;
    frame.lag = 1;
    rpmi_frame_put(at, &frame, log_id, data);
    memcpy(at + RPMI_FRAME_HEADER_BYTES, data, sizeof(data));
}

// What a scan, a new reader and rpm_log_info() say of the log: its records, or "RPM_E_CORRUPT".
Strings verdicts(rpm_log *log)
{
    struct rpm_log_info seen = rpm_log_info_init();
    rpmi_scan_report report = {};
    rpm_record record;
    Strings all;

    REQUIRE(rpmi_log_head(log) == 0);
    int err = rpmi_log_scan(log, log->head.trim_lsn, nullptr, nullptr, &report);
    all.push_back(err == 0 ? std::to_string(report.records) : rpm_error_name(err));
    err = rpm_log_info(log, &seen);
    all.push_back(err == 0 ? std::to_string(seen.records) : rpm_error_name(err));
    std::unique_ptr<rpm_reader, void (*)(rpm_reader *)> closes(
        nullptr, [](rpm_reader *reader) { rpm_reader_close(&reader); });
    rpm_reader *reader = nullptr;
    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    closes.reset(reader);
    int n = 0;
    while ((err = rpm_reader_next(reader, &record)) == 1)
        n++;
    all.push_back(err == 0 ? std::to_string(n) : rpm_error_name(err));
    return all;
}

const Strings TWO = { "2", "2", "2" };
const Strings DAMAGED = { "RPM_E_CORRUPT", "RPM_E_CORRUPT", "RPM_E_CORRUPT" };

} // namespace

TEST_CASE("member: a log begins as its set says, and is written once its epoch is sealed", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Member member(server, kind, &conn_opts);

    REQUIRE(member.open() == 0);
    CHECK(member.log.log->lasts == BOTH);
    CHECK(member.log.log->head.trim_lsn == FIRST);
    CHECK(member.log.log->head.set.member == 1);
    CHECK(rpm_log_append(member.log, "early", 5, nullptr) == RPM_E_FENCED);
    CHECK(rpmi_member_commit(member.log, FIRST) == RPM_E_FENCED);
    REQUIRE(rpmi_member_claim(member.log, 5, 0) == 0); // by the token of its creation
    CHECK(rpm_log_append(member.log, "early", 5, nullptr) == RPM_E_FENCED);
    for (uint64_t base : { FIRST - 64, FIRST + 1, FIRST + 8192 + 64 })
        CHECK(rpmi_member_seal(member.log, base) == RPM_E_RANGE);
    REQUIRE(rpmi_member_seal(member.log, FIRST) == 0);
    CHECK(append(member.log, "one") == FIRST);
    CHECK(append(member.log, "two") == FIRST + 64);
    CHECK(data_of(member.log) == Strings{ "one", "two" });
    CHECK(info(member.log).epoch == 5);
}

TEST_CASE("member: the commit word is visible, and a later writer's seal lowers it", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);

    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    append(first.log, "one");
    append(first.log, "two");
    CHECK(first.commit() == 0);
    REQUIRE(rpmi_member_commit(first.log, FIRST + 64) == 0);
    CHECK(first.commit() == FIRST + 64);
    REQUIRE(second.open() == 0);
    CHECK(second.commit() == FIRST + 64);
    REQUIRE(rpmi_member_claim(second.log, 6, RPMI_CALL_TAKEOVER) == 0);
    int late = rpmi_member_commit(first.log, FIRST + 128); // its key was ended
    CHECK((late == RPM_E_FENCED || late == RPM_E_LOST));
    CHECK(second.commit() == FIRST + 64);
    REQUIRE(rpmi_member_seal(second.log, FIRST) == 0); // both records are given up
    CHECK(second.commit() == FIRST);
    CHECK(append(second.log, "other") == FIRST);
    CHECK(data_of(second.log) == Strings{ "other" });
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(second.again() == 0);
    CHECK(second.commit() == FIRST);
}

TEST_CASE("member: its writer comes back with its own epoch, and goes on where it was", "[unit]")
{
    EACH_KIND(kind);
    bool power = GENERATE(false, true);
    Server server;
    Member member(server, kind, &conn_opts);

    CAPTURE(power);
    REQUIRE(member.open() == 0);
    REQUIRE(member.take(5) == 0);
    append(member.log, "one");
    append(member.log, "two");
    uint64_t turn = member.log.log->head.turn;
    if (power)
        server.power_cut();
    else
        server.stop();
    REQUIRE(server.start() == 0);
    CHECK(rpm_log_append(member.log, "lost", 4, nullptr) < 0);
    REQUIRE(member.again() == 0);
    CHECK(member.log.log->lasts == (power ? 0 : RPMI_REPLY_BOOT_LASTS));
    CHECK(rpm_log_append(member.log, "early", 5, nullptr) == RPM_E_FENCED);
    REQUIRE(member.take(5) == 0);
    CHECK(append(member.log, "three") == FIRST + 128);
    CHECK(data_of(member.log) == Strings{ "one", "two", "three" });
    REQUIRE(rpmi_log_head(member.log) == 0);
    CHECK(member.log.log->head.turn == turn); // its epoch was sealed already
    // On a link that lives as well: a pause of its own, with appends outstanding.
    REQUIRE(append_async(member.log, "four", 4) == 0);
    REQUIRE(member.take(6) == 0);
    CHECK(append(member.log, "five") > FIRST + 128);
    Strings all = data_of(member.log);
    CHECK(all.back() == "five");
    CHECK((all.size() == 4 || all.size() == 5));
    REQUIRE(member.take(6) == 0);
    CHECK(data_of(member.log) == all);
}

TEST_CASE("member: what a seal finds is durable before it counts as acknowledged", "[unit]")
{
    EACH_KIND(kind);
    bool same = GENERATE(true, false); // the same writer, with its own epoch, or another one
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);
    Member &next = same ? first : second;
    uint32_t epoch = same ? 5 : 6;

    CAPTURE(same);
    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    append(first.log, "one");
    // As if the connection had been lost before the flush of this record.
    memset(&server.pool.kept[RING + FIRST], 0, 64);
    rpm_conn_drop(first.conn);
    if (same)
        REQUIRE(first.again() == 0);
    else
        REQUIRE(second.open() == 0);
    REQUIRE(next.take(epoch, same ? 0 : RPMI_CALL_TAKEOVER) == 0);
    CHECK(append(next.log, "two") == FIRST + 64);
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(next.again() == 0);
    REQUIRE(next.take(epoch) == 0);
    CHECK(data_of(next.log) == Strings{ "one", "two" });
}

TEST_CASE("member: before its seal it is trimmed to any LSN, whatever its ring has", "[unit]")
{
    EACH_KIND(kind);
    const uint64_t far = FIRST + 3 * 8192 + 192;
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);

    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    for (uint64_t i = 0; i < 70; i++) {
        uint64_t lsn = append(first.log, payload(i, 100));

        if (i >= 40)
            REQUIRE(rpm_log_trim(first.log, lsn - 40 * 128) == 0);
    }
    CHECK(rpm_log_trim(first.log, far) == RPM_E_RANGE); // beyond its tail
    REQUIRE(second.open() == 0);
    REQUIRE(rpmi_member_claim(second.log, 6, RPMI_CALL_TAKEOVER) == 0);
    uint64_t head = second.log.log->head.trim_lsn;
    for (uint64_t bad : { far + 8, uint64_t(1) << 63, UINT64_MAX }) {
        CHECK(rpmi_member_trim(second.log, bad) == RPM_E_RANGE);
        CHECK(std::string(rpm_last_error()).find("expected is a multiple of 64") !=
              std::string::npos);
    }
    REQUIRE(rpmi_member_trim(second.log, far) == 0);
    CHECK(head < far);
    CHECK(second.log.log->head.trim_lsn == far);
    REQUIRE(rpmi_member_trim(second.log, head) == 0); // a lower one changes nothing
    CHECK(second.log.log->head.trim_lsn == far);
    REQUIRE(second.take(6) == 0); // to the tail, which is where it begins
    CHECK(info(second.log).head_lsn == far);
    CHECK(append(second.log, "one") == far);
    CHECK(rpm_log_trim(second.log, far + 4 * 8192) == RPM_E_RANGE);
    CHECK(data_of(second.log) == Strings{ "one" });
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(second.again() == 0);
    REQUIRE(second.take(6) == 0);
    CHECK(data_of(second.log) == Strings{ "one" });
    // Of an epoch that is sealed, records may follow: it is trimmed by a ring at most.
    REQUIRE(rpmi_member_claim(second.log, 6, 0) == 0);
    CHECK(rpmi_member_trim(second.log, far + 8192 + 64) == RPM_E_RANGE);
    REQUIRE(rpmi_member_trim(second.log, far + 64) == 0);
    REQUIRE(rpmi_member_seal(second.log, far + 64) == 0);
    CHECK(append(second.log, "two") == far + 64);
}

TEST_CASE("member: a server that trims to no LSN that was asked for is not believed", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Member member(server, kind, &conn_opts);

    REQUIRE(member.open() == 0);
    for (uint64_t lie : { FIRST, FIRST + 64 + 8, uint64_t(1) << 63 }) {
        REQUIRE(rpmi_member_claim(member.log, 5, 0) == 0);
        member.conn.link->on_reply = [&](const rpmi_call &call, rpmi_reply &reply) {
            if (call.kind == RPMI_CALL_TRIM)
                reply.value = lie;
        };
        CHECK(rpmi_member_trim(member.log, FIRST + 64) == RPM_E_PROTO);
        member.conn.link->on_reply = nullptr;
    }
    REQUIRE(member.take(5) == 0);
    CHECK(append(member.log, "one") == FIRST + 64);
}

TEST_CASE("member: after another writer's claim, a token or lower epoch is refused", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);

    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    append(first.log, "one");
    REQUIRE(second.open() == 0);
    CHECK(second.take(5) == RPM_E_FENCED); // the token is the first one's
    CHECK(second.take(6) == RPM_E_OWNED);
    REQUIRE(second.take(6, RPMI_CALL_TAKEOVER) == 0);
    append(second.log, "two");
    server.stop();
    REQUIRE(server.start() == 0);
    REQUIRE(first.again() == 0);
    CHECK(first.take(5) == RPM_E_FENCED);
    CHECK(first.take(6) == RPM_E_FENCED);
    REQUIRE(second.again() == 0);
    REQUIRE(second.take(6) == 0);
    append(second.log, "three");
    CHECK(data_of(second.log) == Strings{ "one", "two", "three" });
    REQUIRE(first.take(7, RPMI_CALL_TAKEOVER) == 0);
    append(first.log, "four");
    CHECK(data_of(first.log) == Strings{ "one", "two", "three", "four" });
}

TEST_CASE("member: a log of another set is refused, and one of no set by its id", "[unit]")
{
    Server server;
    Kind kind = kinds().front();
    Member member(server, kind, nullptr);
    rpmi_member other = sample();

    CHECK(member.open(sample(), RPM_LOG_WRITE) == RPM_E_NOENT);
    {
        Member creator(server, kind, nullptr);

        REQUIRE(creator.open() == 0);
    }
    other.set.acks = 3;
    CHECK(member.open(other) == RPM_E_EXISTS);
    other = sample();
    other.log_id++;
    CHECK(member.open(other) == RPM_E_EXISTS);
    other = sample();
    other.first_lsn = FIRST + 64; // counts only when it is created
    REQUIRE(member.open(other) == 0);
    CHECK(member.log.log->head.trim_lsn == FIRST);
    member.log.close();
    // A program's own writer is not kept from it: the members are the set's to guard.
    Log single(member.conn, "copy", RPM_LOG_WRITE);
    append(single, "one");
    CHECK(info(single).epoch == 6);
}

TEST_CASE("member: frames of a copy that was never sealed are no part of it, and no damage",
          "[unit]")
{
    EACH_KIND(kind);
    bool torn = GENERATE(false, true);
    const uint64_t tail = FIRST + 128;
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);

    CAPTURE(torn);
    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    append(first.log, "one");
    append(first.log, "two");
    REQUIRE(second.open() == 0);
    REQUIRE(rpmi_member_claim(second.log, 9, RPMI_CALL_TAKEOVER) == 0);
    for (uint64_t lsn = tail; lsn < FIRST + 8192; lsn += 64)
        plant(server, lsn, 6 + (lsn - tail) / 4096);
    if (torn)
        server.pool.bytes[RING + tail + 26] ^= 1;
    uint64_t reads = second.conn.link->stats().reads;
    CHECK(verdicts(second.log) == TWO);
    CHECK(second.conn.link->stats().reads - reads < 60); // not some for each frame
    Log reading(first.conn, "copy", 0);
    CHECK(verdicts(reading) == TWO);
    rpm_repair_opts opts = rpm_repair_opts_init();
    rpm_repair_report report = rpm_repair_report_init();
    REQUIRE(rpm_log_repair(first.conn, "copy", &opts, &report) == 0);
    CHECK(report.state == RPM_REPAIR_SOUND);
    CHECK(report.tail_lsn == tail);
    CHECK(report.records == 2);
    CHECK(report.lost == 0);
    // The writer dies; the next one seals there, and appends.
    REQUIRE(first.again() == 0);
    REQUIRE(first.take(10, RPMI_CALL_TAKEOVER) == 0);
    CHECK(append(first.log, "three") == tail);
    CHECK(data_of(first.log) == Strings{ "one", "two", "three" });
}

TEST_CASE("member: a frame that no copy can have left is damage, as in a log of no set", "[unit]")
{
    EACH_KIND(kind);
    const uint64_t tail = FIRST + 128;
    Server server;
    Member first(server, kind, &conn_opts);
    Member second(server, kind, &conn_opts);

    REQUIRE(first.open() == 0);
    REQUIRE(first.take(5) == 0);
    append(first.log, "one");
    append(first.log, "two");
    plant(server, tail, 6);
    Log reading(first.conn, "copy", 0);
    CHECK(verdicts(reading) == DAMAGED); // no claim was made since its seal
    REQUIRE(second.open() == 0);
    REQUIRE(rpmi_member_claim(second.log, 9, RPMI_CALL_TAKEOVER) == 0);
    CHECK(verdicts(second.log) == TWO);
    for (uint32_t epoch : { 9u, 10u }) { // a claim's own frames come behind its seal
        plant(server, tail, epoch);
        CHECK(verdicts(second.log) == DAMAGED);
        plant(server, tail, 6);
        plant(server, tail + 64, epoch);
        CHECK(verdicts(second.log) == DAMAGED);
        plant(server, tail + 64, 6);
    }
    plant(server, tail + 8192, 6); // a trim of the head comes before a copy
    CHECK(verdicts(second.log) == DAMAGED);
    plant(server, tail, 6);
    rpmi_store64(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], UINT64_MAX); // no epoch
    CHECK(verdicts(second.log) == DAMAGED);
}

TEST_CASE("member: in a log of no set a frame above its head is damage, whatever was claimed",
          "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    Log claiming(other, "a", 0);
    Log reading(other, "a", 0);

    append(log, "one");
    append(log, "two");
    REQUIRE(rpmi_log_claim_epoch(claiming, 9, RPMI_CALL_TAKEOVER) == 0);
    CHECK(verdicts(reading) == TWO);
    plant(server, 128, 6, reading.log->log_id);
    CHECK(verdicts(reading) == DAMAGED);
}

TEST_CASE("member: bytes of frames are stored before the seal, and are records behind it", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Server other;
    uint32_t epoch = 99;

    rpm_conn_opts opts = with_method(kind.method);
    Member from(server, kind, &opts);
    Member to(other, kind, &opts);

    for (Member *member : { &from, &to }) {
        REQUIRE(member->open() == 0);
        REQUIRE(rpmi_member_claimed(member->log, &epoch) == 0);
        CHECK(epoch == 5); // of its creation
    }
    REQUIRE(from.take(6) == 0);
    append(from.log, "one");
    append(from.log, payload(1, 1000));
    uint64_t len = from.log.log->tail_lsn - FIRST;

    REQUIRE(rpmi_member_claim(to.log, 7, 0) == 0);
    REQUIRE(rpmi_member_claimed(to.log, &epoch) == 0);
    CHECK(epoch == 7);
    REQUIRE(rpmi_conn_read(from.conn, from.log.log->read_key, RPMI_LOG_HEADER_BYTES + FIRST,
                           to.conn.conn->bounce, len) == 0);
    REQUIRE(rpmi_member_store(to.log, FIRST, len) == 0);
    REQUIRE(rpmi_member_seal(to.log, FIRST + len) == 0);
    CHECK(data_of(to.log) == data_of(from.log));
    append(to.log, "two");
    CHECK(data_of(to.log).size() == 3);
    memset(&other.pool.bytes[HEADER + RPMI_GUARD_OFFSET], 0xff, 8);
    CHECK(rpmi_member_claimed(to.log, &epoch) == RPM_E_CORRUPT);
}
