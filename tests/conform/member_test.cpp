// SPDX-License-Identifier: BSD-3-Clause
// member_test.cpp: the calls for members of a set of logs, on every transport: epochs and tokens of
// claims, what OPEN says of the server's life, the count of its starts, and the commit word.
#include "conform/fixture.h"

extern "C" {
#include "base/clock.h"
#include "log/member.h"
#include "transport/shm/shm.h"
}
#include <librpm.h>

using namespace conform;

namespace
{

const uint64_t FIRST = 6400;

class Member : public Connected
{
  public:
    explicit Member(Server *server, const std::string &wrap = "")
        : Connected(server, wrap), server_(server)
    {
    }
    ~Member()
    {
        close();
    }
    void close()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int open(uint8_t acks = 2)
    {
        rpm_log_opts opts = rpm_log_opts_init();
        const std::string name = server_->name("copy");
        const rpmi_member member = {
            std::hash<std::string>()(name) | 1, FIRST, 5, { 3, acks, 1, 99 }
        };

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        opts.capacity_bytes = 64 << 10;
        return rpmi_member_open(conn, name.c_str(), &opts, &member, &log);
    }
    int take(uint32_t epoch, uint32_t flags = 0)
    {
        rpmi_scan_report report = {};
        int err = rpmi_member_claim(log, epoch, flags);

        if (err == 0)
            err = rpmi_log_scan(log, log->head.trim_lsn, nullptr, nullptr, &report);
        return err != 0 ? err : rpmi_member_seal(log, report.end_lsn);
    }
    int again()
    {
        int err = rpm_conn_reconnect(conn);

        return err != 0 ? err : rpmi_member_attach(log);
    }
    // With the token of another handle, as its older connection.
    int open_as(const Member &older)
    {
        int err = open();

        log->token = older.log->token;
        log->epoch = older.log->epoch;
        return err;
    }
    std::vector<unsigned char> ring()
    {
        std::vector<unsigned char> bytes(log->capacity);

        REQUIRE(rpmi_conn_read(conn, log->read_key, RPMI_LOG_HEADER_BYTES, bytes.data(),
                               bytes.size()) == 0);
        return bytes;
    }
    int append(const std::string &data)
    {
        return rpm_log_append(log, data.data(), data.size(), nullptr);
    }
    uint64_t commit()
    {
        uint64_t lsn = 99;

        REQUIRE(rpmi_member_committed(log, &lsn) == 0);
        return lsn;
    }
    uint32_t starts() const
    {
        rpm_facts facts = rpm_facts_init();

        REQUIRE(rpm_conn_facts(conn, &facts) == 0);
        return facts.pool_starts;
    }

    rpm_log *log = nullptr;

  private:
    Server *server_;
};

using Strings = std::vector<std::string>;

// A server of shm:, which a client connects to in the mode that it names as its wrapper.
class ModeServer : public Server
{
  public:
    using Server::connect;
    int connect(const std::string &mode, rpmi_link **link, const rpmi_link_opts &opts) override
    {
        return rpmi_link_open(server_.url(mode).c_str(), &opts, link);
    }
    void kill() override {}
    void restart() override {}

  private:
    support::Server server_;
};

} // namespace

#define ON_EACH_SERVER()                                                                           \
    std::string where = GENERATE(from_range(servers()));                                           \
    CAPTURE(where);                                                                                \
    std::unique_ptr<Server> server = start_server(where)

TEST_CASE("member: a writer comes back to a server that was killed, with its epoch", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SERVER();
    Member member(server.get());

    uint32_t starts = member.starts();
    CHECK(starts > 0);
    REQUIRE(member.open() == 0);
    CHECK((member.log->lasts & RPMI_REPLY_RUN_LASTS) != 0);
    CHECK((member.log->lasts & RPMI_REPLY_BOOT_LASTS) != 0);
    REQUIRE(member.take(5) == 0);
    REQUIRE(member.append("one") == 0);
    REQUIRE(rpmi_member_commit(member.log, FIRST + 64) == 0);
    server->kill();
    CHECK(member.append("lost") == RPM_E_LOST);
    server->restart();
    REQUIRE(member.again() == 0);
    CHECK(member.starts() == starts + 1);
    CHECK(member.log->lasts == RPMI_REPLY_BOOT_LASTS);
    CHECK(member.commit() == FIRST + 64);
    REQUIRE(member.take(5) == 0);
    REQUIRE(member.append("two") == 0);
    Strings all = records_of(member.log);
    CHECK(all.front() == "one");
    CHECK(all.back() == "two");
    CHECK((all.size() == 2 || all[1] == "lost"));
}

TEST_CASE("member: another writer's claim ends the epoch, its token and its commit word",
          "[conform]")
{
    ON_EACH_SERVER();
    Member first(server.get());
    Member second(server.get());

    REQUIRE(first.open() == 0);
    CHECK(second.open(3) == RPM_E_EXISTS);
    REQUIRE(second.open() == 0);
    REQUIRE(first.take(5) == 0);
    REQUIRE(first.append("one") == 0);
    REQUIRE(rpmi_member_commit(first.log, FIRST + 640) == 0);
    CHECK(second.commit() == FIRST + 640);
    CHECK(second.take(5) == RPM_E_FENCED);
    CHECK(second.take(6) == RPM_E_OWNED);
    REQUIRE(second.take(6, RPMI_CALL_TAKEOVER) == 0);
    CHECK(second.commit() == FIRST + 64);
    CHECK(rpmi_member_commit(first.log, FIRST + 640) < 0);
    CHECK(first.append("fenced") < 0);
    CHECK(second.commit() == FIRST + 64);
    REQUIRE(second.append("two") == 0);
    CHECK(records_of(second.log) == Strings{ "one", "two" });
    REQUIRE(first.again() == 0);
    CHECK(first.take(5) == RPM_E_FENCED);
    CHECK(first.take(6) == RPM_E_FENCED);
}

TEST_CASE("member: before its seal it is trimmed to any LSN, which outlives the server",
          "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SERVER();
    Member member(server.get());
    const uint64_t far = FIRST + 5 * (64 << 10) + 640;

    REQUIRE(member.open() == 0);
    REQUIRE(member.take(5) == 0);
    REQUIRE(member.append("one") == 0);
    REQUIRE(rpmi_member_claim(member.log, 6, 0) == 0);
    REQUIRE(rpmi_member_trim(member.log, far) == 0);
    server->kill();
    server->restart();
    REQUIRE(member.again() == 0);
    CHECK(member.log->head.trim_lsn == far);
    REQUIRE(member.take(6) == 0);
    REQUIRE(member.append("two") == 0);
    CHECK(records_of(member.log) == Strings{ "two" });
}

// The connection before may still be there for the server. A direct client writes by itself, so its
// older connection must be closed first.
TEST_CASE("member: a claim of the same epoch ends the key of the older connection", "[conform]")
{
    ON_EACH_SERVER();
    bool direct = where == "shm direct";
    auto older = std::make_unique<Member>(server.get());
    Member newer(server.get());

    REQUIRE(older->open() == 0);
    REQUIRE(older->take(5) == 0);
    REQUIRE(older->append("one") == 0);
    REQUIRE(newer.open_as(*older) == 0);
    CHECK(newer.take(5) == (direct ? RPM_E_OWNED : 0));
    if (direct) {
        older.reset();
        REQUIRE(newer.take(5) == 0);
    } else {
        CHECK(older->append("late") < 0);
    }
    REQUIRE(newer.append("two") == 0);
    CHECK(records_of(newer.log) == Strings{ "one", "two" });
}

// A direct writer that is connected still: the claim is refused, as above.
TEST_CASE("member: bytes of the older connection that are under way never follow the claim",
          "[conform]")
{
    ON_EACH_SERVER();
    if (where == "shm direct")
        return;
    uint64_t late = 0;
    auto older = std::make_unique<Member>(server.get());

    REQUIRE(older->open() == 0);
    for (size_t round = 0; round < 12; round++) {
        const std::string data(400 + 500 * round, 'x');
        Member newer(server.get());

        REQUIRE(older->take(5) == 0);
        REQUIRE(newer.open_as(*older) == 0);
        for (int i = 0; i < 6; i++)
            REQUIRE(rpm_log_append_async(older->log, data.data(), data.size(),
                                         i % 2 == 0 ? RPM_MORE : 0, nullptr, nullptr) == 0);
        if (round % 3 == 0)
            (void)!rpm_conn_turn(older->conn);
        REQUIRE(rpmi_member_claim(newer.log, 5, 0) == 0);
        const std::vector<unsigned char> found = newer.ring();
        for (int i = 0; i < 20; i++) {
            (void)!rpm_conn_turn(older->conn);
            newer.conn->link->ops->pause(newer.conn->link, 100000);
        }
        CHECK((newer.ring() == found));
        late += older->append("late") == 0;
        REQUIRE(newer.take(5) == 0);
        REQUIRE(rpm_log_trim(newer.log, newer.log->tail_lsn) == 0);
        older = std::make_unique<Member>(server.get());
        REQUIRE(older->open_as(newer) == 0);
    }
    CHECK(late == 0);
}

// The file lock of its guard slot, by which the server knows that it lives, comes after the answer.
TEST_CASE("member: a direct writer whose claim has ended before it has its lock writes nothing",
          "[conform]")
{
    NEEDS_OWN_SERVER("the keys of another server's clients are not known");
    ModeServer server;
    Member older(&server, "direct");
    Member newer(&server, "ring");
    rpmi_shm *shm = rpmi_shm_of(older.conn->link);
    const uint64_t deadline = rpmi_clock_ns() + PATIENCE;
    const unsigned char line[64] = { 1 };
    rpmi_call call = {};
    rpmi_reply reply;
    rpmi_op op = {};

    REQUIRE(older.open() == 0);
    call.kind = RPMI_CALL_CLAIM;
    call.key = older.log->read_key;
    call.epoch = 5;
    call.token = older.log->token;
    REQUIRE(rpmi_shm_ask(shm, &call, &reply, deadline) == 0);
    REQUIRE(reply.status == 0);
    REQUIRE(newer.open_as(older) == 0);
    REQUIRE(newer.take(5) == 0);
    const std::vector<unsigned char> found = newer.ring();
    CHECK(rpmi_direct_learn(shm, &call, &reply, deadline) == 0);
    op.kind = RPMI_OP_WRITE;
    op.key = reply.key;
    op.offset = RPMI_LOG_HEADER_BYTES;
    op.len = sizeof(line);
    op.body = line;
    op.body_bytes = sizeof(line);
    CHECK(older.conn->link->ops->post(older.conn->link, &op, 1) == RPM_E_FENCED);
    CHECK((newer.ring() == found));
    REQUIRE(newer.append("one") == 0);
    // And it keeps no lock that would delay the next claim.
    newer.log->token = 0;
    CHECK(newer.take(5 + RPMI_GUARD_SLOTS) == 0);
}
