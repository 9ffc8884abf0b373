/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_agent.cc: rpm-agent: store the records of a server's logs as segments in a folder, so that
 * their writers may trim them (--tier; with --listen too those that do not see the folder); have
 * the server certify records of many writers at once (--listen); verify records again and again
 * (--scrub). It is optional: a log whose agent has ended gets full, its writers flush by messages
 * of their own, and nothing is lost.
 *
 * One thread goes from log to log. What it knows is in the logs and the segments, so it may be
 * killed at any time, and several may run for the same logs. Three more threads serve orders, and
 * one verifies records.
 *
 * Tests: tests/tools/agent_test, tests/kill/agent_segments
 */
#include "agent/front.h"
#include "agent/scrub.h"
#include "cli.h"
#include "usr1.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <map>
#include <optional>
#include <thread>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace
{

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kIdleMin{ 1 }; /* between two looks at logs that have nothing new */
constexpr milliseconds kIdleMax{ 50 };
constexpr milliseconds kListEvery{ 1000 };   /* a look for logs that were created or removed */
constexpr milliseconds kCheckEvery{ 10000 }; /* a look whether the segments are still there */
constexpr milliseconds kRetryMin{ 100 };     /* after an error, doubled each time */
constexpr milliseconds kRetryMax{ 10000 };

const char *const kExamples =
    "Examples:\n"
    "  rpm-agent --pool shm:pool --tier /srv/segments              all logs of the server\n"
    "  rpm-agent --pool tcp://host:7430/pool --secret-file key --tier /srv/segments --log journal\n"
    "  rpm-agent --pool shm:pool --tier /backup --once             a backup of all logs\n"
    "  rpm-agent --pool shm:pool --tier s3://segments/journals      to an object store (AWS_...)\n"
    "  rpm-agent --pool shm:pool --tier /srv/segments --compress zstd   smaller segments\n"
    "  rpm-log append shm:pool journal --tier /srv/segments        a writer that is never full\n"
    "  rpm-log cat --from-segments /srv/segments journal           without a server\n"
    "  rpm-agent --pool shm:pool --tier /srv/segments --scrub 86400   verify all records daily\n"
    "  rpm-agent --pool tcp://host:7471 --secret-file key --listen tcp://0.0.0.0:7480\n"
    "  rpm-log append tcp://host:7471,agent=tcp://host:7480 journal\n"
    "  rpm-agent --pool tcp://host:7471 --listen tcp://0.0.0.0:7480 --tier /srv/segments\n"
    "  rpm-log append tcp://host:7471,agent=tcp://host:7480 journal --tier agent\n"
    "  rpm-agent --pool tcp://host:7471 --secret-file key --listen tcp://0.0.0.0:7480 --name dpu\n"
    "  rpm-log append tcp://host:7471,agent=tcp://host:7480,carry=dpu journal\n"
    "Signals: SIGTERM and SIGINT end it; records of a segment that is not full are not stored "
    "then. SIGUSR1 prints how many orders it has served, and decisions staged.";

struct Options : Source {
    std::vector<std::string> listen;
    std::string name;
    std::string tls_cert;
    std::string tls_key;
    uint32_t clients = 64;
    uint64_t segment = 0;
    uint64_t keep = UINT64_MAX; /* LSNs */
    double scrub = 0;           /* seconds of a pass over all records; 0: they are not verified */
    bool once = false;
    bool quiet = false;
};

/* When to try again what failed: after 100 ms, then after twice as long each time. */
class Retry
{
  public:
    bool due() const
    {
        return Clock::now() >= at_;
    }
    void failed()
    {
        wait_ = wait_ == milliseconds(0) ? kRetryMin : std::min(wait_ * 2, kRetryMax);
        at_ = Clock::now() + wait_;
    }
    void succeeded()
    {
        wait_ = milliseconds(0);
    }

  private:
    Clock::time_point at_ = Clock::time_point::min();
    milliseconds wait_{ 0 };
};

struct ArchiverClose {
    void operator()(rpm_archiver *archiver) const
    {
        rpm_archiver_close(&archiver);
    }
};

/* A log that is stored. */
struct Stored {
    cli::Log log;
    std::unique_ptr<rpm_archiver, ArchiverClose> archiver;
    Retry retry;
    std::string told;              /* the error that was printed last, so that it is printed once */
    uint64_t end_lsn = UINT64_MAX; /* with --once: store no further */
    bool done = false;             /* with --once: stored up to there, or failed */
    Clock::time_point check_at = Clock::time_point::min(); /* the folder, against what was stored */
};

class Agent
{
  public:
    /* @front: where decisions are staged; NULL: nowhere. */
    explicit Agent(const Options &options, AgentFront *front = nullptr)
        : options_(options), front_(front)
    {
    }

    int run();

  private:
    void list();
    bool turn_all();
    bool turn(const std::string &name, Stored &stored);
    int decide(Stored &stored);
    void open(const std::string &name, Stored &stored);
    void failed(const std::string &name, Stored &stored, int err);
    void disconnect();

    const Options &options_;
    AgentFront *const front_;
    cli::Tier tier_;
    cli::Conn conn_;
    std::map<std::string, Stored> logs_;
    Clock::time_point list_at_ = Clock::time_point::min();
    uint64_t segments_ = 0;
    uint64_t copied_ = 0; /* bytes, by the engine */
    uint64_t fallbacks_ = 0;
    bool failed_ = false;
};

/* Look for logs that are new, and for those that are not there any more. */
void Agent::list()
{
    rpm_entry entry = rpm_entry_init();
    std::map<std::string, Stored> kept;

    while (cli::check("list", rpm_conn_next(conn_.get(), &entry)) == 1)
        if (options_.wants(entry))
            kept[entry.name] = std::move(logs_[entry.name]);
    logs_.swap(kept);
    for (const std::string &name : options_.logs)
        if (options_.once && logs_.count(name) == 0)
            throw cli::Failure("no log '" + name + "' at " + options_.pool);
    list_at_ = Clock::now() + kListEvery;
}

void Agent::open(const std::string &name, Stored &stored)
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;
    rpm_archiver *archiver = nullptr;

    stored.archiver.reset();
    stored.log.reset();
    cli::check(name, rpm_log_open(conn_.get(), name.c_str(), &opts, &log));
    stored.log.reset(log);
    cli::check(name, rpm_archiver_open(tier_.get(), log, &archiver));
    stored.archiver.reset(archiver);
    stored.check_at = Clock::now() + kCheckEvery;
    if (options_.once) { /* records that are appended from now on are left to the next call */
        struct rpm_log_info info = rpm_log_info_init();

        cli::check(name, rpm_log_info(log, &info));
        stored.end_lsn = info.tail_lsn;
    }
}

/* Print an error once, and decide what to do about it. */
void Agent::failed(const std::string &name, Stored &stored, int err)
{
    std::string text = cli::RpmFailure(name, err).what();

    if (text != stored.told)
        notice(text);
    stored.told = text;
    stored.retry.failed();
    stored.done = options_.once;
    failed_ = true;
    /* The segment in memory is stored again after these; after the others the log is read anew. */
    if (err != RPM_E_NOSPACE && err != RPM_E_DENIED && err != RPM_E_IO)
        stored.archiver.reset();
}

/* Stage the decision to trim the log, which may have been trimmed or claimed since the last one. */
int Agent::decide(Stored &stored)
{
    rpm_decision decision = rpm_decision_init();
    int decided = rpm_archiver_decide(stored.archiver.get(), &decision);

    if (decided > 0)
        front_->stage(decision);
    return decided;
}

/* Store what one log has. True: a segment was stored. */
bool Agent::turn(const std::string &name, Stored &stored)
{
    int more;

    if (stored.done || !stored.retry.due())
        return false;
    /* A file may have been moved away: then an archiver that is opened anew stores it again. */
    if (stored.archiver != nullptr && Clock::now() >= stored.check_at)
        stored.archiver.reset();
    try {
        if (stored.archiver == nullptr)
            open(name, stored);
    } catch (const cli::RpmFailure &failure) {
        if (cli::is_unreachable(failure.err))
            throw;
        failed(name, stored, failure.err);
        return false;
    }
    more = rpm_archiver_turn(stored.archiver.get(), options_.once);
    if (more > 0 && options_.keep != UINT64_MAX) {
        int dropped = rpm_archiver_drop(stored.archiver.get(), options_.keep);

        more = dropped < 0 ? dropped : more;
    }
    if (more >= 0 && front_ != nullptr) {
        int decided = decide(stored);

        more = decided < 0 ? decided : more;
    }
    if (cli::is_unreachable(more))
        throw cli::RpmFailure(name, more);
    if (more < 0) {
        failed(name, stored, more);
        return false;
    }
    stored.retry.succeeded();
    stored.told.clear();
    segments_ += static_cast<uint64_t>(more);
    stored.done = options_.once && rpm_archiver_lsn(stored.archiver.get()) >= stored.end_lsn;
    return more > 0;
}

bool Agent::turn_all()
{
    bool any = false;

    if (Clock::now() >= list_at_)
        list();
    for (auto &[name, stored] : logs_)
        any = turn(name, stored) || any;
    return any;
}

void notify_ready()
{
#ifdef HAVE_SYSTEMD
    sd_notify(0, "READY=1");
#endif
}

/* What the engine has copied is counted by the connection. */
void Agent::disconnect()
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    logs_.clear();
    if (conn_ == nullptr)
        return;
    cli::check("statistics", rpm_conn_stats(conn_.get(), &stats));
    copied_ += stats.copied_bytes;
    fallbacks_ += stats.copy_fallbacks;
    conn_.reset();
}

int Agent::run()
{
    milliseconds idle = kIdleMin;
    Retry retry;
    bool lost = false;

    tier_ = options_.open_tier(options_.segment);
    conn_ = options_.connect();
    list();
    if (!options_.quiet)
        notice("ready: " + std::to_string(logs_.size()) + " logs of " + options_.pool + " to " +
               options_.tier);
    notify_ready();
    while (!cli::stopped()) {
        bool any = false;

        try {
            if (conn_ == nullptr && retry.due()) {
                conn_ = options_.connect();
                list();
                if (!options_.quiet)
                    notice("connected to " + options_.pool + " again");
                retry.succeeded();
                lost = false;
            }
            any = conn_ != nullptr && turn_all();
        } catch (const cli::RpmFailure &failure) {
            if (options_.once || !cli::is_unreachable(failure.err))
                throw;
            if (!lost)
                notice(std::string(failure.what()) + "; trying to connect again");
            lost = true;
            retry.failed();
            disconnect();
        }
        if (options_.once && !any)
            break;
        idle = any ? kIdleMin : std::min(idle * 2, kIdleMax);
        if (!any)
            std::this_thread::sleep_for(idle);
    }
    disconnect();
    if (!options_.quiet)
        notice(std::to_string(segments_) + " segments stored" +
               (options_.engine.empty()
                    ? ""
                    : ", " + std::to_string(copied_) + " bytes copied by engine " +
                          options_.engine + ", " + std::to_string(fallbacks_) + " times not"));
    return options_.once && failed_ ? cli::kFailed : cli::kDone;
}

/* Serve orders, and store segments too if there is a tier. */
int serve(const Options &options)
{
    AgentFront front({ options.pool, options.listen, options.tls_cert, options.tls_key,
                       options.clients, options.timeout, 0, options.name });
    cli::OnUsr1 counters([&front] { notice(front.summary()); });
    int status = cli::kDone;

    if (!options.quiet)
        notice("ready: orders at " + front.urls() + " for " + options.pool);
    if (options.tier.empty()) {
        notify_ready();
        front.join();
    } else {
        status = Agent(options, &front).run();
    }
    front.stop();
    if (!options.quiet)
        notice(front.summary());
    return front.failed() ? cli::kFailed : status;
}

int work(const Options &options)
{
    std::optional<Scrub> scrub;
    int status = cli::kDone;

    cli::block_usr1();
    if (options.scrub > 0)
        scrub.emplace(options, options.scrub);
    if (!options.listen.empty())
        status = serve(options);
    else if (!options.tier.empty())
        status = Agent(options).run();
    else {
        if (!options.quiet)
            notice("ready: verifies the logs of " + options.pool);
        notify_ready();
        scrub->join();
    }
    if (scrub)
        scrub->stop();
    if (scrub && !options.quiet)
        notice(scrub->summary());
    return status;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Store the records of logs as segments, and serve the orders of their writers.",
                 "rpm-agent");
    Options options;

    app.footer(kExamples);
    app.add_option("--pool", options.pool, "the server, such as shm:NAME")->required();
    app.add_option("--tier", options.tier,
                   "existing folder for the segments, or s3://BUCKET/PREFIX")
        ->type_name("DIR");
    app.add_option(
           "--listen", options.listen,
           "address for the orders of writers, such as tcp://HOST:PORT; several may be given")
        ->type_name("URL");
    app.add_option("--name", options.name,
                   "by which the server declares this agent (rpm-server --agent), so that it may "
                   "carry records of writers")
        ->type_name("NAME");
    app.add_option("--clients", options.clients, "writers at once (64)")
        ->check(CLI::Range(1, 1023));
    app.add_option("--tls-cert", options.tls_cert, "PEM file, for addresses with tls=on")
        ->type_name("FILE");
    app.add_option("--tls-key", options.tls_key, "PEM file of its key")->type_name("FILE");
    app.add_option("--log", options.logs, "only this log; may be given several times");
    cli::size_option(&app, "--segment", options.segment,
                     "LSNs of a segment: a power of two from 64K to 64M (4M)");
    cli::size_option(&app, "--keep", options.keep,
                     "remove segments that end so many LSNs, about bytes, before the newest record "
                     "that is stored, and were trimmed (keep all)");
    app.add_option("--scrub", options.scrub,
                   "verify all records, one pass in so many seconds, and name damaged ones")
        ->check(CLI::Range(0.1, 1e8))
        ->type_name("SECONDS");
    app.add_flag("--once", options.once,
                 "store all records that there are, the last ones too, and end");
    app.add_option("--engine", options.engine,
                   "copy engine that reads the logs: cpu, from a pool that is mapped, or rdma, "
                   "with the next bytes under way (one READ at a time)")
        ->check(CLI::IsMember({ "cpu", "rdma" }))
        ->type_name("NAME");
    app.add_option("--compress", options.compress,
                   "codec of the segments that it stores: lz4, zstd, which leaves fewer bytes and "
                   "takes longer, or none (lz4)")
        ->check(CLI::IsMember({ "lz4", "zstd", "none" }))
        ->type_name("CODEC");
    app.add_option("--timeout", options.timeout, "seconds that one call may take (5)")
        ->check(CLI::Range(0.001, 1e6));
    cli::secret_option(&app);
    app.add_flag("--quiet", options.quiet, "print errors only");
    signal(SIGPIPE, SIG_IGN);
    cli::catch_stop();
    app.callback([&] {
        if (options.tier.empty() && options.listen.empty() && options.scrub <= 0)
            throw CLI::ValidationError("--tier",
                                       "give a folder, to store segments, or --listen, to serve "
                                       "orders, or --scrub, to verify records");
        if (!options.name.empty() && options.listen.empty())
            throw CLI::ValidationError("--name", "it is for an agent that writers connect to; add "
                                                 "--listen");
        if (!options.engine.empty() && options.tier.empty() && options.scrub <= 0)
            throw CLI::ValidationError("--engine", "it reads logs; add --tier or --scrub");
        if (!options.compress.empty() && options.tier.empty())
            throw CLI::ValidationError("--compress", "it is for segments; add --tier");
        if (options.once && (!options.listen.empty() || options.scrub > 0))
            throw CLI::ValidationError("--once", "it ends when all is stored, and --listen and "
                                                 "--scrub do not; leave one of them out");
    });
    return cli::run(app, argc, argv, [&] { return work(options); });
}
