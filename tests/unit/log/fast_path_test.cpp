// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

// One of two connections, of which only one uses the fast path, and which must give equal results.
struct World {
    Server server{ 4u << 20 };
    Conn conn;
    Log log;

    World(bool fast, uint32_t line_bytes)
        : conn(server, with_fast_path(fast, line_bytes)), log(conn, "a", WRITER, 256 << 10)
    {
        CHECK((log.log->fast_path != nullptr) == fast);
    }
};

// Appends singly or as a batch, at random; returns the LSNs and the error.
std::vector<uint64_t> put(World &world, const std::vector<std::string> &payloads)
{
    std::vector<rpm_slice> slices;
    std::vector<uint64_t> lsns(payloads.size(), ~0ull);
    int err;

    for (const std::string &payload : payloads)
        slices.push_back({ payload.data(), payload.size() });
    if (slices.size() == 1)
        err = rpm_log_append(world.log, slices[0].data, slices[0].len, &lsns[0]);
    else
        err = rpm_log_append_batch(world.log, slices.data(), static_cast<uint32_t>(slices.size()),
                                   lsns.data());
    lsns.push_back(static_cast<uint64_t>(static_cast<int64_t>(err)));
    return lsns;
}

size_t random_length(rpmi_rng *rng)
{
    switch (rpmi_rng_below(rng, 8)) {
    case 0:
        return 1 + rpmi_rng_below(rng, 60000);
    case 1:
        return 8192 - 64 + rpmi_rng_below(rng, 128); // offsets at which pieces begin
    default:
        return 1 + rpmi_rng_below(rng, 600);
    }
}

} // namespace

TEST_CASE("fast path: the remote memory is the same as the general path leaves it", "[unit]")
{
    uint32_t line_bytes = GENERATE(64u, 256u);
    World fast(true, line_bytes);
    World plain(false, line_bytes);
    rpmi_rng rng;
    uint64_t laps = 0;
    uint64_t full = 0;

    rpmi_rng_seed(&rng, line_bytes);
    for (uint64_t i = 0; i < rounds(1500); i++) {
        std::vector<std::string> payloads(
            rpmi_rng_chance(&rng, 300000) ? 1 + rpmi_rng_below(&rng, 12) : 1);

        for (std::string &each : payloads)
            each = payload(i, random_length(&rng));
        std::vector<uint64_t> got = put(fast, payloads);

        CAPTURE(line_bytes, i, payloads.size());
        REQUIRE(got == put(plain, payloads));
        if (got.back() != 0) {
            REQUIRE(static_cast<int64_t>(got.back()) == RPM_E_FULL);
            REQUIRE(rpm_log_trim(fast.log, info(fast.log).tail_lsn) == 0);
            REQUIRE(rpm_log_trim(plain.log, info(plain.log).tail_lsn) == 0);
            full++;
        }
        REQUIRE((fast.server.pool.bytes == plain.server.pool.bytes));
        REQUIRE((fast.server.pool.kept == plain.server.pool.kept));
        laps = info(fast.log).tail_lsn / (256 << 10);
    }
    CHECK(laps > (kSlow ? 0 : 10));
    CHECK(full > (kSlow ? 0 : 10));
    CHECK(fast.conn.link->ops < plain.conn.link->ops / 2); // the fast path was used for all of it
}

TEST_CASE("fast path: it is not used while another operation is outstanding", "[unit]")
{
    World world(true, 64);
    std::vector<rpm_completion> done;

    REQUIRE(append_async(world.log, payload(1, 100), 7) == 0);
    uint64_t blocking = append(world.log, payload(2, 100));
    CHECK(blocking == 128);
    CHECK(reinterpret_cast<uintptr_t>(reap(world.log, 1).at(0).context) == 7);
    CHECK(append(world.log, payload(3, 100)) == 256);
    CHECK(read_all(world.log).size() == 3);
}

TEST_CASE("fast path: a fenced writer gets RPM_E_FENCED and stores nothing", "[unit]")
{
    World world(true, 64);
    Conn other(world.server, with_fast_path(true, 64));
    uint64_t lsn = 77;

    append(world.log, payload(1, 100));
    Log newer(other, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    std::vector<unsigned char> before = world.server.pool.bytes;

    CHECK(rpm_log_append(world.log, "x", 1, &lsn) == RPM_E_FENCED);
    CHECK(lsn == 77);
    CHECK((world.server.pool.bytes == before));
    CHECK(append(newer, payload(2, 100)) == 128);
}

TEST_CASE("fast path: only a reader that reads at the tail repeatedly counts as following",
          "[unit]")
{
    World world(true, 64);
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;

    for (uint64_t i = 0; i < 200; i++)
        append(world.log, payload(i, 100));
    CHECK(read_all(world.log).size() == 200);
    CHECK(world.conn.link->follows == 0);
    REQUIRE(rpm_reader_open(world.log, &opts, &reader) == 0);
    while (rpm_reader_next(reader, &record) == 1)
        continue;
    for (int i = 0; i < 159; i++)
        REQUIRE(rpm_reader_next(reader, &record) == 0);
    CHECK(world.conn.link->follows == 10);
    rpm_reader_close(&reader);
}

TEST_CASE("fast path: without H4 it is entered for cached stores", "[unit]")
{
    World fast(true, 64);

    put(fast, { "with" });
    CHECK_FALSE(fast.conn.link->fast_cached);
    fast.log.log->plan.write_flags |= RPMI_OP_CACHED;
    put(fast, { "without" });
    CHECK(fast.conn.link->fast_cached);
}
