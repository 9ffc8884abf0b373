// SPDX-License-Identifier: BSD-3-Clause
// sum_test.cpp: lists with SUMs, on every transport: the value is that of libxxhash over the bytes
// that a READ returns, also while another client writes, and a client gets a word for each range.
#include "conform/fixture.h"

extern "C" {
#include "base/sum.h"
#include "wire/steps.h"
}
#include <librpm.h>

#include <atomic>

using namespace conform;

namespace
{

const uint64_t SUMMED = 300000;

struct Summed : Connected {
    rpm_region *rows = nullptr;

    explicit Summed(Server *server, const std::string &wrap = "") : Connected(server, wrap)
    {
        rpm_region_opts region = rpm_region_opts_init();

        region.flags = RPM_REGION_CREATE;
        region.bytes = SUMMED;
        REQUIRE(rpm_region_open(conn, server->name("summed").c_str(), &region, &rows) == 0);
    }
    ~Summed()
    {
        rpm_region_close(&rows);
    }
    rpm_step sum(uint64_t offset, uint64_t len, uint64_t seed, uint64_t *into) const
    {
        rpm_step made = {};

        made.kind = RPM_STEP_SUM;
        made.region = rows;
        made.offset = offset;
        made.len = len;
        made.operand = seed;
        made.into = into;
        return made;
    }
};

// Bytes that differ from block to block.
std::vector<unsigned char> mixed(uint64_t bytes, unsigned first)
{
    std::vector<unsigned char> all(bytes);

    for (size_t i = 0; i < all.size(); i++)
        all[i] = static_cast<unsigned char>(first + i * 7 + i / 251);
    return all;
}

#define ON_EACH_SUMMED()                                                                           \
    std::string where = GENERATE(from_range(servers()));                                           \
    std::string wrap = GENERATE(from_range(wraps()));                                              \
    CAPTURE(where, wrap);                                                                          \
    std::unique_ptr<Server> server = start_server(where);                                          \
    Summed client(server.get(), wrap)

} // namespace

TEST_CASE("sum: many ranges of a list, each with its seed", "[conform]")
{
    ON_EACH_SUMMED();
    std::vector<unsigned char> bytes = mixed(SUMMED, 3);
    uint64_t sums[RPM_STEPS_MAX] = {};
    rpm_step steps[RPM_STEPS_MAX];
    uint32_t done = 0;

    for (uint64_t at = 0; at < SUMMED; at += 50000)
        REQUIRE(rpm_region_write(client.rows, at, &bytes[at], 50000) == 0);
    for (uint32_t i = 0; i < RPM_STEPS_MAX; i++)
        steps[i] = client.sum(i * 4099u, 1 + i * 197u, i, &sums[i]);
    REQUIRE(rpm_steps_run(client.rows, steps, RPM_STEPS_MAX, &done) == 0);
    CHECK(done == RPM_STEPS_MAX);
    for (uint32_t i = 0; i < RPM_STEPS_MAX; i++) {
        CAPTURE(i);
        CHECK(sums[i] == XXH3_64bits_withSeed(&bytes[i * 4099u], 1 + i * 197u, i));
    }
}

TEST_CASE("sum: a client gets a word for 300000 bytes, also without waiting", "[conform]")
{
    ON_EACH_SUMMED();
    std::vector<unsigned char> bytes = mixed(SUMMED, 5);
    uint64_t sum = 0;
    rpm_step step = client.sum(0, SUMMED, 9, &sum);
    rpm_completion completion = {};
    int n = 0;

    REQUIRE((rpmi_conn_link(client.conn)->flags & RPMI_LINK_SUM) != 0);
    for (uint64_t at = 0; at < SUMMED; at += 50000)
        REQUIRE(rpm_region_write(client.rows, at, &bytes[at], 50000) == 0);
    struct rpm_conn_stats before = client.stats();
    REQUIRE(rpm_steps_async(client.rows, &step, 1, nullptr) == 0);
    for (uint64_t end = client.now() + PATIENCE; n == 0 && client.now() < end;)
        n = rpm_region_poll(client.rows, &completion, 1);
    REQUIRE(n == 1);
    CHECK(completion.status == 0);
    CHECK(completion.lsn == 1);
    CHECK(sum == XXH3_64bits_withSeed(bytes.data(), SUMMED, 9));
    struct rpm_conn_stats after = client.stats();
    CHECK(after.steps == before.steps + 1);
    CHECK(after.read_bytes == before.read_bytes);
    CHECK(after.received_bytes - before.received_bytes < 100);
}

TEST_CASE("sum: more lists at once than a server computes in one go", "[conform]")
{
    ON_EACH_SUMMED();
    std::vector<unsigned char> bytes = mixed(SUMMED, 7);
    const uint32_t lists = 8;
    uint64_t sums[3 * lists] = {};
    rpm_step steps[3 * lists];
    uint32_t sent = 0;
    uint32_t ended = 0;

    for (uint64_t at = 0; at < SUMMED; at += 50000)
        REQUIRE(rpm_region_write(client.rows, at, &bytes[at], 50000) == 0);
    for (uint32_t i = 0; i < 3 * lists; i++)
        steps[i] = client.sum(i, SUMMED - i, i, &sums[i]);
    for (uint64_t end = client.now() + PATIENCE; ended < lists && client.now() < end;) {
        rpm_completion done[lists];

        if (sent < lists) {
            int err = rpm_steps_async(client.rows, &steps[3 * sent], 3, nullptr);

            REQUIRE((err == 0 || err == RPM_E_BUSY));
            sent += err == 0;
        }
        int n = rpm_region_poll(client.rows, done, lists);
        REQUIRE(n >= 0);
        for (int i = 0; i < n; i++)
            CHECK(done[i].status == 0);
        ended += static_cast<uint32_t>(n);
    }
    REQUIRE(ended == lists);
    for (uint32_t i = 0; i < 3 * lists; i++) {
        CAPTURE(i);
        CHECK(sums[i] == XXH3_64bits_withSeed(&bytes[i], SUMMED - i, i));
    }
}

TEST_CASE("sum: while another client writes, a range has one of its states or a mixture",
          "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    if (where.compare(0, 4, "sim ") == 0)
        return; // the model has one thread
    std::unique_ptr<Server> server = start_server(where);
    Summed client(server.get());
    Summed other(server.get());
    std::vector<unsigned char> states[2] = { mixed(4096, 1), mixed(4096, 2) };
    uint64_t expected[2];
    uint64_t sum = 0;
    uint32_t done = 0;
    uint64_t known = 0;
    std::atomic<bool> stop{ false };
    int err = 0;
    rpm_step step = client.sum(8192, 4096, 1, &sum);

    for (int i = 0; i < 2; i++)
        expected[i] = XXH3_64bits_withSeed(states[i].data(), 4096, 1);
    REQUIRE(rpm_region_write(client.rows, 8192, states[0].data(), 4096) == 0);
    std::thread thread([&] {
        for (int i = 1; !stop && err == 0; i = 1 - i)
            err = rpm_region_write(other.rows, 8192, states[i].data(), 4096);
    });
    int failed = 0;
    for (int i = 0; i < 300 && failed == 0; i++) {
        failed = rpm_steps_run(client.rows, &step, 1, &done);
        known += sum == expected[0] || sum == expected[1];
    }
    stop = true;
    thread.join();
    CHECK(err == 0);
    CHECK(failed == 0);
    INFO(known << " of 300 sums were those of a whole state");
    REQUIRE(rpm_region_write(other.rows, 8192, states[1].data(), 4096) == 0);
    REQUIRE(rpm_steps_run(client.rows, &step, 1, &done) == 0);
    CHECK(sum == expected[1]); // judged again, with no writer
}

TEST_CASE("sum: a range that the client may not read fails the list", "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    struct {
        const char *what;
        uint32_t wrong_key;
        uint64_t offset;
        uint64_t range;
        int err;
    } rows[] = {
        { "the whole region", 0, 0, REGION, 0 },
        { "behind the end", 0, REGION - 10, 11, RPM_E_RANGE },
        { "behind all", 0, UINT64_MAX, 2, RPM_E_RANGE },
        { "more than the region", 0, 0, RPMI_SUM_BYTES_MAX, RPM_E_RANGE },
        { "of no key", 77, 0, 8, RPM_E_DENIED },
    };

    for (const auto &row : rows) {
        Context context({ where, "" }); // a refused list may have ended the link
        rpmi_step sum = {};

        CAPTURE(row.what);
        sum.kind = RPMI_STEP_SUM;
        sum.len = sizeof(uint64_t);
        sum.key = row.wrong_key != 0 ? row.wrong_key : context.region;
        sum.offset = row.offset;
        sum.range = row.range;
        CHECK(context.exec_behind_atomic(sum) == row.err);
    }
}
