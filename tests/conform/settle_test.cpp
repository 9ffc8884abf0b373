// SPDX-License-Identifier: BSD-3-Clause
// settle_test.cpp: a writer that was disconnected or fenced, on every transport: each append that
// ended unknown has one outcome, and only rpm_log_claim() makes it a writer again.
#include "conform/fixture.h"

extern "C" {
#include "conn/conn.h"
}
#include <librpm.h>

using namespace conform;

namespace
{

const uint32_t INFLIGHT = 8;

// A client that writes to the log that all clients of a case share.
class Writer : public Connected
{
  public:
    explicit Writer(Server *server) : Connected(server), server_(server) {}
    ~Writer()
    {
        rpm_log_close(&log);
    }
    int open(uint32_t flags = 0)
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | flags;
        opts.capacity_bytes = 64 << 10;
        opts.inflight_max = INFLIGHT;
        return rpm_log_open(conn, server_->name("log").c_str(), &opts, &log);
    }
    int append(const std::string &data)
    {
        return rpm_log_append(log, data.data(), data.size(), nullptr);
    }
    int append_async(const std::string &data, uintptr_t context)
    {
        return rpm_log_append_async(log, data.data(), data.size(), 0,
                                    reinterpret_cast<void *>(context), nullptr);
    }
    int append_batch(uint32_t n)
    {
        std::vector<rpm_slice> records(n, { "batch", 5 });

        return rpm_log_append_batch(log, records.data(), n, nullptr);
    }
    int resume()
    {
        count = 99;
        return rpm_log_resume(log, outcomes, INFLIGHT, &count);
    }
    std::vector<std::string> read() const
    {
        return conform::records_of(log);
    }

    rpm_log *log = nullptr;
    rpm_outcome outcomes[INFLIGHT] = {};
    uint32_t count = 99;

  private:
    Server *server_;
};

struct rpm_log_info info_of(rpm_log *log)
{
    struct rpm_log_info info = rpm_log_info_init();

    REQUIRE(rpm_log_info(log, &info) == 0);
    return info;
}

using Strings = std::vector<std::string>;

} // namespace

#define ON_EACH_SERVER()                                                                           \
    std::string where = GENERATE(from_range(servers()));                                           \
    CAPTURE(where);                                                                                \
    std::unique_ptr<Server> server = start_server(where)

TEST_CASE("settle: each blocking append that ends unknown has one outcome", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SERVER();
    Writer writer(server.get());

    REQUIRE(writer.open() == 0);
    REQUIRE(writer.append("one") == 0);
    server->kill();
    CHECK(writer.append("two") == RPM_E_LOST);   // perhaps sent
    CHECK(writer.append("three") == RPM_E_LOST); // certainly not sent
    CHECK(writer.append_batch(3) == RPM_E_LOST);
    CHECK(writer.append_async("refused", 9) == RPM_E_LOST); // not in the log, no outcome
    server->restart();
    REQUIRE(rpm_conn_reconnect(writer.conn) == 0);
    REQUIRE(writer.resume() == 0);
    REQUIRE(writer.count == 5);
    for (const rpm_outcome &outcome : writer.outcomes)
        CHECK(outcome.context == nullptr);
    for (uint32_t i = 1; i < writer.count; i++) {
        CHECK(writer.outcomes[i].present == 0);
        CHECK(writer.outcomes[i].lsn == RPM_LSN_NONE);
    }
    CHECK(writer.append("four") == 0);
    CHECK(writer.read() == (writer.outcomes[0].present == 1 ? Strings{ "one", "two", "four" }
                                                            : Strings{ "one", "four" }));
}

TEST_CASE("settle: outcomes that fill their room are settled before more are taken", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SERVER();
    Writer writer(server.get());

    REQUIRE(writer.open() == 0);
    server->kill();
    for (uint32_t i = 0; i < INFLIGHT; i++)
        CHECK(writer.append("x") == RPM_E_LOST);
    CHECK(writer.append("x") == RPM_E_BUSY);
    CHECK(writer.append_batch(1) == RPM_E_BUSY);
    server->restart();
    REQUIRE(rpm_conn_reconnect(writer.conn) == 0);
    REQUIRE(writer.resume() == 0);
    CHECK(writer.count == INFLIGHT);
    CHECK(writer.append("y") == 0);
}

TEST_CASE("settle: a fenced writer gets the same error on every link", "[conform]")
{
    ON_EACH_SERVER();
    std::string how = GENERATE("append", "batch", "async");
    Writer old(server.get());
    Writer next(server.get());
    struct rpm_log_info bounds = rpm_log_info_init();

    CAPTURE(how);
    REQUIRE(old.open(RPM_LOG_TAKEOVER) == 0);
    uint64_t before = old.read().size();
    REQUIRE(old.append("one") == 0);
    REQUIRE(next.open(RPM_LOG_TAKEOVER) == 0);
    if (how == "async") {
        rpm_completion done = {};

        REQUIRE(old.append_async("late", 7) == 0);
        CHECK(rpm_log_persist(old.log) == RPM_E_FENCED);
        REQUIRE(rpm_log_poll(old.log, &done, 1) == 1);
        CHECK(done.status == RPM_E_FENCED);
    } else {
        CHECK((how == "append" ? old.append("late") : old.append_batch(1)) == RPM_E_FENCED);
    }
    // Being fenced has ended the connection.
    CHECK(rpm_log_info(old.log, &bounds) == RPM_E_LOST);
    CHECK(old.resume() == RPM_E_LOST);
    REQUIRE(rpm_conn_reconnect(old.conn) == 0);
    CHECK(old.append("later") == RPM_E_FENCED);
    CHECK(old.resume() == RPM_E_FENCED);
    REQUIRE(old.count == 2);
    CHECK(old.outcomes[0].context == reinterpret_cast<void *>(how == "async" ? 7 : 0));
    CHECK(old.outcomes[0].present == 0);
    CHECK(old.outcomes[1].present == 0);
    // The log can only be read now.
    CHECK(next.append("two") == 0);
    CHECK(old.read().size() == before + 2);
    CHECK(old.append("x") == RPM_E_FENCED);
}

TEST_CASE("settle: a fenced writer stays fenced after its successor has left", "[conform]")
{
    ON_EACH_SERVER();
    bool fenced = GENERATE(false, true); // it got RPM_E_FENCED, or only lost its connection
    Writer old(server.get());
    Writer next(server.get());

    CAPTURE(fenced);
    REQUIRE(old.open(RPM_LOG_TAKEOVER) == 0);
    REQUIRE(old.append("one") == 0);
    REQUIRE(next.open(RPM_LOG_TAKEOVER) == 0);
    REQUIRE(next.append("two") == 0);
    rpm_log_close(&next.log);
    if (fenced)
        CHECK(old.append("late") == RPM_E_FENCED);
    REQUIRE(rpm_conn_reconnect(old.conn) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(old.resume() == RPM_E_FENCED);
        CHECK(old.count == (fenced && i == 0 ? 1 : 0));
        CHECK(old.append("later") == RPM_E_FENCED);
        CHECK(old.resume() == RPM_E_FENCED);
        CHECK(old.count == 1);
    }
    CHECK(old.read().back() == "two");
}

TEST_CASE("settle: a disconnected writer does not fence a writer that has just claimed",
          "[conform]")
{
    ON_EACH_SERVER();
    bool resumes = GENERATE(true, false); // or only settles
    Writer old(server.get());
    Writer next(server.get());
    rpmi_call call = {};
    rpmi_reply reply = {};

    CAPTURE(resumes);
    REQUIRE(old.open(RPM_LOG_TAKEOVER) == 0);
    REQUIRE(old.append("one") == 0);
    // The successor has its claim and searches the tail: the head does not show the claim yet.
    call.kind = RPMI_CALL_OPEN;
    call.object = RPM_KIND_LOG;
    strcpy(call.name, server->name("log").c_str());
    REQUIRE(rpmi_conn_call(next.conn, &call, &reply) == 0);
    call = {};
    call.kind = RPMI_CALL_CLAIM;
    call.key = reply.key;
    call.flags = RPMI_CALL_TAKEOVER;
    REQUIRE(rpmi_conn_call(next.conn, &call, &reply) == 0);
    REQUIRE(rpm_conn_reconnect(old.conn) == 0);
    if (resumes)
        CHECK(old.resume() == RPM_E_FENCED);
    else
        CHECK(rpm_log_settle(old.log, old.outcomes, INFLIGHT, &old.count) == 0);
    CHECK(old.count == 0);
    CHECK(old.append("late") == RPM_E_FENCED);
    call = {};
    call.kind = RPMI_CALL_SEAL;
    call.key = reply.key;
    call.lsn = info_of(old.log).tail_lsn;
    CHECK(rpmi_conn_call(next.conn, &call, &reply) == 0);
}

TEST_CASE("settle: a disconnected writer settles, and writes only after it claims", "[conform]")
{
    ON_EACH_SERVER();
    Writer old(server.get());
    Writer next(server.get());

    REQUIRE(old.open(RPM_LOG_TAKEOVER) == 0);
    uint64_t before = old.read().size();
    REQUIRE(old.append("one") == 0);
    REQUIRE(old.append_async("two", 2) == 0);
    REQUIRE(rpm_conn_reconnect(old.conn) == 0);
    REQUIRE(rpm_log_settle(old.log, old.outcomes, INFLIGHT, &old.count) == 0);
    uint64_t there = before + 1;
    if (old.count == 1) {
        CHECK(old.outcomes[0].context == reinterpret_cast<void *>(2));
        there += old.outcomes[0].present == 1;
    } else {
        CHECK(old.count == 0); // it had completed before the connection was dropped
        there++;
    }
    CHECK(old.append_async("x", 3) == RPM_E_FENCED);
    CHECK(old.resume() == RPM_E_FENCED);
    CHECK(old.count == 0);
    CHECK(old.read().size() == there);
    // The claim was given up, so another writer needs no RPM_LOG_TAKEOVER, and the first one fences
    // none.
    REQUIRE(next.open() == 0);
    CHECK(rpm_log_claim(old.log, RPM_LOG_CREATE) == RPM_E_INVAL);
    CHECK(rpm_log_claim(old.log, 0) == RPM_E_OWNED);
    REQUIRE(next.append("three") == 0);
    REQUIRE(rpm_log_settle(old.log, old.outcomes, INFLIGHT, &old.count) == 0);
    CHECK(old.count == 0);
    REQUIRE(next.append("four") == 0);
    REQUIRE(rpm_log_claim(old.log, RPM_LOG_TAKEOVER) == 0);
    CHECK(rpm_log_claim(old.log, 0) == RPM_E_INVAL);
    REQUIRE(old.append("five") == 0);
    CHECK(next.append("late") == RPM_E_FENCED);
    CHECK(rpm_log_claim(next.log, 0) == RPM_E_INVAL); // an outcome must be settled first
    REQUIRE(rpm_conn_reconnect(next.conn) == 0);
    REQUIRE(rpm_log_settle(next.log, next.outcomes, INFLIGHT, &next.count) == 0);
    CHECK(next.count == 1);
    CHECK(next.outcomes[0].present == 0);
    CHECK(next.read().size() == there + 3);
}

TEST_CASE("settle: records that another writer trimmed are reported as trimmed", "[conform]")
{
    ON_EACH_SERVER();
    Writer old(server.get());
    Writer next(server.get());
    struct rpm_log_info bounds = rpm_log_info_init();

    REQUIRE(old.open(RPM_LOG_TAKEOVER) == 0);
    REQUIRE(next.open(RPM_LOG_TAKEOVER) == 0);
    REQUIRE(old.append_async("late", 1) == 0); // the append was refused, and its place is trimmed
    CHECK(rpm_log_persist(old.log) == RPM_E_FENCED);
    REQUIRE(next.append("two") == 0);
    REQUIRE(rpm_log_info(next.log, &bounds) == 0);
    REQUIRE(rpm_log_trim(next.log, bounds.tail_lsn) == 0);
    REQUIRE(rpm_conn_reconnect(old.conn) == 0);
    CHECK(rpm_log_settle(old.log, old.outcomes, INFLIGHT, &old.count) == RPM_E_TRIMMED);
    REQUIRE(old.count == 1);
    CHECK(old.outcomes[0].present == -1);
}
