// SPDX-License-Identifier: BSD-3-Clause
// compare_test.cpp: lists with COMPAREs, on every transport: the result is that of memcmp() over
// the bytes that READs return, also while another client writes, and a client gets a word.
#include "conform/fixture.h"

extern "C" {
#include "wire/steps.h"
}
#include <librpm.h>

#include <algorithm>
#include <atomic>

using namespace conform;

namespace
{

const uint64_t COMPARED = 300000;

// Two regions with the same bytes, which differ from block to block.
struct Compared : Connected {
    rpm_region *rows = nullptr;
    rpm_region *copy = nullptr;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(COMPARED);

    explicit Compared(Server *server, const std::string &wrap = "") : Connected(server, wrap)
    {
        rpm_region_opts region = rpm_region_opts_init();

        region.flags = RPM_REGION_CREATE;
        region.bytes = COMPARED;
        REQUIRE(rpm_region_open(conn, server->name("rows").c_str(), &region, &rows) == 0);
        REQUIRE(rpm_region_open(conn, server->name("copy").c_str(), &region, &copy) == 0);
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<unsigned char>(3 + i * 7 + i / 251);
    }
    ~Compared()
    {
        rpm_region_close(&rows);
        rpm_region_close(&copy);
    }
    void fill() const
    {
        for (uint64_t at = 0; at < COMPARED; at += 50000) {
            REQUIRE(rpm_region_write(rows, at, &bytes[at], 50000) == 0);
            REQUIRE(rpm_region_write(copy, at, &bytes[at], 50000) == 0);
        }
    }
    void spoil(uint64_t at) const
    {
        unsigned char byte = static_cast<unsigned char>(bytes[at] + 1);

        REQUIRE(rpm_region_write(copy, at, &byte, 1) == 0);
    }
    rpm_step compare(uint64_t offset, uint64_t len, uint64_t *into) const
    {
        rpm_step made = {};

        made.kind = RPM_STEP_COMPARE;
        made.region = rows;
        made.other = copy;
        made.offset = made.other_offset = offset;
        made.len = len;
        made.into = into;
        return made;
    }
};

#define ON_EACH_COMPARED()                                                                         \
    std::string where = GENERATE(from_range(servers()));                                           \
    std::string wrap = GENERATE(from_range(wraps()));                                              \
    CAPTURE(where, wrap);                                                                          \
    std::unique_ptr<Server> server = start_server(where);                                          \
    Compared client(server.get(), wrap)

} // namespace

TEST_CASE("compare: many ranges of a list, each with its first difference", "[conform]")
{
    ON_EACH_COMPARED();
    uint64_t same[RPM_STEPS_MAX] = {};
    rpm_step steps[RPM_STEPS_MAX];
    uint32_t done = 0;

    client.fill();
    for (uint64_t at = 500; at < COMPARED; at += 9001)
        client.spoil(at);
    for (uint32_t i = 0; i < RPM_STEPS_MAX; i++)
        steps[i] = client.compare(i * 4099u, 1 + i * 97u, &same[i]);
    REQUIRE(rpm_steps_run(client.rows, steps, RPM_STEPS_MAX, &done) == 0);
    CHECK(done == RPM_STEPS_MAX);
    for (uint32_t i = 0; i < RPM_STEPS_MAX; i++) {
        uint64_t first = i * 4099u;
        uint64_t spoilt = first <= 500 ? 500 : 500 + (first - 500 + 9000) / 9001 * 9001;

        CAPTURE(i);
        CHECK(same[i] == std::min<uint64_t>(1 + i * 97u, spoilt - first));
    }
}

TEST_CASE("compare: a client gets a word for 2 x 300000 bytes, also without waiting", "[conform]")
{
    ON_EACH_COMPARED();
    uint64_t same = 0;
    rpm_step step = client.compare(0, COMPARED, &same);
    rpm_completion completion = {};
    int n = 0;

    REQUIRE((rpmi_conn_link(client.conn)->flags & RPMI_LINK_COMPARE) != 0);
    client.fill();
    client.spoil(COMPARED - 1);
    struct rpm_conn_stats before = client.stats();
    REQUIRE(rpm_steps_async(client.rows, &step, 1, nullptr) == 0);
    for (uint64_t end = client.now() + PATIENCE; n == 0 && client.now() < end;)
        n = rpm_region_poll(client.rows, &completion, 1);
    REQUIRE(n == 1);
    CHECK(completion.status == 0);
    CHECK(completion.lsn == 1);
    CHECK(same == COMPARED - 1);
    struct rpm_conn_stats after = client.stats();
    CHECK(after.steps == before.steps + 1);
    CHECK(after.read_bytes == before.read_bytes);
    CHECK(after.received_bytes - before.received_bytes < 100);
}

TEST_CASE("compare: while another client writes, ranges are equal or differ where it writes",
          "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    if (where.compare(0, 4, "sim ") == 0)
        return; // the model has one thread
    std::unique_ptr<Server> server = start_server(where);
    Compared client(server.get());
    Compared other(server.get());
    std::atomic<bool> stop{ false };
    uint64_t same = 0;
    uint64_t wrong = 0;
    uint32_t done = 0;
    int err = 0;
    int failed = 0;
    rpm_step step = client.compare(8192, 4096, &same);

    client.fill();
    std::thread thread([&] { // bytes 1000 to 1099 of the range
        std::vector<unsigned char> changed(100);

        for (int i = 1; !stop && err == 0; i = 1 - i) {
            for (size_t k = 0; k < changed.size(); k++)
                changed[k] = static_cast<unsigned char>(client.bytes[9192 + k] + i);
            err = rpm_region_write(other.copy, 9192, changed.data(), changed.size());
        }
    });
    for (int i = 0; i < 300 && failed == 0; i++) {
        failed = rpm_steps_run(client.rows, &step, 1, &done);
        wrong += same != 4096 && (same < 1000 || same >= 1100);
    }
    stop = true;
    thread.join();
    CHECK(err == 0);
    CHECK(failed == 0);
    CHECK(wrong == 0);
    REQUIRE(rpm_region_write(other.copy, 9192, &client.bytes[9192], 100) == 0);
    REQUIRE(rpm_steps_run(client.rows, &step, 1, &done) == 0);
    CHECK(same == 4096); // compared again, with no writer
}

TEST_CASE("compare: a range that the client may not read fails the list", "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    struct {
        const char *what;
        uint32_t wrong_key;
        uint32_t wrong_other;
        uint64_t offset;
        uint64_t other_offset;
        uint64_t range;
        int err;
    } rows[] = {
        { "the whole region", 0, 0, 0, 0, REGION, 0 },
        { "behind the end", 0, 0, REGION - 10, 0, 11, RPM_E_RANGE },
        { "the other behind the end", 0, 0, 0, REGION - 10, 11, RPM_E_RANGE },
        { "behind all", 0, 0, UINT64_MAX, 0, 2, RPM_E_RANGE },
        { "the other behind all", 0, 0, 0, UINT64_MAX, 2, RPM_E_RANGE },
        { "more than the region", 0, 0, 0, 0, RPMI_SUM_BYTES_MAX / 2, RPM_E_RANGE },
        { "of no key", 77, 0, 0, 0, 8, RPM_E_DENIED },
        { "the other of no key", 0, 77, 0, 0, 8, RPM_E_DENIED },
    };

    for (const auto &row : rows) {
        Context context({ where, "" }); // a refused list may have ended the link
        rpmi_step compare = {};

        CAPTURE(row.what);
        compare.kind = RPMI_STEP_COMPARE;
        compare.len = sizeof(uint64_t);
        compare.key = row.wrong_key != 0 ? row.wrong_key : context.region;
        compare.offset = row.offset;
        compare.other_key = row.wrong_other != 0 ? row.wrong_other : context.region;
        compare.other_offset = row.other_offset;
        compare.range = row.range;
        CHECK(context.exec_behind_atomic(compare) == row.err);
    }
}
