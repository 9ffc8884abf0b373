/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiered.cc: rows of rpm-bench agent: how fast records are stored as segments, and read from them.
 */
#include "bench/tiered.h"

#include "bench/ours.h"

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace bench
{

namespace
{

constexpr uint64_t kRecordBytes = 1024;
constexpr uint64_t kRecords = kTierBytes / kRecordBytes;

/* Half of it random, half of it as the record before, like a row of which a few columns change. */
void fill_record(std::vector<unsigned char> &record, uint64_t &state)
{
    for (size_t at = 0; at < record.size() / 2; at++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        record[at] = static_cast<unsigned char>(state >> 56);
    }
}

/* A log of records, and the same bytes in a file. */
cli::Log write_log(rpm_conn *conn, const std::string &path)
{
    rpm_log_opts opts = rpm_log_opts_init();
    std::vector<unsigned char> record(kRecordBytes, 'r');
    rpm_log *raw = nullptr;
    uint64_t state = 1;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 2 * kTierBytes;
    cli::check("log", rpm_log_open(conn, "bench-tier", &opts, &raw));
    cli::Log log(raw);
    std::ofstream file(path, std::ios::binary);
    for (uint64_t i = 0; i < kRecords; i++) {
        fill_record(record, state);
        cli::check("append", rpm_log_append(raw, record.data(), record.size(), nullptr));
        file.write(reinterpret_cast<const char *>(record.data()),
                   static_cast<std::streamsize>(record.size()));
    }
    if (!file.flush())
        throw cli::Failure(path + ": " + strerror(errno));
    return log;
}

uint64_t log_of(const std::string &folder)
{
    struct rpm_tier_log found = rpm_tier_log_init();
    rpm_tier *tier = nullptr;

    cli::check("tier", rpm_tier_open(folder.c_str(), nullptr, &tier));
    cli::Tier owner(tier);
    if (cli::check("tier", rpm_tier_entry(tier, 0, &found)) != 1)
        throw cli::Failure(folder + ": no segments");
    return found.log_id;
}

void compare_read(const CompareOptions &options, const std::string &folder, const std::string &path,
                  std::vector<Row> &rows)
{
    Row row = { "read segments", kRecordBytes, 1, "read file", "time per record" };
    uint64_t log_id = log_of(folder);
    std::vector<double> ours;
    std::vector<double> others;

    for (uint32_t round = 0; round < options.rounds; round++) {
        uint64_t sum = 0;
        uint64_t expected = 0;

        show_round(row.what, row.against, round, options);
        others.push_back(time_per_record(kRecords, [&] {
            read_file(path, [&](const unsigned char *bytes, uint64_t n) {
                expected += sum_words(bytes, n);
            });
        }));
        ours.push_back(time_per_record(kRecords, [&] {
            read_segments(folder, log_id, [&](const rpm_record &record) {
                sum += sum_words(record.data, record.len);
            });
        }));
        if (sum != expected)
            throw cli::Failure("the segments have other records than the file");
        end_if_stopped();
    }
    row.target = kReadTarget;
    add_row(row, ours, others, rows);
}

/* As an agent stores a log, over a link to the server's CPU. */
void compare_engine(const CompareOptions &options, const std::string &folder,
                    const std::string &url, std::vector<Row> &rows)
{
    Row row = { "archive by rdma", kRecordBytes, 1, "archive by reads", "time per record" };
    std::vector<double> ours;
    std::vector<double> others;

    if (!wanted(options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < options.rounds; round++) {
        show_round(row.what, row.against, round, options);
        for (const char *engine : { "rdma", static_cast<const char *>(nullptr) }) {
            std::string name =
                folder + (engine != nullptr ? "-rdma-" : "-reads-") + std::to_string(round);
            rpm_log *raw = nullptr;
            cli::Conn conn = cli::connect(url);

            cli::check("log", rpm_log_open(conn.get(), "bench-tier", nullptr, &raw));
            cli::Log log(raw);
            (engine != nullptr ? ours : others).push_back(time_per_record(kRecords, [&] {
                store_log(raw, name, engine);
            }));
        }
        end_if_stopped();
    }
    add_row(row, ours, others, rows);
}

} // namespace

void store_log(rpm_log *log, const std::string &folder, const char *engine, const char *codec)
{
    rpm_tier_opts opts = rpm_tier_opts_init();
    rpm_archiver *archiver = nullptr;
    rpm_tier *tier = nullptr;
    int more;

    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        throw cli::Failure(folder + ": " + strerror(errno));
    opts.engine = engine;
    opts.codec = codec;
    cli::check("tier", rpm_tier_open(folder.c_str(), &opts, &tier));
    cli::Tier owner(tier);
    cli::check("archiver", rpm_archiver_open(tier, log, &archiver));
    while ((more = rpm_archiver_turn(archiver, 1)) > 0)
        ;
    rpm_archiver_close(&archiver);
    cli::check("archiver", more);
}

void read_segments(const std::string &folder, uint64_t log_id,
                   const std::function<void(const rpm_record &)> &visit)
{
    rpm_tier_reader *reader = nullptr;
    rpm_tier *tier = nullptr;
    rpm_record record;
    int more;

    cli::check("tier", rpm_tier_open(folder.c_str(), nullptr, &tier));
    cli::Tier owner(tier);
    cli::check("reader", rpm_tier_reader_open(tier, log_id, 0, &reader));
    while ((more = rpm_tier_reader_next(reader, &record)) == 1)
        visit(record);
    rpm_tier_reader_close(&reader);
    cli::check("reader", more);
}

void read_file(const std::string &path,
               const std::function<void(const unsigned char *, uint64_t)> &visit)
{
    std::vector<unsigned char> piece(64u << 10);
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (fd >= 0)
        while ((n = read(fd, piece.data(), piece.size())) > 0)
            visit(piece.data(), static_cast<uint64_t>(n));
    if (n < 0)
        throw cli::Failure(path + ": " + strerror(errno));
    close(fd);
}

uint64_t sum_words(const void *data, uint64_t bytes)
{
    const unsigned char *from = static_cast<const unsigned char *>(data);
    uint64_t sum = 0;
    uint64_t word;

    for (uint64_t at = 0; at + sizeof(word) <= bytes; at += sizeof(word)) {
        memcpy(&word, from + at, sizeof(word));
        sum += word;
    }
    return sum;
}

double time_per_record(uint64_t records, const std::function<void()> &work)
{
    uint64_t begin = now_ns();

    work();
    return static_cast<double>(now_ns() - begin) / static_cast<double>(records);
}

void compare_tiered(const CompareOptions &options, const MemoryDir &dir, const std::string &url,
                    std::vector<Row> &rows)
{
    std::string folder = dir / "segments";
    std::string path = dir / "records";
    bool reads = wanted(options.only, "read segments", "read file");

    if (!reads && !wanted(options.only, "archive by rdma", "archive by reads"))
        return;
    cli::Conn conn = cli::connect(url);
    cli::Log log = write_log(conn.get(), path);

    if (reads) {
        store_log(log.get(), folder, nullptr);
        compare_read(options, folder, path, rows);
    }
    compare_engine(options, folder, url, rows);
}

} // namespace bench
