/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_server.cc: rpm-server: lend a pool to clients until SIGTERM or SIGINT.
 *
 * The main thread answers control messages, the engine thread carries out requests. A third thread
 * prints the counters on SIGUSR1.
 */
#include "cli.h"
#include "server/options.h"
#include "usr1.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <sstream>
#include <sys/resource.h>
#include <syslog.h>
#include <thread>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

using server::Options;

namespace
{

constexpr const char *kExamples =
    "Examples:\n"
    "  rpm-server --pool /dev/shm/pool --size 1G --listen shm:demo --domain adr\n"
    "  rpm-server --pool /var/lib/pool --size 10G --listen shm:logs --clients 16\n"
    "  rpm-server --size 64M --listen shm:/tmp/test.sock        (anonymous memory)\n"
    "  rpm-server --pool /dev/shm/pool --size 1G --listen tcp://*:7430/pool --secret-file key\n"
    "  rpm-server --pool /dev/dax0.0 --size 64G --listen verbs://10.0.0.1:7471/pool "
    "--secret-file key --ddio off\n"
    "  rpm-server --config /etc/librpm/rpm-server.conf\n"
    "\n"
    "The configuration file holds the same names without dashes: pool = \"/dev/shm/pool\".\n"
    "Signals: SIGTERM and SIGINT end cleanly, SIGUSR1 prints the counters as JSON.";

struct ServerClose {
    void operator()(rpm_server *server) const
    {
        rpm_server_close(&server);
    }
};
using Server = std::unique_ptr<rpm_server, ServerClose>;

std::atomic<rpm_server *> running{ nullptr };

void notice(const Options &options, const std::string &text)
{
    if (options.quiet)
        return;
    if (options.syslog)
        syslog(LOG_NOTICE, "%s", text.c_str());
    else
        fprintf(stderr, "rpm-server: %s\n", text.c_str());
}

void log_to_syslog(void *, rpm_diag_level level, const char *text)
{
    static const int priority[] = { LOG_DEBUG, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG };

    syslog(priority[level], "%s", text);
}

void log_to_stderr(void *, rpm_diag_level, const char *text)
{
    fprintf(stderr, "rpm-server: %s\n", text);
}

void notify_systemd(const char *state)
{
#ifdef HAVE_SYSTEMD
    sd_notify(0, state);
#else
    (void)state;
#endif
}

Server open_server(const Options &options)
{
    rpm_server_opts opts = rpm_server_opts_init();
    std::string listen = server::listen_text(options);
    std::string agents = server::joined(options.agents);
    std::string secret;
    rpm_server *server = nullptr;

    if (!options.secret_file.empty())
        secret = cli::read_secret(options.secret_file);
    opts.pool = options.pool.empty() ? nullptr : options.pool.c_str();
    opts.listen = listen.c_str();
    opts.pool_bytes = options.size;
    opts.dram_bytes = options.dram;
    opts.domain = options.domain;
    opts.clients_max = options.clients;
    opts.socket_mode = server::parse_mode(options.socket_mode);
    opts.secret = secret.empty() ? nullptr : secret.c_str();
    opts.agents = agents.empty() ? nullptr : agents.c_str();
    opts.fence_us = options.fence_us;
    opts.tls_cert = options.tls_cert.empty() ? nullptr : options.tls_cert.c_str();
    opts.tls_key = options.tls_key.empty() ? nullptr : options.tls_key.c_str();
    opts.ddio = options.ddio.empty() ? 0 : options.ddio == "on" ? RPM_YES : RPM_NO;
    opts.numa_node = options.numa + 1;
    if (options.size != 0 && !options.no_create)
        opts.flags |= RPM_SERVER_CREATE;
    if (options.no_direct)
        opts.flags |= RPM_SERVER_NO_DIRECT;
    if (options.huge)
        opts.flags |= RPM_SERVER_HUGE;
    if (options.no_spin)
        opts.flags |= RPM_SERVER_NO_SPIN;
    if (options.fence == "kill")
        opts.flags |= RPM_SERVER_FENCE_KILL;
    cli::check("cannot serve", rpm_server_open(&opts, &server));
    return Server(server);
}

std::string stats_json(rpm_server *server)
{
    struct rpm_server_stats stats = {};
    std::ostringstream text;

    stats.size = sizeof(stats);
    cli::check("statistics", rpm_server_stats(server, &stats));
    text << "{\"clients\":" << stats.clients << ",\"accepted\":" << stats.accepted
         << ",\"refused\":" << stats.refused << ",\"died\":" << stats.died
         << ",\"calls\":" << stats.calls << ",\"ops\":" << stats.ops << ",\"bytes\":" << stats.bytes
         << ",\"rejected\":" << stats.rejected << ",\"claims\":" << stats.claims
         << ",\"fenced\":" << stats.fenced << ",\"locks_freed\":" << stats.locks_freed
         << ",\"pool_bytes\":" << stats.pool_bytes
         << ",\"pool_free_bytes\":" << stats.pool_free_bytes << ",\"agents\":" << stats.agents
         << ",\"carried\":" << stats.carried << ",\"pool_starts\":" << stats.pool_starts << "}";
    return text.str();
}

void write_stats(rpm_server *server, const std::string &path)
{
    if (path.empty()) {
        fprintf(stderr, "%s\n", stats_json(server).c_str());
        return;
    }
    cli::OutFile file(path);

    file.write(stats_json(server) + "\n");
    file.close();
}

template <typename Body> std::thread start_thread(Body body)
{
    try {
        return std::thread(body);
    } catch (const std::system_error &error) {
        throw cli::Failure(std::string("cannot start a thread: ") + error.what());
    }
}

/* An error, such as a disk that is full, must not end the server. */
void print_stats(rpm_server *server, const std::string &path)
{
    try {
        write_stats(server, path);
    } catch (const std::exception &failure) {
        fprintf(stderr, "rpm-server: %s\n", failure.what());
    }
}

/* A write beyond the limit on file sizes, of a pool or of diagnostics, fails with an error. Its
 * signal is ignored, because it would end the server and all connections. */
void survive_file_limits()
{
    signal(SIGXFSZ, SIG_IGN);
}

/* A client needs several descriptors, and the default limit of many systems is 1024. */
void raise_descriptor_limit()
{
    rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool is_shm(const std::string &url)
{
    return url.compare(0, 4, "shm:") == 0;
}

/* The server's addresses, with the ports that the system chose: shm: first, then the others in the
 * order given. The URL has tls=on if clients need it. */
std::vector<std::string> urls_of(rpm_server *server, const Options &options)
{
    std::istringstream words(server::listen_text(options));
    std::vector<std::string> asked{ std::istream_iterator<std::string>(words), {} };
    std::vector<std::string> urls;
    char url[512];

    std::stable_partition(asked.begin(), asked.end(), is_shm);
    for (const std::string &one : asked) {
        cli::check(one,
                   rpm_server_url(server, static_cast<uint32_t>(urls.size()), url, sizeof(url)));
        urls.push_back(url);
        if ((one + ",").find(",tls=on,") != std::string::npos)
            urls.back() += ",tls=on";
    }
    return urls;
}

std::string ready_text(rpm_server *server, const Options &options)
{
    rpm_facts facts = rpm_facts_init();
    struct rpm_server_stats stats = {};
    std::vector<std::string> urls = urls_of(server, options);
    std::ostringstream text;
    bool shm = false;

    stats.size = sizeof(stats);
    cli::check("facts", rpm_server_facts(server, &facts));
    cli::check("statistics", rpm_server_stats(server, &stats));
    text << "ready:";
    for (const std::string &url : urls) {
        text << " " << url;
        shm = shm || is_shm(url);
    }
    text << ", pool " << (options.pool.empty() ? "anonymous" : options.pool) << ", "
         << cli::size_text(static_cast<double>(stats.pool_bytes)) << ", medium "
         << rpm_medium_name(static_cast<rpm_medium>(facts.medium)) << ", domain "
         << rpm_domain_name(static_cast<rpm_domain>(facts.domain))
         << (facts.domain_declared != 0 ? " (declared)" : "") << ", start " << facts.pool_starts
         << " of the pool";
    if (shm)
        text << ", direct "
             << ((facts.methods & (1u << RPM_METHOD_STORE)) != 0 ? "lent to its user"
                                                                 : "never lent");
    for (size_t i = 0; i < options.agents.size(); i++)
        text << (i == 0 ? ", declared agents " : " ") << options.agents[i];
    return text.str();
}

/* Report the size of the pool if it is not --size: an existing pool, and any on a device, keeps its
 * size. */
void report_size(rpm_server *server, const Options &options)
{
    struct rpm_server_stats stats = {};

    stats.size = sizeof(stats);
    cli::check("statistics", rpm_server_stats(server, &stats));
    if (options.size != 0 && options.size != stats.pool_bytes)
        notice(options, "the pool has " + cli::size_text(static_cast<double>(stats.pool_bytes)) +
                            ": --size " + cli::size_text(static_cast<double>(options.size)) +
                            " counts only when a file is made");
}

int serve(const Options &options)
{
    Server server;
    std::thread engine;
    int engine_err = 0;
    int err = 0;

    if (options.syslog)
        openlog("rpm-server", LOG_PID, LOG_DAEMON);
    rpm_diag_sink(options.syslog ? log_to_syslog : log_to_stderr, nullptr,
                  options.verbose ? RPM_DIAG_DEBUG
                  : options.quiet ? RPM_DIAG_WARNING
                                  : RPM_DIAG_NOTICE);
    cli::block_usr1();
    survive_file_limits();
    raise_descriptor_limit();
    cli::catch_stop([] {
        rpm_server *now = running.load();

        if (now != nullptr)
            rpm_server_stop(now);
    });
    server = open_server(options);
    running = server.get();
    if (cli::stopped()) /* stopped before the server ran */
        rpm_server_stop(server.get());
    {
        cli::OnUsr1 stats([&] { print_stats(server.get(), options.json_stats); });

        engine = start_thread([&] {
            engine_err = rpm_server_engine(server.get());
            if (engine_err != 0)
                rpm_server_stop(server.get());
        });
        report_size(server.get(), options);
        notice(options, ready_text(server.get(), options));
        notify_systemd("READY=1");
        err = rpm_server_run(server.get());
        notify_systemd("STOPPING=1");
        rpm_server_stop(server.get());
        engine.join();
        if (!options.json_stats.empty())
            write_stats(server.get(), options.json_stats);
    }
    running = nullptr;
    notice(options, "ended");
    return err == 0 && engine_err == 0 ? cli::kDone : cli::kFailed;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Lend a pool of memory to clients of librpm", "rpm-server");
    Options options;

    server::add_options(app, options);
    app.footer(kExamples);
    return cli::run(app, argc, argv, [&] { return serve(options); });
}
