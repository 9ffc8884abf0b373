// SPDX-License-Identifier: BSD-3-Clause
// suite.cpp: real processes, killed and stopped at random moments. Each round starts a writer (and
// often a reader), kills or stops one or two of writer, reader and server, then recovers the log
// through a new connection and compares it with the acknowledged records.
//
// The seed of a round determines what is done and when, but not where the processes are at that
// moment: replay a round several times.
#include "kill/bench.h"

#include <cstdio>
#include <memory>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

using namespace kill_suite;

namespace
{

// A network namespace for this process and its children, so that no other process takes their
// ports. Without the right to create one they use the machine's own.
void own_network()
{
    ifreq request = {};
    int sock;

    // The laboratory's cable is in the present namespace.
    if (std::getenv("LIBRPM_CONFORM") != nullptr || unshare(CLONE_NEWNET) != 0)
        return;
    sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    if (ioctl(sock, SIOCSIFFLAGS, &request) != 0)
        throw std::runtime_error("cannot bring up the loopback device");
    close(sock);
}

enum Deed {
    kKillWriter,
    kKillServer,
    kKillBoth,
    kKillServerTwice,
    kStopWriter,
    kStopServer,
    kStopServerLong,
    kStopReader,
    kEndWriter,
    kDeeds
};

const char *const kDeedNames[] = { "kill writer",       "kill server", "kill both",
                                   "kill server twice", "stop writer", "stop server",
                                   "stop server long",  "stop reader", "end writer" };

class Chance
{
  public:
    Chance(uint64_t seed, uint64_t round) : state_(seed * 1000003u + round)
    {
        below(2);
    }
    uint64_t below(uint64_t bound)
    {
        return mix(state_) % bound;
    }

  private:
    uint64_t state_;
};

struct ConnCloser {
    void operator()(rpm_conn *conn) const
    {
        rpm_conn_close(&conn);
    }
};
struct LogCloser {
    void operator()(rpm_log *log) const
    {
        rpm_log_close(&log);
    }
};

// The recovery by the suite itself: claims the log and reads all of it.
class Recovery
{
  public:
    // 0, or the error of the last try.
    int open(Bench *bench, const std::string &mode, uint64_t patience_ns)
    {
        uint64_t until = now_ns() + patience_ns;
        int err;

        do {
            err = try_open(bench, mode);
            if (err == 0)
                return 0;
            timespec nap = { 0, 5000000 };
            nanosleep(&nap, nullptr);
        } while (now_ns() < until);
        return err;
    }
    int read(std::vector<Entry> *found, uint64_t *head_lsn)
    {
        struct rpm_log_info info = {};
        rpm_reader *reader = nullptr;
        rpm_record record;
        int got = 0;

        info.size = sizeof(info);
        found->clear();
        int err = rpm_log_info(log_.get(), &info);
        if (err == 0)
            err = rpm_reader_open(log_.get(), nullptr, &reader);
        while (err == 0 && (got = rpm_reader_next(reader, &record)) == 1) {
            PayloadHead head = {};
            bool whole = payload_check(record.data, record.len, &head);

            found->push_back({ head.life, head.seq, record.lsn, whole });
        }
        *head_lsn = info.head_lsn;
        rpm_reader_close(&reader);
        return err != 0 ? err : got;
    }

  private:
    int try_open(Bench *bench, const std::string &mode)
    {
        rpm_conn_opts conn_opts = rpm_conn_opts_init();
        rpm_log_opts opts = rpm_log_opts_init();
        rpm_conn *conn = nullptr;
        rpm_log *log = nullptr;

        conn_opts.timeout_us = 5000000;
        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
        opts.level = mode == "ring" ? static_cast<uint32_t>(RPM_DURABLE) : bench->setup.level;
        opts.capacity_bytes = 1 << 20;
        log_.reset();
        conn_.reset();
        int err = rpm_conn_open(bench->url(mode).c_str(), &conn_opts, &conn);
        if (err != 0)
            return err;
        conn_.reset(conn);
        err = rpm_log_open(conn, "log", &opts, &log);
        log_.reset(log);
        return err;
    }

    std::unique_ptr<rpm_conn, ConnCloser> conn_;
    std::unique_ptr<rpm_log, LogCloser> log_;
};

class Round
{
  public:
    Round(Bench *bench, const Options &options, uint64_t number, uint32_t life)
        : bench_(bench), options_(options), chance_(options.seed, number), life_(life)
    {
        // A server stopped beyond the writer's deadline takes long, so that is rare.
        uint64_t roll = chance_.below(40);
        deed_ = roll == 0 ? kStopServerLong : static_cast<Deed>(roll % kDeeds);
        if (deed_ == kStopServerLong && roll != 0)
            deed_ = kKillBoth;
    }

    Verdict run()
    {
        bench_->serve();
        bench_->model.begin(life_);
        start();
        if (!listen_till_ready())
            return judged();
        listen(pause());
        act();
        listen(pause());
        finish();
        return judged();
    }
    const char *deed() const
    {
        return kDeedNames[deed_];
    }
    const std::string &trouble() const
    {
        return trouble_;
    }

  private:
    uint64_t pause()
    {
        // Long enough for some records: an emulated machine appends a hundred in a second.
        uint64_t most_us = is_verbs(bench_->setup.mode) ? 300000
                           : bench_->setup.slow         ? 25000
                                                        : 8000;

        return chance_.below(most_us) * 1000;
    }
    void start()
    {
        std::string url = bench_->url(bench_->setup.mode);
        uint64_t style = chance_.below(4);
        bool reads = chance_.below(2) == 0 || deed_ == kStopReader;

        writer_.start({ options_.worker, "write", url, std::to_string(bench_->setup.level),
                        std::to_string(life_), std::to_string(style),
                        deed_ == kStopServerLong ? "100000" : "5000000" });
        if (reads)
            reader_.start({ options_.worker, "read", bench_->url(reader_mode()) });
    }

    std::string reader_mode()
    {
        std::string mode = bench_->setup.mode;

        if (mode != "tcp" && mode != "unix" && !is_verbs(mode))
            return chance_.below(2) == 0 ? "direct" : "ring";
        return chance_.below(2) == 0 ? mode : "ring";
    }

    // Reads the writer's messages until @ns have passed or the writer has ended.
    void listen(uint64_t ns)
    {
        uint64_t until = now_ns() + ns;

        for (;;) {
            uint64_t now = now_ns();
            pollfd entry = { writer_.output(), POLLIN, 0 };
            timespec left = { 0, static_cast<long>(now < until ? until - now : 0) };

            if (now >= until || ppoll(&entry, 1, &left, nullptr) < 0 || !take())
                return;
        }
    }
    bool take()
    {
        char bytes[16384];
        ssize_t got = ::read(writer_.output(), bytes, sizeof(bytes));

        if (got == 0)
            return false;
        if (got > 0)
            heard_.append(bytes, static_cast<size_t>(got));
        size_t at = 0;
        for (; at + sizeof(Message) <= heard_.size(); at += sizeof(Message)) {
            Message message;

            memcpy(&message, heard_.data() + at, sizeof(message));
            bench_->model.hear(message);
            ready_ = ready_ || message.kind == kReady;
        }
        heard_.erase(0, at);
        return true;
    }
    bool listen_till_ready()
    {
        uint64_t until = now_ns() + 30000 * kMs;

        while (!ready_ && now_ns() < until) {
            pollfd entry = { writer_.output(), POLLIN, 0 };

            if (poll(&entry, 1, 1000) > 0 && !take())
                break;
        }
        if (!ready_)
            complain("the writer did not begin, exit " + std::to_string(writer_.wait(kMs)));
        return ready_;
    }

    void act()
    {
        switch (deed_) {
        case kKillWriter:
            writer_.kill();
            break;
        case kKillServer:
            restart_server();
            break;
        case kKillBoth:
            writer_.signal(SIGKILL);
            restart_server();
            break;
        case kKillServerTwice:
            restart_server();
            listen(chance_.below(30) * kMs);
            restart_server();
            break;
        case kStopWriter:
            fence_stopped_writer();
            break;
        case kStopServer:
            bench_->server.signal(SIGSTOP);
            listen(chance_.below(20) * kMs);
            bench_->server.signal(SIGCONT);
            break;
        case kStopServerLong:
            bench_->server.signal(SIGSTOP);
            listen(250 * kMs);
            bench_->server.signal(SIGCONT);
            listen(150 * kMs);
            break;
        case kStopReader:
            reader_.signal(SIGSTOP);
            listen(pause());
            reader_.signal(chance_.below(2) == 0 ? SIGCONT : SIGKILL);
            break;
        default:
            writer_.signal(SIGTERM);
            break;
        }
    }
    void restart_server()
    {
        bench_->server.kill();
        bench_->serve();
    }

    // Takes the log from a stopped writer; when it continues, it must get RPM_E_FENCED and must
    // have appended nothing since.
    void fence_stopped_writer()
    {
        Recovery recovery;
        std::vector<Entry> before;
        std::vector<Entry> after;
        uint64_t head = 0;

        writer_.signal(SIGSTOP);
        int err = recovery.open(bench_, bench_->setup.mode, 0);
        if (err == RPM_E_OWNED) { // stopped in its guarded section: no claim is granted
            writer_.signal(SIGCONT);
            return;
        }
        if (err == 0)
            err = recovery.read(&before, &head);
        writer_.signal(SIGCONT);
        listen(20 * kMs);
        int code = writer_.wait(2000 * kMs);
        if (code == -1) { // waiting for completions, it may not have tried to append
            writer_.signal(SIGTERM);
            code = writer_.wait(5000 * kMs);
        }
        if (code != kFenced && code != kDone && code != kGaveUp)
            complain("a fenced writer ended with " + std::to_string(code));
        if (err == 0)
            err = recovery.read(&after, &head);
        if (err != 0)
            complain(std::string("taking over: ") + rpm_error_name(err) + ": " + rpm_last_error());
        else if (!(before == after))
            complain("a fenced writer added to the log");
    }

    void finish()
    {
        int code;

        if (deed_ == kEndWriter) {
            code = writer_.wait(10000 * kMs);
            if (code != kDone && code != kFenced && code != kGaveUp)
                complain("the writer did not end well: " + std::to_string(code));
        }
        code = writer_.kill();
        if (code == kViolation || code == 128 + SIGSEGV || code == 128 + SIGABRT ||
            code == 128 + SIGBUS)
            complain("the writer ended with " + std::to_string(code));
        while (take()) {
            pollfd entry = { writer_.output(), POLLIN, 0 };

            if (poll(&entry, 1, 0) <= 0)
                break;
        }
        finish_reader();
    }
    void finish_reader()
    {
        if (!reader_.runs())
            return;
        reader_.signal(SIGCONT);
        reader_.signal(SIGTERM);
        int code = reader_.wait(10000 * kMs);
        if (code == -1)
            complain("the reader does not end");
        else if (code != kDone && code != 128 + SIGKILL && code != 128 + SIGTERM && code != kGaveUp)
            complain("the reader ended with " + std::to_string(code));
        reader_.kill();
    }

    Verdict judged()
    {
        Recovery recovery;
        std::vector<Entry> found;
        uint64_t head = 0;
        Verdict verdict;

        writer_.kill();
        reader_.kill();
        bench_->serve();
        int err =
            recovery.open(bench_, chance_.below(2) == 0 ? "ring" : bench_->setup.mode, 20000 * kMs);
        if (err == 0)
            err = recovery.read(&found, &head);
        if (err == 0)
            verdict = bench_->model.judge(found, head);
        else
            complain(std::string("recovery: ") + rpm_error_name(err) + ": " + rpm_last_error());
        if (bench_->server.wait(0) != -1)
            complain("the server ended by itself");
        return verdict;
    }
    void complain(const std::string &text)
    {
        if (trouble_.empty())
            trouble_ = text;
    }

    Bench *bench_;
    const Options &options_;
    Chance chance_;
    uint32_t life_;
    Deed deed_;
    Process writer_;
    Process reader_;
    std::string heard_;
    bool ready_ = false;
    std::string trouble_;
};

int run(const Options &options)
{
    std::vector<std::unique_ptr<Bench>> benches;
    uint64_t until = now_ns() + options.seconds * 1000 * kMs;
    uint64_t acked = 0, lost = 0, invented = 0, broken = 0, rounds = 0;

    for (const Setup &setup : kSetups)
        if (is_here(setup) && std::string(setup.name).find(options.only) != std::string::npos)
            benches.push_back(std::make_unique<Bench>(setup, options));
    if (benches.empty())
        throw std::runtime_error("no setup that runs here has '" + options.only + "' in its name");
    for (uint64_t number = options.first; rounds < options.rounds || now_ns() < until; number++) {
        Bench *bench = benches[number % benches.size()].get();
        Round round(bench, options, number, static_cast<uint32_t>(number - options.first + 1));
        uint64_t start = now_ns();
        Verdict verdict = round.run();
        bool wrong = !verdict.text.empty() || !round.trouble().empty();

        rounds++;
        acked += verdict.acked;
        lost += verdict.lost;
        invented += verdict.invented;
        broken += round.trouble().empty() ? 0 : 1;
        if (wrong || options.verbose)
            printf("round %llu: %s, %s: acked %llu, %llu ms%s%s%s%s\n",
                   static_cast<unsigned long long>(number), bench->setup.name, round.deed(),
                   static_cast<unsigned long long>(verdict.acked),
                   static_cast<unsigned long long>((now_ns() - start) / kMs),
                   verdict.text.empty() ? "" : ": ", verdict.text.c_str(),
                   round.trouble().empty() ? "" : ": ", round.trouble().c_str());
        if (wrong)
            printf(
                "replay: kill_suite --server %s --worker %s --only '%s' --seed %llu --first %llu "
                "--rounds 1 --seconds 0 --verbose\n",
                options.server.c_str(), options.worker.c_str(), options.only.c_str(),
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(number));
        fflush(stdout);
    }
    printf("seed %llu, acknowledged %llu, rounds that broke otherwise %llu\n",
           static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(acked),
           static_cast<unsigned long long>(broken));
    printf("rounds %llu lost %llu invented %llu\n", static_cast<unsigned long long>(rounds),
           static_cast<unsigned long long>(lost), static_cast<unsigned long long>(invented));
    return lost == 0 && invented == 0 && broken == 0 && acked > 0 ? 0 : 1;
}

bool parse(int argc, char **argv, Options *options)
{
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];

        if (word == "--verbose") {
            options->verbose = true;
            continue;
        }
        if (word == "--here") {
            options->here = true;
            continue;
        }
        if (i + 1 == argc)
            return false;
        std::string value = argv[++i];
        if (word == "--server")
            options->server = value;
        else if (word == "--worker")
            options->worker = value;
        else if (word == "--seed")
            options->seed = strtoull(value.c_str(), nullptr, 10);
        else if (word == "--rounds")
            options->rounds = strtoull(value.c_str(), nullptr, 10);
        else if (word == "--first")
            options->first = strtoull(value.c_str(), nullptr, 10);
        else if (word == "--only")
            options->only = value;
        else if (word == "--seconds")
            options->seconds = strtoull(value.c_str(), nullptr, 10);
        else
            return false;
    }
    return !options->server.empty() && !options->worker.empty();
}

} // namespace

int main(int argc, char **argv)
{
    Options options;

    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: kill_suite --server PROGRAM --worker PROGRAM [--seed N] "
                "[--rounds N] [--first N] [--seconds N] [--only SETUP] [--here] [--verbose]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    try {
        if (!options.here)
            own_network();
        return run(options);
    } catch (const std::exception &failure) {
        fprintf(stderr, "kill_suite: %s\n", failure.what());
        return 1;
    }
}
