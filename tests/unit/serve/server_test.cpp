// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/serve/client.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace
{

using support::Server;
using support::ServerOpts;

int try_open(const std::string &listen, const std::string &pool, uint32_t flags = RPM_SERVER_CREATE,
             uint64_t bytes = 1 << 20)
{
    rpm_server_opts opts = rpm_server_opts_init();

    opts.listen = listen.c_str();
    opts.pool = pool.empty() ? nullptr : pool.c_str();
    opts.flags = flags;
    opts.pool_bytes = bytes;
    return support::try_server(opts);
}

bool exists(const std::string &path)
{
    return access(path.c_str(), F_OK) == 0;
}

} // namespace

TEST_CASE("server: invalid options are refused", "[unit]")
{
    support::Dir dir;
    std::string listen = "shm:" + dir / "s";
    rpm_server *server = nullptr;
    rpm_server_opts opts = rpm_server_opts_init();

    CHECK(rpm_server_open(nullptr, &server) == RPM_E_INVAL);
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL); // nowhere to listen
    opts.listen = listen.c_str();
    opts.pool_bytes = 1 << 20;
    opts.size = 3;
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL);
    opts.size = sizeof(opts);
    opts.flags = 1u << 30;
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL);
    opts.flags = 0;
    opts.clients_max = 100000;
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL);
    opts.clients_max = 0;
    opts.socket_mode = 010000;
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL);
    opts.socket_mode = 0;
    opts.domain = 99;
    CHECK(rpm_server_open(&opts, &server) == RPM_E_INVAL);
    opts.domain = 0;
    opts.numa_node = 1000;
    CHECK(rpm_server_open(&opts, &server) == (RPMI_WITH_NUMA ? RPM_E_INVAL : RPM_E_NOCAP));
    CHECK(server == nullptr);
    CHECK(try_open("tcp:x", "") == RPM_E_INVAL);
    CHECK(try_open("shm:", "") == RPM_E_INVAL);
    CHECK(try_open("shm:x,mode=ring", "") == RPM_E_INVAL);
    CHECK(try_open("shm:" + dir / "no/such/dir", "") == RPM_E_INVAL);
    CHECK(try_open(listen, "", RPM_SERVER_CREATE, 12345) == RPM_E_INVAL);
}

TEST_CASE("server: options of a newer caller are refused if set, else taken", "[unit]")
{
    support::Dir dir;
    struct Newer {
        rpm_server_opts opts;
        uint64_t more;
    } newer = { rpm_server_opts_init(), 1 };
    std::string listen = "shm:" + dir / "s";
    rpm_server *server = nullptr;

    newer.opts.size = sizeof(newer);
    newer.opts.listen = listen.c_str();
    newer.opts.pool_bytes = 1 << 20;
    CHECK(rpm_server_open(&newer.opts, &server) == RPM_E_OPTS);
    newer.more = 0;
    CHECK(rpm_server_open(&newer.opts, &server) == 0);
    rpm_server_close(&server);
}

TEST_CASE("server: a pool or a name that is served already is refused", "[unit]")
{
    Server server;
    support::Dir dir;

    CHECK(try_open("shm:" + dir / "other", server.pool()) == RPM_E_OWNED);
    CHECK_FALSE(exists(dir / "other"));
    CHECK(try_open(server.url(), dir / "pool") == RPM_E_OWNED);
    CHECK_FALSE(exists(dir / "pool"));
    RawClient client(server);
    CHECK(client.hello(RPMI_MODE_AUTO) == 0);
}

TEST_CASE("server: a stale socket is replaced, any other file is not", "[unit]")
{
    support::Dir dir;
    sockaddr_un address = {};

    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, (dir / "s").c_str());
    int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    REQUIRE(bind(sock, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    close(sock);
    CHECK(try_open("shm:" + dir / "s", "") == 0);
    close(open((dir / "file").c_str(), O_CREAT | O_WRONLY, 0600));
    CHECK(try_open("shm:" + dir / "file", "") == RPM_E_INVAL);
    CHECK(exists(dir / "file"));
    CHECK_FALSE(exists(dir / "file.lock"));
}

TEST_CASE("server: the socket has the permissions asked for, and is gone at the end", "[unit]")
{
    support::Dir dir;
    std::string listen = "shm:" + dir / "s";
    rpm_server_opts opts = rpm_server_opts_init();
    rpm_server *server = nullptr;
    struct stat st;

    opts.listen = listen.c_str();
    opts.pool_bytes = 1 << 20;
    opts.socket_mode = 0660;
    mode_t old = umask(0177);
    REQUIRE(rpm_server_open(&opts, &server) == 0);
    umask(old);
    REQUIRE(stat((dir / "s").c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0660);
    rpm_server_close(&server);
    CHECK_FALSE(exists(dir / "s"));
    CHECK_FALSE(exists(dir / "s.lock"));
    rpm_server_close(&server);
}

TEST_CASE("server: a failed open leaves no file and an existing one as it was", "[unit]")
{
    support::Dir dir;
    Server other;

    CHECK(try_open(other.url(), dir / "pool") == RPM_E_OWNED);
    CHECK_FALSE(exists(dir / "pool"));
    int fd = open((dir / "zeros").c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(ftruncate(fd, 1 << 20) == 0);
    CHECK(try_open(other.url(), dir / "zeros") == RPM_E_OWNED);
    uint64_t word = 1;
    REQUIRE(pread(fd, &word, sizeof(word), 8) == sizeof(word));
    CHECK(word == 0);
    close(fd);
    CHECK(try_open("shm:" + dir / "s", dir / "zeros", 0) == RPM_E_NOENT);
    CHECK(try_open("shm:" + dir / "s", dir / "zeros") == 0);
    CHECK(try_open("shm:" + dir / "s", dir / "zeros", 0) == 0);
}

TEST_CASE("server: objects exist after a restart", "[unit]")
{
    Server server;
    {
        RawClient client(server);

        REQUIRE(client.hello(RPMI_MODE_AUTO) == 0);
        REQUIRE(client.open("kept", RPM_KIND_LOG, 8192).status == 0);
    }
    server.stop();
    server.start();
    RawClient client(server);
    rpmi_call list = {};

    REQUIRE(client.hello(RPMI_MODE_AUTO) == 0);
    list.kind = RPMI_CALL_NEXT;
    rpmi_reply reply = client.call(list);
    CHECK(reply.status == 0);
    CHECK(std::string(reply.name) == "kept");
}

TEST_CASE("server: it declares agents by name, and counts those that are connected",
          "[unit][agent]")
{
    support::ServerOpts opts;
    rpmi_call call = {};
    rpm_server_opts wanted = rpm_server_opts_init();
    std::string names(1024, 'a');
    support::Dir dir;
    std::string address = "shm:" + dir / "s";

    wanted.listen = address.c_str();
    wanted.pool_bytes = 1 << 20;
    wanted.agents = names.c_str();
    CHECK(support::try_server(wanted) == RPM_E_INVAL);
    names.pop_back();
    wanted.agents = names.c_str();
    CHECK(support::try_server(wanted) == 0);

    opts.agents = "one two";
    Server server(opts);
    RawClient client(server);
    REQUIRE(client.hello(RPMI_MODE_RING) == 0);
    call.kind = RPMI_CALL_AGENT;
    strcpy(call.name, "three");
    CHECK(client.call(call).status == RPM_E_DENIED);
    CHECK(server.stats().agents == 0);
    strcpy(call.name, "two");
    CHECK(client.call(call).status == 0);
    CHECK(server.stats().agents == 1);
}

TEST_CASE("server: facts and counters", "[unit]")
{
    Server server;
    rpm_facts facts = rpm_facts_init();

    REQUIRE(rpm_server_facts(server.get(), &facts) == 0);
    CHECK(facts.domain == RPM_DOMAIN_ADR);
    CHECK(facts.domain_declared == 1);
    CHECK(facts.methods ==
          (1u << RPM_METHOD_STORE | 1u << RPM_METHOD_COPY | 1u << RPM_METHOD_MESSAGE));
    struct rpm_server_stats stats = {};
    CHECK(rpm_server_stats(server.get(), &stats) == RPM_E_INVAL);
    CHECK(server.stats().pool_bytes == 8 << 20);
    CHECK(server.stats().pool_free_bytes < 8 << 20);
}
