// SPDX-License-Identifier: BSD-3-Clause
// tiered.h: a tier in a new folder, and an archiver; logs with it.
#ifndef TESTS_UNIT_TIER_TIERED_H
#define TESTS_UNIT_TIER_TIERED_H

#include "support/dir.h"
#include "support/loop.h"

extern "C" {
#include "log/log.h"
#include "tier/tier.h"
}

#include <fstream>
#include <map>
#include <set>

constexpr uint64_t SPAN = RPMI_SEGMENT_SPAN_MIN;

struct Tier {
    rpm_tier *tier = nullptr;

    explicit Tier(const std::string &where, uint64_t span = SPAN, const char *engine = nullptr,
                  const char *codec = nullptr)
    {
        rpm_tier_opts opts = rpm_tier_opts_init();

        opts.segment_span = span;
        opts.engine = engine;
        opts.codec = codec;
        REQUIRE(rpm_tier_open(where.c_str(), &opts, &tier) == 0);
    }
    Tier(const Tier &) = delete;
    ~Tier()
    {
        rpm_tier_close(&tier);
    }
    operator rpm_tier *() const
    {
        return tier;
    }
};

struct Archiver {
    rpm_archiver *archiver = nullptr;

    Archiver(rpm_tier *tier, rpm_log *log)
    {
        REQUIRE(rpm_archiver_open(tier, log, &archiver) == 0);
    }
    Archiver(const Archiver &) = delete;
    ~Archiver()
    {
        rpm_archiver_close(&archiver);
    }
    // Stores all that there is; returns how many segments.
    int all(int tail = 1)
    {
        int stored = 0;

        for (int turn = 0; turn < 10000; turn++) {
            int more = rpm_archiver_turn(archiver, tail);

            REQUIRE(more >= 0);
            if (more == 0)
                return stored;
            stored++;
        }
        FAIL("an archiver without an end");
        return stored;
    }
};

// The codecs of tiers that this librpm has.
inline std::vector<std::string> codecs()
{
    std::vector<std::string> names = { "none" };

    if (RPMI_WITH_LZ4)
        names.emplace_back("lz4");
    if (RPMI_WITH_ZSTD)
        names.emplace_back("zstd");
    return names;
}

inline rpm_log_opts tiered(rpm_tier *tier, uint64_t capacity)
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = loop::WRITER;
    opts.capacity_bytes = capacity;
    opts.tier = tier;
    return opts;
}

// A log, and a tier for it.
struct Stage {
    support::Dir dir;
    loop::Server server{ 4u << 20 };
    loop::Conn conn{ server, loop::queued() };
    Tier tier;
    loop::Log log;

    // @trims: the writer trims by itself what the tier has. @codec: of the tier.
    explicit Stage(uint64_t capacity = 1u << 20, bool trims = false, const char *codec = nullptr)
        : tier(dir / "", SPAN, nullptr, codec)
    {
        REQUIRE(log.open(conn, "a", tiered(trims ? tier.tier : nullptr, capacity)) == 0);
    }
    uint64_t id() const
    {
        return log.log->log_id;
    }
};

// Appends records of different lengths, some of them compressible, until @bytes are appended.
inline std::vector<loop::Record> fill(rpm_log *log, uint64_t bytes, uint64_t seed = 0)
{
    std::vector<loop::Record> wrote;
    uint64_t at = 0;

    for (uint64_t i = seed; at < bytes; i++) {
        std::string data = i % 2 == 0 ? loop::payload(i, 1 + i * 97 % 3000)
                                      : std::string(1 + i * 53 % 2000, static_cast<char>(i));

        wrote.push_back({ data, loop::append(log, data), 1 });
        at += data.size();
    }
    return wrote;
}

inline std::vector<std::string> files(const std::string &where)
{
    std::vector<std::string> found;

    for (const auto &entry : std::filesystem::recursive_directory_iterator(where))
        if (entry.is_regular_file())
            found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    return found;
}

inline std::string bytes_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);

    return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void write_bytes(const std::string &path, const std::string &bytes)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline loop::Record kept(const rpm_record &record)
{
    return { std::string(static_cast<const char *>(record.data), record.len), record.lsn,
             record.epoch };
}

// The records of a reader that was opened with the result @found; how it ended is @error.
template <class Reader>
std::vector<loop::Record> all_of(int found, Reader *reader, int (*next)(Reader *, rpm_record *),
                                 void (*close)(Reader **), int *error)
{
    std::vector<loop::Record> all;
    rpm_record record;

    while (found >= 0 && (found = next(reader, &record)) == 1)
        all.push_back(kept(record));
    close(&reader);
    *error = found;
    return all;
}

// What segments alone have, from @from on.
inline std::vector<loop::Record> stored_records(rpm_tier *tier, uint64_t log_id, int *error,
                                                uint64_t from = 0)
{
    rpm_tier_reader *reader = nullptr;
    int found = rpm_tier_reader_open(tier, log_id, from, &reader);

    return all_of(found, reader, rpm_tier_reader_next, rpm_tier_reader_close, error);
}

// What the segments and the log have.
inline std::vector<loop::Record> read_through(rpm_log *log, rpm_tier *tier, int *error,
                                              uint64_t from = 0)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    int found;

    opts.from_lsn = from;
    opts.tier = tier;
    found = rpm_reader_open(log, &opts, &reader);
    return all_of(found, reader, rpm_reader_next, rpm_reader_close, error);
}

#endif
