// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

std::unique_ptr<rpm_log> ring_at(uint64_t capacity, uint64_t tail, uint32_t large_unit)
{
    auto log = std::make_unique<rpm_log>();

    memset(log.get(), 0, sizeof(*log));
    log->capacity = capacity;
    log->tail_lsn = tail;
    log->position = tail % capacity;
    log->plan.large_unit = large_unit;
    return log;
}

} // namespace

TEST_CASE("ring: a frame is aligned, whole, and led by one pad frame or none", "[unit]")
{
    uint64_t capacity = GENERATE(4096, 8192, 12288);
    uint32_t unit = GENERATE(64, 256);
    uint64_t max = rpmi_ring_record_max(capacity);

    for (uint64_t tail = 7 * capacity; tail < 8 * capacity; tail += 64) {
        for (uint64_t len = 1; len <= max; len += len < 300 ? 1 : 61) {
            auto log = ring_at(capacity, tail, unit);
            rpmi_place place;

            rpmi_ring_place(log.get(), tail, len, &place);
            bool large = unit == 256 && len + 24 > 256;
            bool sound = place.lsn == tail + place.pad && place.lsn % (large ? 256 : 64) == 0 &&
                         place.pad % 64 == 0 && place.stride % (large ? 256 : 64) == 0 &&
                         place.stride >= len + 24 && place.stride < len + 24 + (large ? 256 : 64) &&
                         place.lsn % capacity + place.stride <= capacity &&
                         place.pad + place.stride <= capacity &&
                         (place.flags == RPMI_FRAME_XPLINE) == large;
            if (!sound) {
                CAPTURE(capacity, unit, tail, len, place.lsn, place.pad, place.stride);
                FAIL("not a place");
            }
        }
    }
}

TEST_CASE("ring: ranges cover exactly what lies between two LSNs", "[unit]")
{
    auto log = ring_at(4096, 0, 64);
    rpmi_range ranges[2];

    CHECK(rpmi_ring_ranges(log.get(), 64, 64, ranges) == 0);
    REQUIRE(rpmi_ring_ranges(log.get(), 64, 4096, ranges) == 1);
    CHECK(ranges[0].offset == 4096 + 64);
    CHECK(ranges[0].len == 4096 - 64);
    REQUIRE(rpmi_ring_ranges(log.get(), 4096 * 3 + 4032, 4096 * 4 + 128, ranges) == 2);
    CHECK(ranges[0].offset == 4096 + 4032);
    CHECK(ranges[0].len == 64);
    CHECK(ranges[1].offset == 4096);
    CHECK(ranges[1].len == 128);
    REQUIRE(rpmi_ring_ranges(log.get(), 64, 4096 + 64, ranges) == 2);
    CHECK(ranges[0].len + ranges[1].len == 4096);
}

TEST_CASE("ring: the largest record fits an empty ring wherever its tail is", "[unit]")
{
    CHECK(rpmi_ring_record_max(4096) == 2048 - 24);
    CHECK(rpmi_ring_record_max(64ull << 20) == RPMI_RECORD_MAX);
    CHECK(rpmi_ring_record_max(1ull << 40) == RPMI_RECORD_MAX);
}

namespace
{

constexpr uint64_t LAP_BYTES = 4096;

// A small ring, a model of it, and two readers: a fast one, and a slow one that decides what is
// trimmed.
struct Laps {
    Server server;
    Conn conn;
    Log log;
    rpm_reader *eager = nullptr;
    rpm_reader *lazy = nullptr;
    std::deque<Record> model;
    std::deque<Record> eager_due;
    std::deque<Record> lazy_due;
    rpm_record record;
    bool overtaken = false;

    Laps(const Kind &kind, const rpm_conn_opts &opts)
        : conn(server, kind.setup, &opts), log(conn, "a", WRITER, LAP_BYTES)
    {
        rpm_reader_opts reader_opts = rpm_reader_opts_init();

        REQUIRE(rpm_reader_open(log, nullptr, &eager) == 0);
        reader_opts.buffer_bytes = 4096;
        reader_opts.level = RPM_DURABLE;
        REQUIRE(rpm_reader_open(log, &reader_opts, &lazy) == 0);
    }
    ~Laps()
    {
        rpm_reader_close(&eager);
        rpm_reader_close(&lazy);
    }
    void read_one(rpm_reader *reader, std::deque<Record> &due)
    {
        REQUIRE(!due.empty());
        REQUIRE(rpm_reader_next(reader, &record) == 1);
        REQUIRE(record.lsn == due.front().lsn);
        REQUIRE(std::string(static_cast<const char *>(record.data), record.len) ==
                due.front().data);
        due.pop_front();
    }
    void append(const std::string &data)
    {
        uint64_t lsn = 0;
        int err;

        while ((err = rpm_log_append(log, data.data(), data.size(), &lsn)) == RPM_E_FULL) {
            // Trims everything that the slow reader has read, and nothing else.
            read_one(lazy, lazy_due);
            REQUIRE(rpm_log_trim(log, record.next_lsn) == 0);
            overtaken = overtaken || (!eager_due.empty() && eager_due.front() == model.front());
            model.pop_front();
        }
        REQUIRE(err == 0);
        model.push_back({ data, lsn, 1 });
        eager_due.push_back(model.back());
        lazy_due.push_back(model.back());
    }
    void begin_anew()
    {
        int found = 0;

        // If the same bytes are there as at its last read, it takes a few reads.
        for (int looks = 0; looks < 70 && found == 0; looks++)
            found = rpm_reader_next(eager, &record);
        REQUIRE(found == RPM_E_TRIMMED);
        rpm_reader_close(&eager);
        REQUIRE(rpm_reader_open(log, nullptr, &eager) == 0);
        eager_due = model;
        overtaken = false;
    }
    void follow()
    {
        Freeze freeze;

        while (!eager_due.empty())
            read_one(eager, eager_due);
        REQUIRE(rpm_reader_next(eager, &record) == 0);
    }
};

} // namespace

TEST_CASE("ring: a thousand laps against a model, with readers following", "[unit]")
{
    EACH_KIND(kind);
    Laps laps(kind, conn_opts);
    size_t max = rpm_log_record_max(laps.log);
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 42);
    for (uint64_t i = 0; info(laps.log).tail_lsn < 1000 * LAP_BYTES; i++) {
        {
            std::string data = payload(i, 1 + rpmi_rng_below(&rng, i % 5 == 0 ? max : 300));
            Freeze freeze;

            laps.append(data);
        }
        if (rpmi_rng_below(&rng, 3) == 0)
            continue;
        if (laps.overtaken)
            laps.begin_anew();
        laps.follow();
    }
    std::vector<Record> left(laps.model.begin(), laps.model.end());
    uint64_t tail = info(laps.log).tail_lsn;
    CHECK(read_all(laps.log) == left);
    rpm_reader_close(&laps.eager);
    rpm_reader_close(&laps.lazy);
    laps.log.close();
    Log again(laps.conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(again) == left);
    CHECK(info(again).tail_lsn == tail);
}
