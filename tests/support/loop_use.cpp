// SPDX-License-Identifier: BSD-3-Clause
// loop_use.cpp: see loop.h. Owners of handles, and the operations on a log that most tests need.
#include "support/loop.h"

namespace loop
{

Setup synchronous()
{
    Setup setup;

    setup.synchronous = true;
    setup.methods = bit(RPM_METHOD_STORE) | bit(RPM_METHOD_MESSAGE);
    return setup;
}

Setup queued(uint32_t methods)
{
    Setup setup;

    setup.methods = methods != 0 ? methods
                                 : bit(RPM_METHOD_WRITE) | bit(RPM_METHOD_READ) |
                                       bit(RPM_METHOD_MESSAGE) | bit(RPM_METHOD_COPY) |
                                       bit(RPM_METHOD_IMMEDIATE) | bit(RPM_METHOD_FLUSH);
    return setup;
}

Conn::Conn(Server &server, const Setup &setup, const rpm_conn_opts *opts)
{
    REQUIRE(connect(server, setup, opts, &conn) == 0);
    link = link_of(conn);
}

Conn::~Conn()
{
    close();
}

void Conn::close()
{
    link = nullptr;
    rpm_conn_close(&conn);
}

Log::Log(rpm_conn *conn, const char *name, uint32_t flags, uint64_t capacity, uint32_t level)
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = flags;
    opts.capacity_bytes = capacity != 0 ? capacity : 64u << 10;
    opts.staging_bytes = std::clamp<uint64_t>(opts.capacity_bytes, 64u << 10, 1u << 20);
    opts.level = level;
    REQUIRE(open(conn, name, opts) == 0);
}

Log::~Log()
{
    close();
}

int Log::open(rpm_conn *conn, const char *name, const rpm_log_opts &opts)
{
    return rpm_log_open(conn, name, &opts, &log);
}

void Log::close()
{
    rpm_log_close(&log);
}

uint64_t append(rpm_log *log, const std::string &data)
{
    uint64_t lsn = UINT64_MAX;

    REQUIRE(rpm_log_append(log, data.data(), data.size(), &lsn) == 0);
    return lsn;
}

int append_async(rpm_log *log, const std::string &data, uintptr_t context, uint32_t flags,
                 uint64_t *lsn)
{
    return rpm_log_append_async(log, data.data(), data.size(), flags,
                                reinterpret_cast<void *>(context), lsn);
}

std::vector<rpm_completion> reap(rpm_log *log, size_t n, uint32_t polls)
{
    std::vector<rpm_completion> all;

    for (uint32_t i = 0; i < polls && all.size() < n; i++) {
        rpm_completion done[16];
        int count = rpm_log_poll(log, done, 16);

        REQUIRE(count >= 0);
        all.insert(all.end(), done, done + count);
    }
    return all;
}

std::vector<Record> read_all(rpm_log *log, uint64_t from, uint32_t level)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    std::vector<Record> all;
    rpm_reader *reader = nullptr;
    rpm_record record;
    int found;

    opts.from_lsn = from;
    opts.level = level;
    REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    while ((found = rpm_reader_next(reader, &record)) == 1 && all.size() < 1000000)
        all.push_back({ std::string(static_cast<const char *>(record.data), record.len), record.lsn,
                        record.epoch });
    rpm_reader_close(&reader);
    REQUIRE(found == 0);
    return all;
}

std::string payload(uint64_t seed, size_t len)
{
    std::string data(len, '\0');
    rpmi_rng rng;

    rpmi_rng_seed(&rng, seed);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = rpmi_rng_next(&rng);

        memcpy(&data[i], &word, len - i < 8 ? len - i : 8);
    }
    return data;
}

struct rpm_log_info info(rpm_log *log)
{
    struct rpm_log_info info = rpm_log_info_init();

    REQUIRE(rpm_log_info(log, &info) == 0);
    return info;
}

} // namespace loop
