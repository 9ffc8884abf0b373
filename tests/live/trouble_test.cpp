// SPDX-License-Identifier: BSD-3-Clause
// trouble_test.cpp: failures between two machines, and the errors that a user gets for them.
#include "live/live.h"

#include <fstream>
#include <iterator>

using namespace live;

namespace
{

bool said(const char *text)
{
    return std::string(rpm_last_error()).find(text) != std::string::npos;
}

int sh(const std::string &command)
{
    return std::system(command.c_str());
}

int connect_to(const std::string &url)
{
    return Link(url).err;
}

} // namespace

TEST_CASE("trouble: no server listens at a wrong port", "[live]")
{
    CHECK(connect_to("verbs://" + env("LIBRPM_LAB_SERVER") + ":1/main") == RPM_E_REFUSED);
    CHECK(said("no server listens"));
}

TEST_CASE("trouble: the error names an address without a route, or without a device", "[live]")
{
    CHECK(connect_to("verbs://192.0.2.1:7471") == RPM_E_REFUSED);
    CHECK(said("RDMA"));
    CHECK(connect_to("verbs://127.0.0.1:7471,from=127.0.0.1") == RPM_E_REFUSED);
    CHECK(connect_to("verbs://no-such-host.invalid:7471") == RPM_E_REFUSED);
    CHECK(said("no-such-host"));
    CHECK(open_error(ServerOpts("192.0.2.1")) == RPM_E_NOCAP);
    CHECK(said("192.0.2.1"));
}

TEST_CASE("trouble: an address of the machine that no device has is refused", "[live]")
{
    for (const char *host : { "127.0.0.1", "[::1]", "localhost" }) {
        CAPTURE(host);
        CHECK(open_error(ServerOpts(host)) == RPM_E_NOCAP);
        CHECK(said("no RDMA device has the address"));
    }
}

TEST_CASE("trouble: * listens at all addresses of IPv4 and IPv6, one address at itself alone",
          "[live]")
{
    for (const std::string &host : { std::string("*"), env("LIBRPM_LAB_SERVER") }) {
        Server server{ ServerOpts(host) };
        std::string at = server.url().substr(("verbs://" + host).size());
        at.resize(at.find(','));

        CAPTURE(host);
        CHECK(connect_to("verbs://" + env("LIBRPM_LAB_SERVER") + at) == 0);
        int six = connect_to("verbs://[" + env("LIBRPM_LAB_SERVER6") + "]" + at);
        INFO(rpm_last_error());
        CHECK(six == (host == "*" ? 0 : RPM_E_REFUSED));
        if (six != 0)
            CHECK(said("no server listens"));
    }
}

TEST_CASE("trouble: invalid options are refused before the client connects", "[live]")
{
    const std::string to = "verbs://" + env("LIBRPM_LAB_SERVER") + ":1";

    for (const char *bad : { ",retries=8", ",rnr_retries=8", ",ack_timeout=32", ",inline=100000",
                             ",thread_domain=perhaps", ",mode=direct", ",retries=x" })
        CHECK(connect_to(to + bad) == RPM_E_INVAL);
}

TEST_CASE("trouble: IPv6 addresses serve as well", "[live]")
{
    Server server{ ServerOpts("[" + env("LIBRPM_LAB_SERVER6") + "]") };

    CHECK(connect_to(server.url()) == 0);
}

TEST_CASE("trouble: a device that is down does not answer until it is up again", "[live]")
{
    Server server;

    REQUIRE(sh("ip link set lab1 down") == 0);
    int err = connect_to(server.url());
    REQUIRE(sh("ip link set lab1 up") == 0);
    CHECK((err == RPM_E_REFUSED || err == RPM_E_TIMEDOUT));
    uint64_t deadline = rpmi_clock_ns() + 30 * kSecond;
    while ((err = connect_to(server.url())) != 0 && rpmi_clock_ns() < deadline)
        rpmi_clock_sleep_ns(100000000);
    CHECK(err == 0);
}

TEST_CASE("trouble: a file on persistent memory cannot be pinned here, with the reason", "[live]")
{
    ServerOpts opts;

    opts.anonymous = false;
    opts.pool = env("LIBRPM_LAB_FSDAX") + "/pool";
    opts.flags = RPM_SERVER_CREATE;
    opts.domain = 0;
    CHECK(open_error(opts) == RPM_E_NOCAP);
    CHECK(said("devdax"));
    CHECK(access(opts.pool.c_str(), F_OK) != 0); // no registration is left
}

TEST_CASE("trouble: a queue deeper than the device allows is refused with its limit", "[live]")
{
    Server server;
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;
    ibv_device_attr attr = {};
    ibv_device **list = ibv_get_device_list(nullptr);
    ibv_context *verbs = ibv_open_device(list[0]);

    REQUIRE(ibv_query_device(verbs, &attr) == 0);
    ibv_close_device(verbs);
    ibv_free_device_list(list);
    opts.depth = RPMI_DEPTH_MAX;
    int err = rpm_conn_open(server.url().c_str(), &opts, &conn);
    INFO(rpm_last_error());
    if (attr.max_qp_wr >= 2 * static_cast<int>(RPMI_DEPTH_MAX) + 64) {
        CHECK(err == 0);
    } else {
        CHECK(err == RPM_E_NOCAP);
        CHECK(said("depth"));
    }
    rpm_conn_close(&conn);
}

TEST_CASE("trouble: a limit of locked memory that is too low says how to raise it", "[live]")
{
    Server server;
    support::Dir dir;

    // Without CAP_IPC_LOCK, which would override the limit.
    CHECK(
        sh("prlimit --memlock=65536 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock " RPM_LOG
           " info '" +
           server.url() + "' log 2> " + dir / "said") != 0);
    std::ifstream file(dir / "said");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CAPTURE(text);
    CHECK(text.find("ulimit -l") != std::string::npos);
}

TEST_CASE("trouble: a server that stops answering in the middle of a handshake", "[live]")
{
    // It listens, but none of its threads runs: the connection is never accepted.
    ServerOpts without_threads;
    without_threads.threads = ServerOpts::kNone;
    Server server(without_threads);
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;
    uint64_t before = rpmi_clock_ns();

    opts.timeout_us = 500000;
    CHECK(rpm_conn_open(server.url().c_str(), &opts, &conn) == RPM_E_TIMEDOUT);
    CHECK(rpmi_clock_ns() - before < 3 * kSecond);
}

TEST_CASE("trouble: an engine that hangs costs a deadline, not the client", "[live]")
{
    ServerOpts without_engine;
    without_engine.threads = ServerOpts::kControl;
    Server server(without_engine);
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;

    opts.timeout_us = 500000;
    // no engine reads its auth message
    CHECK(rpm_conn_open(server.url().c_str(), &opts, &conn) == RPM_E_TIMEDOUT);
}

TEST_CASE("trouble: loss, reordering and delay change nothing but speed", "[live]")
{
    if (sh("modprobe sch_netem; tc qdisc add dev lab1 root netem delay 1ms 1ms reorder 25% loss "
           "3%") != 0) {
        WARN("this kernel has no netem: not tried");
        return;
    }
    {
        ServerOpts opts;
        Server server(opts);
        rpm_conn *conn = nullptr;
        rpm_log *log = nullptr;
        rpm_log_opts log_opts = rpm_log_opts_init();
        unsigned appended = 0;

        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 1 << 20;
        CHECK(rpm_conn_open(server.url().c_str(), nullptr, &conn) == 0);
        if (conn != nullptr && rpm_log_open(conn, "log", &log_opts, &log) == 0)
            for (; appended < 100; appended++) {
                std::string record = "record " + std::to_string(appended);
                if (rpm_log_append(log, record.data(), record.size(), nullptr) != 0)
                    break;
            }
        CHECK(appended == 100);
        rpm_reader *reader = nullptr;
        unsigned read = 0;
        if (log != nullptr && rpm_reader_open(log, nullptr, &reader) == 0) {
            rpm_record record = {};
            while (rpm_reader_next(reader, &record) == 1) {
                std::string want = "record " + std::to_string(read++);
                CHECK(std::string(static_cast<const char *>(record.data), record.len) == want);
            }
        }
        CHECK(read == appended);
        rpm_reader_close(&reader);
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    CHECK(sh("tc qdisc del dev lab1 root") == 0);
}

TEST_CASE("trouble: a client's death frees its locks and claims", "[live]")
{
    Server server;
    struct rpm_server_stats stats = rpm_server_stats_init();
    support::Dir dir;

    // It holds the claim while it waits for more input.
    CHECK(sh("cd " + dir / "." + " && mkfifo more && { sleep 30 > more & } && url='" +
             server.url() +
             "' && { " RPM_LOG " append \"$url\" log < more > /dev/null 2>&1 & } && "
             "for i in $(seq 100); do sleep 0.05; " RPM_LOG
             " info \"$url\" log 2>/dev/null | grep -q 'writer *client' && break; done; "
             "kill -KILL $!") == 0);
    for (int i = 0; i < 100; i++) {
        REQUIRE(rpm_server_stats(server.get(), &stats) == 0);
        if (stats.died >= 1 && stats.clients == 0)
            break;
        rpmi_clock_sleep_ns(50000000);
    }
    CHECK(stats.died >= 1);
    CHECK(stats.clients == 0);
}
