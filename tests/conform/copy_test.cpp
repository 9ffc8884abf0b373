// SPDX-License-Identifier: BSD-3-Clause
// copy_test.cpp: hint H4 decides which copy routine moves the bytes, both on the client CPU and on
// the server CPU.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "pmem/cpu_copy.h"
}
#include <atomic>
#include <vector>

namespace
{

std::atomic<uint64_t> streamed;
std::atomic<uint64_t> written_back;
struct rpmi_cpu real;

void nt_write(void *dst, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
              size_t len)
{
    streamed++;
    real.nt_write(dst, head, head_bytes, body, body_bytes, len);
}

void back_write(void *dst, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                size_t len)
{
    written_back++;
    real.back_write(dst, head, head_bytes, body, body_bytes, len);
}

void nt_frame(void *dst, const uint64_t head[3], const void *body, size_t body_bytes, size_t len)
{
    streamed++;
    real.nt_frame(dst, head, body, body_bytes, len);
}

void lone_frame(void *dst, const uint64_t head[3], const void *body, size_t body_bytes, size_t len)
{
    streamed++;
    real.lone_frame(dst, head, body, body_bytes, len);
}

// Counts copies by routine while it exists, which must be longer than any server.
struct Spy {
    Spy()
    {
        real = rpmi_cpu;
        rpmi_cpu.nt_write = nt_write;
        rpmi_cpu.back_write = back_write;
        rpmi_cpu.nt_frame = nt_frame;
        rpmi_cpu.lone_frame = lone_frame;
    }
    ~Spy()
    {
        rpmi_cpu = real;
    }
};

struct Client {
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_region *region = nullptr;

    Client(const std::string &url, const char *hints)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();
        rpm_region_opts region_opts = rpm_region_opts_init();

        opts.hints = hints;
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 1 << 20;
        region_opts.flags = RPM_REGION_CREATE;
        region_opts.bytes = 64 << 10;
        REQUIRE(rpm_conn_open(url.c_str(), &opts, &conn) == 0);
        REQUIRE(rpm_log_open(conn, "log", &log_opts, &log) == 0);
        REQUIRE(rpm_region_open(conn, "region", &region_opts, &region) == 0);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_region_close(&region);
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
};

std::string bytes(size_t n)
{
    std::string text(n, '\0');

    for (size_t i = 0; i < n; i++)
        text[i] = static_cast<char>(i * 7 + n);
    return text;
}

// Checks that the last @n records are these.
void reads_back(rpm_conn *conn, const std::vector<std::string> &want)
{
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    rpm_record record;

    REQUIRE(rpm_log_open(conn, "log", nullptr, &log) == 0);
    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    for (const std::string &each : want) {
        REQUIRE(rpm_reader_next(reader, &record) == 1);
        CHECK(std::string(static_cast<const char *>(record.data), record.len) == each);
    }
    rpm_reader_close(&reader);
    rpm_log_close(&log);
}

// Since the last call only the routine that H4 asks for was used.
void only(bool streams)
{
    uint64_t past = streamed.exchange(0);
    uint64_t back = written_back.exchange(0);

    CHECK((past > 0) == streams);
    CHECK((back > 0) == !streams);
}

} // namespace

TEST_CASE("copy: H4 picks how bytes leave the caches, and they arrive either way", "[conform]")
{
    Spy spy;
    std::string mode = GENERATE("direct", "ring");
    bool streams = GENERATE(true, false);
    support::Server server;
    Client client(server.url(mode), streams ? "all" : "-H4");
    std::vector<std::string> records = { bytes(40), bytes(20000), bytes(300), bytes(1) };
    rpm_slice batch[2] = { { records[2].data(), records[2].size() },
                           { records[3].data(), records[3].size() } };
    std::string stored(5000, '\0');

    CAPTURE(mode, streams);
    streamed = 0;
    written_back = 0;
    REQUIRE(rpm_log_append(client.log, records[0].data(), 40, nullptr) == 0);
    only(streams);
    REQUIRE(rpm_log_append(client.log, records[1].data(), 20000, nullptr) == 0);
    only(streams);
    REQUIRE(rpm_log_append_batch(client.log, batch, 2, nullptr) == 0);
    only(streams);
    REQUIRE(rpm_region_write(client.region, 100, records[1].data(), 5000) == 0);
    only(streams);
    reads_back(client.conn, records);
    REQUIRE(rpm_region_read(client.region, 100, &stored[0], 5000) == 0);
    CHECK(stored == records[1].substr(0, 5000));
}

TEST_CASE("copy: outside ADR nothing leaves the caches, whatever H4 says", "[conform]")
{
    Spy spy;
    support::ServerOpts opts;
    std::string mode = GENERATE("direct", "ring");

    opts.domain = RPM_DOMAIN_EADR;
    support::Server server(opts);
    Client client(server.url(mode), GENERATE("all", "-H4"));

    streamed = 0;
    written_back = 0;
    REQUIRE(rpm_log_append(client.log, "record", 6, nullptr) == 0);
    REQUIRE(rpm_region_write(client.region, 0, "bytes", 5) == 0);
    CHECK(streamed == 0);
    CHECK(written_back == 0);
}
