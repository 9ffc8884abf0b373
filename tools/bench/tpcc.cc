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
    const std::string &folder;
    std::vector<rpm_tier_log> logs;
    double stored = 0;
    double raw = 0;

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
        }
    }
};

bool same_record(const rpm_record &one, const std::vector<unsigned char> &data, uint64_t lsn)
{
    return one.lsn == lsn && one.len == data.size() && memcmp(one.data, data.data(), one.len) == 0;
}

/* Fail unless the segments have the records of the logs, byte for byte. Their payloads are written
 * to a file at @path, and are counted. */
uint64_t check_same(const TpccLogs &from, const TpccSegments &segments, const std::string &path)
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
    if (!file.flush())
        throw cli::Failure(path + ": " + strerror(errno));
    return records;
}

void compare_speed(const CompareOptions &options, const TpccSegments &segments,
                   const std::string &path, uint64_t records, std::vector<Row> &rows)
{
    Row row = { "read tpcc segments", 0, 1, "read file", "time per record" };
    std::vector<double> ours;
    std::vector<double> others;

    if (!wanted(options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < options.rounds; round++) {
        uint64_t sum = 0;

        show_round(row.what, row.against, round, options);
        others.push_back(time_per_record(records, [&] {
            read_file(path,
                      [&](const unsigned char *bytes, uint64_t n) { sum += sum_words(bytes, n); });
        }));
        ours.push_back(time_per_record(records, [&] {
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
    row.bytes = static_cast<uint64_t>(segments.raw) / records;
    row.conditions = "the file has the records' payloads only, and is in the page cache";
    add_row(row, ours, others, rows);
}

} // namespace

void compare_tpcc(const CompareOptions &options, const MemoryDir &dir, std::vector<Row> &rows)
{
    std::string program = program_beside("dtx-bench");
    std::string folder = dir / "tpcc-segments";
    std::string path = dir / "tpcc-records";
    ServerOptions server = { dir / "tpcc-pool", "shm:" + (dir / "tpcc"), kPoolBytes };
    Row row = { "tpcc in segments", 0, 1, "plain bytes", "MiB of records with their headers" };
    bool size = wanted(options.only, row.what, row.against);

    if (!size && !wanted(options.only, "read tpcc segments", "read file"))
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
    show_round(row.what, row.against, 0, options);
    ChildServer child(server);

    run_tpcc(program, server.listen, dir / "tpcc-output");
    TpccLogs logs(server.listen);
    if (logs.bytes() < kWantedBytes / 4)
        throw cli::Failure("the session of dtx-bench tpcc trimmed its log before it was killed");
    for (const auto &[name, log] : logs.logs)
        store_log(log.get(), folder, nullptr);
    TpccSegments segments(folder);
    uint64_t records = check_same(logs, segments, path);

    if (size) {
        row.target = kSizeTarget;
        row.bytes = static_cast<uint64_t>(segments.raw) / records;
        row.conditions = "redo logs of dtx-bench tpcc, 1 warehouse, by LZ4; " +
                         std::to_string(records) + " records, each compared with that of the log";
        add_row(row, { segments.stored / (1 << 20) }, { segments.raw / (1 << 20) }, rows);
    }
    compare_speed(options, segments, path, records, rows);
}

} // namespace bench
