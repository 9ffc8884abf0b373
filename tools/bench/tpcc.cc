/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tpcc.cc: rows of rpm-bench agent: the redo logs of TPC-C transactions as segments. dtx-bench, in
 * the folder of this program, runs them, and is killed while its logs have records: a session that
 * ends trims them.
 */
#include "bench/tiered.h"

#include "bench/ours.h"

#include <csignal>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bench
{

namespace
{

constexpr uint64_t kLogBytes = 256u << 20;   /* a session trims its log at a quarter of this */
constexpr uint64_t kWantedBytes = 16u << 20; /* of records, much less than that quarter */
constexpr uint64_t kPoolBytes = 640u << 20;
constexpr uint64_t kDramBytes = 64u << 20;
constexpr uint64_t kPatienceNs = 120000000000; /* for the load and the records */
constexpr double kSizeTarget = 0.5;

/* dtx-bench tpcc on one server: it makes and loads the database, or runs until it is killed. */
class TpccRun
{
  public:
    TpccRun(std::vector<std::string> words, std::string output) : output_(std::move(output))
    {
        std::vector<char *> arguments;

        for (std::string &word : words)
            arguments.push_back(&word[0]);
        arguments.push_back(nullptr);
        fflush(nullptr);
        pid_ = fork();
        if (pid_ < 0)
            throw cli::Failure(std::string("fork: ") + strerror(errno));
        if (pid_ == 0)
            start(arguments.data());
    }
    TpccRun(const TpccRun &) = delete;
    ~TpccRun()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    /* Has it ended? Fails unless it did what it was told. */
    bool ended()
    {
        int status = 0;

        if (waitpid(pid_, &status, WNOHANG) == 0)
            return false;
        pid_ = 0;
        std::ifstream file(output_);
        std::string text(std::istreambuf_iterator<char>(file), {});
        if (status != 0)
            throw cli::Failure("dtx-bench tpcc failed: " + text);
        return true;
    }

  private:
    /* In the child, where this process may have threads: system calls only. */
    [[noreturn]] void start(char **arguments) const
    {
        int out = open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
            execv(arguments[0], arguments);
        _exit(cli::kFailed);
    }

    std::string output_;
    pid_t pid_ = 0;
};

/* The redo logs of a server. */
struct TpccLogs {
    cli::Conn conn;
    std::map<std::string, cli::Log> logs;

    explicit TpccLogs(const std::string &url) : conn(cli::connect(url))
    {
        rpm_entry entry = rpm_entry_init();

        while (cli::check("list", rpm_conn_next(conn.get(), &entry)) == 1) {
            rpm_log *raw = nullptr;

            if (entry.kind != RPM_KIND_LOG)
                continue;
            cli::check(entry.name, rpm_log_open(conn.get(), entry.name, nullptr, &raw));
            logs[entry.name] = cli::Log(raw);
        }
    }
    /* Records that they have now, as bytes of the log. */
    uint64_t bytes() const
    {
        uint64_t all = 0;

        for (const auto &[name, log] : logs)
            visit(log.get(),
                  [&](const rpm_record &record) { all += record.next_lsn - record.lsn; });
        return all;
    }
    static void visit(rpm_log *log, const std::function<void(const rpm_record &)> &visit)
    {
        rpm_reader *raw = nullptr;
        rpm_record record;
        int found;

        cli::check("reader", rpm_reader_open(log, nullptr, &raw));
        cli::Reader reader(raw);
        while ((found = rpm_reader_next(raw, &record)) == 1)
            visit(record);
        if (found != RPM_E_TRIMMED) /* by the session, while it runs */
            cli::check("reader", found);
    }
};

void wait_a_while(uint64_t deadline)
{
    end_if_stopped();
    if (now_ns() > deadline)
        throw cli::Failure("dtx-bench tpcc did not load its database, and write " +
                           cli::size_text(static_cast<double>(kWantedBytes)) +
                           " of log records, within two minutes");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

/* Have the logs filled by transactions. Those of the load are trimmed, as its session ends. */
void run_tpcc(const std::string &program, const std::string &url, const std::string &output)
{
    std::vector<std::string> run = { program,     "tpcc",       "--url",
                                     url,         "--replicas", "1",
                                     "--threads", "1",          "--room",
                                     "20000",     "--no-check", "--coordinators",
                                     "4",         "--log-size", std::to_string(kLogBytes) };
    std::vector<std::string> load = run;
    uint64_t deadline = now_ns() + kPatienceNs;

    load.insert(load.end(), { "--load", "--transactions", "1" });
    for (TpccRun loading(load, output); !loading.ended();)
        wait_a_while(deadline);
    run.insert(run.end(), { "--seconds", "600" });
    for (TpccRun running(run, output); TpccLogs(url).bytes() < kWantedBytes;) {
        if (running.ended())
            throw cli::Failure("dtx-bench tpcc has ended before its logs had records");
        wait_a_while(deadline);
    }
}

/* The logs in segments, and what both have. */
struct TpccSegments {
    std::string folder;
    std::vector<rpm_tier_log> logs;
    double stored = 0;
    double raw = 0;
    uint64_t records = 0;

    explicit TpccSegments(const std::string &where) : folder(where)
    {
        struct rpm_tier_log found = rpm_tier_log_init();
        rpm_tier *tier = nullptr;

        cli::check("tier", rpm_tier_open(where.c_str(), nullptr, &tier));
        cli::Tier owner(tier);
        for (uint32_t i = 0; cli::check("tier", rpm_tier_entry(tier, i, &found)) == 1; i++) {
            logs.push_back(found);
            stored += static_cast<double>(found.stored_bytes);
            raw += static_cast<double>(found.raw_bytes);
            records += found.records;
        }
    }
};

bool same_record(const rpm_record &one, const std::vector<unsigned char> &data, uint64_t lsn)
{
    return one.lsn == lsn && one.len == data.size() && memcmp(one.data, data.data(), one.len) == 0;
}

/* Fail unless the segments have the records of the logs, byte for byte, and each once. Their
 * payloads are written to a file at @path. */
void check_same(const TpccLogs &from, const TpccSegments &segments, const std::string &path)
{
    std::ofstream file(path, std::ios::binary);
    uint64_t records = 0;

    for (const rpm_tier_log &stored : segments.logs) {
        std::deque<std::pair<uint64_t, std::vector<unsigned char>>> expected;

        TpccLogs::visit(from.logs.at(stored.name).get(), [&](const rpm_record &record) {
            const unsigned char *data = static_cast<const unsigned char *>(record.data);

            expected.emplace_back(record.lsn, std::vector<unsigned char>(data, data + record.len));
            file.write(static_cast<const char *>(record.data),
                       static_cast<std::streamsize>(record.len));
        });
        records += expected.size();
        read_segments(segments.folder, stored.log_id, [&](const rpm_record &record) {
            if (expected.empty() ||
                !same_record(record, expected.front().second, expected.front().first))
                throw cli::Failure(std::string("the segments of log '") + stored.name +
                                   "' have another record than the log at LSN " +
                                   std::to_string(record.lsn));
            expected.pop_front();
        });
        if (!expected.empty())
            throw cli::Failure(std::string("the segments lack records of log '") + stored.name +
                               "' from LSN " + std::to_string(expected.front().first) + " on");
    }
    if (records != segments.records)
        throw cli::Failure("the segments have " + std::to_string(segments.records) +
                           " records, and the logs " + std::to_string(records));
    if (!file.flush())
        throw cli::Failure(path + ": " + strerror(errno));
}

/* What is measured of the logs: by each codec, and in one folder of a memory file system. */
struct TpccBed {
    const CompareOptions &options;
    const MemoryDir &dir;
    const TpccLogs &logs;

    /* Store all logs by a codec in a folder of its name. */
    std::string store(const std::string &codec) const
    {
        std::string folder = dir / ("tpcc-" + codec);

        for (const auto &[name, log] : logs.logs)
            store_log(log.get(), folder, nullptr, codec.c_str());
        return folder;
    }
};

void compare_speed(const TpccBed &bed, Row row, const TpccSegments &segments,
                   const std::string &path, std::vector<Row> &rows)
{
    std::vector<double> ours;
    std::vector<double> others;

    for (uint32_t round = 0; round < bed.options.rounds; round++) {
        uint64_t sum = 0;

        show_round(row.what, row.against, round, bed.options);
        others.push_back(time_per_record(segments.records, [&] {
            read_file(path,
                      [&](const unsigned char *bytes, uint64_t n) { sum += sum_words(bytes, n); });
        }));
        ours.push_back(time_per_record(segments.records, [&] {
            for (const rpm_tier_log &log : segments.logs)
                read_segments(segments.folder, log.log_id, [&](const rpm_record &record) {
                    sum += sum_words(record.data, record.len);
                });
        }));
        if (sum == 0) /* so that no byte is left unread */
            throw cli::Failure("the logs have only zeros");
        end_if_stopped();
    }
    row.target = kReadTarget;
    row.conditions = "the file has the records' payloads only, and is in the page cache";
    add_row(row, ours, others, rows);
}

/* What the logs take by one codec, and how fast they are read. */
void compare_codec(const TpccBed &bed, const std::string &codec, std::vector<Row> &rows)
{
    Row size = { "tpcc by " + codec, 0, 1, "plain bytes", "MiB of records with their headers" };
    Row speed = { "read tpcc by " + codec, 0, 1, "read file", "time per record" };
    bool sizes = wanted(bed.options.only, size.what, size.against);
    bool speeds = wanted(bed.options.only, speed.what, speed.against);
    std::string path = bed.dir / "tpcc-records";

    if (!sizes && !speeds)
        return;
    TpccSegments segments(bed.store(codec));
    check_same(bed.logs, segments, path);
    size.bytes = speed.bytes = static_cast<uint64_t>(segments.raw) / segments.records;
    if (sizes) {
        size.target = kSizeTarget;
        size.conditions = "redo logs of dtx-bench tpcc, 1 warehouse; " +
                          std::to_string(segments.records) +
                          " records, each compared with that of the log";
        add_row(size, { segments.stored / (1 << 20) }, { segments.raw / (1 << 20) }, rows);
    }
    if (speeds)
        compare_speed(bed, speed, segments, path, rows);
    std::filesystem::remove_all(segments.folder);
}

/* What storing the logs takes, by an archiver that reads them from the server's memory. */
void compare_store(const TpccBed &bed, std::vector<Row> &rows)
{
    Row row = { "store tpcc by zstd", 0, 1, "by lz4", "time per record" };
    std::map<std::string, std::vector<double>> rounds;

    if (!wanted(bed.options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < bed.options.rounds; round++)
        for (const char *codec : { "zstd", "lz4" }) {
            std::string folder;

            show_round(row.what, row.against, round, bed.options);
            double whole = time_per_record(1, [&] { folder = bed.store(codec); });
            TpccSegments segments(folder);
            rounds[codec].push_back(whole / static_cast<double>(segments.records));
            row.bytes = static_cast<uint64_t>(segments.raw) / segments.records;
            std::filesystem::remove_all(folder);
            end_if_stopped();
        }
    add_row(row, rounds["zstd"], rounds["lz4"], rows);
}

/* Which of the codecs does librpm have? Names the others. */
std::vector<std::string> codecs_of_librpm(const MemoryDir &dir)
{
    std::vector<std::string> have;

    for (const char *codec : { "lz4", "zstd" }) {
        rpm_tier_opts opts = rpm_tier_opts_init();
        rpm_tier *tier = nullptr;

        opts.codec = codec;
        int err = rpm_tier_open((dir / "").c_str(), &opts, &tier);
        if (err == 0)
            have.emplace_back(codec);
        else if (err == RPM_E_NOCAP)
            printf("%s: the rows of TPC-C's logs by it are left out\n", rpm_last_error());
        else
            cli::check("tier", err);
        rpm_tier_close(&tier);
    }
    return have;
}

} // namespace

void compare_tpcc(const CompareOptions &options, const MemoryDir &dir, std::vector<Row> &rows)
{
    std::string program = program_beside("dtx-bench");
    ServerOptions server = { dir / "tpcc-pool", "shm:" + (dir / "tpcc"), kPoolBytes };

    if (!wanted(options.only, "tpcc by lz4", "plain bytes") &&
        !wanted(options.only, "read tpcc by lz4", "read file") &&
        !wanted(options.only, "tpcc by zstd", "plain bytes") &&
        !wanted(options.only, "read tpcc by zstd", "read file") &&
        !wanted(options.only, "store tpcc by zstd", "by lz4"))
        return;
    if (access(program.c_str(), X_OK) != 0) {
        printf("%s is missing: the rows of its logs are left out\n", program.c_str());
        return;
    }
    if (dir.free_bytes() < kPoolBytes + kDramBytes) {
        printf("%s has too little room for TPC-C, %s: the rows of its logs are left out\n",
               options.dir.c_str(), cli::size_text(double{ kPoolBytes + kDramBytes }).c_str());
        return;
    }
    server.dram_bytes = kDramBytes;
    show_round("tpcc", "plain bytes", 0, options);
    ChildServer child(server);

    run_tpcc(program, server.listen, dir / "tpcc-output");
    TpccLogs logs(server.listen);
    if (logs.bytes() < kWantedBytes / 4)
        throw cli::Failure("the session of dtx-bench tpcc trimmed its log before it was killed");
    TpccBed bed = { options, dir, logs };
    std::vector<std::string> codecs = codecs_of_librpm(dir);
    for (const std::string &codec : codecs)
        compare_codec(bed, codec, rows);
    if (codecs.size() == 2)
        compare_store(bed, rows);
}

} // namespace bench
