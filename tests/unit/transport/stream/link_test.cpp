// SPDX-License-Identifier: BSD-3-Clause
// A server that answers wrongly or not at all: the client loses its link, and its buffers are
// unchanged.
#include "fake.h"

#include "support/catch.h"
#include "support/server.h"

#include <atomic>
#include <cstring>

using fake::Bytes;
using fake::Server;
using fake::Session;

namespace
{

const uint64_t SECOND = 1000000000;

// A client with three requests under way: a WRITE, a READ of 64 bytes, a FAA.
struct Client {
    rpmi_link *link = nullptr;
    unsigned char *bytes = nullptr;

    explicit Client(Server &server)
    {
        REQUIRE(server.dial(&link) == 0);
        bytes = static_cast<unsigned char *>(link->ops->stage(link, 8192));
        memset(bytes, 0xee, 8192);
        rpmi_op ops[3] = {};
        ops[0].kind = RPMI_OP_COPY;
        ops[1].kind = RPMI_OP_READ;
        ops[2].kind = RPMI_OP_FAA;
        for (uint64_t i = 0; i < 3; i++) {
            ops[i].flags = RPMI_OP_SIGNALED;
            ops[i].id = i + 1;
            ops[i].len = i == 2 ? 8 : 64;
        }
        ops[0].body = bytes;
        ops[0].body_bytes = 64;
        ops[1].into = bytes + 1024;
        ops[2].into = bytes + 4096;
        REQUIRE(link->ops->post(link, ops, 3) == 3);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        link->ops->close(link);
    }
    // Polls until all completions came or the link is lost.
    std::vector<rpmi_done> reap()
    {
        std::vector<rpmi_done> all;
        uint64_t deadline = rpmi_clock_ns() + 30 * SECOND;

        while (all.size() < 3) {
            rpmi_done done[4];
            int n = link->ops->poll(link, done, 4);

            if (n < 0)
                break;
            all.insert(all.end(), done, done + n);
            if (n == 0 && (link->ops->wait(link, deadline) != 0 || rpmi_clock_ns() > deadline))
                break;
        }
        return all;
    }
    bool untouched(size_t from, size_t to) const
    {
        for (size_t i = from; i < to; i++)
            if (bytes[i] != 0xee)
                return false;
        return true;
    }
};

const uint32_t SENT = 3 * RPMI_REQUEST_BYTES + 64 + 16;

// Accepts the client, receives its three requests, then answers.
std::function<void(Session &)> after_three(std::function<void(Session &)> answer)
{
    return [answer](Session &session) {
        char bytes[SENT];

        if (!session.handshake() || !session.receive(bytes, sizeof(bytes)))
            return;
        answer(session);
        session.drain();
    };
}

void data(Session &session, uint64_t request, uint32_t len, unsigned char what)
{
    Bytes bytes(len, what);

    session.say(RPMI_ANSWER_DATA, len, request);
    (void)session.send(bytes.data(), bytes.size());
}

} // namespace

TEST_CASE("stream: answers may arrive in pieces", "[unit]")
{
    Server server(after_three([](Session &session) {
        data(session, 1, 10, 1);
        data(session, 2, 8, 3);
        session.say(RPMI_ANSWER_DONE, 0, 1);
        data(session, 1, 54, 2);
        session.say(RPMI_ANSWER_DONE, 0, 3);
    }));
    Client client(server);
    std::vector<rpmi_done> done = client.reap();

    REQUIRE(done.size() == 3);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK(done[i].id == i + 1);
        CHECK(done[i].status == 0);
    }
    CHECK(client.bytes[1024 + 9] == 1);
    CHECK(client.bytes[1024 + 10] == 2);
    CHECK(client.bytes[4096 + 7] == 3);
    CHECK(client.untouched(1024 + 64, 4096));
}

TEST_CASE("stream: an impossible answer loses the link and changes no buffer", "[unit]")
{
    const std::function<void(Session &)> lies[] = {
        [](Session &session) { session.say(RPMI_ANSWER_DONE, 0, 4); },
        [](Session &session) { session.say(RPMI_ANSWER_DONE, 0, UINT64_MAX); },
        [](Session &session) { session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(-5), 3); },
        [](Session &session) { session.say(RPMI_ANSWER_FAIL, 5, 0); },
        [](Session &session) {
            session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(-5), 1u << 30);
        },
        [](Session &session) { data(session, 0, 8, 1); },  // of a write
        [](Session &session) { data(session, 1, 65, 1); }, // longer than asked for
        [](Session &session) { data(session, 2, 9, 1); },  // longer than a word
        [](Session &session) { data(session, 3, 8, 1); },  // of nothing
        [](Session &session) { data(session, 67, 8, 1); }, // of a slot that is in use
        [](Session &session) { session.say(RPMI_ANSWER_DATA, 1u << 31, 1); },
        [](Session &session) {
            session.say(RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0);
            Bytes reply(RPMI_REPLY_BYTES);
            (void)session.send(reply.data(), reply.size());
        }, // to no call
        [](Session &session) { session.say(0, 0, 0); },
        [](Session &session) { session.say(9, 0, 0); },
        [](Session &session) {
            Bytes noise(4096, 0xa5);
            (void)session.send(noise.data(), noise.size());
        },
    };
    int number = 0;

    for (const auto &lie : lies) {
        Server server(after_three(lie));
        Client client(server);
        std::vector<rpmi_done> done = client.reap();
        rpmi_done none;

        CAPTURE(number++);
        REQUIRE(done.size() == 3);
        for (const rpmi_done &one : done)
            CHECK(one.status == RPM_E_LOST);
        CHECK(client.link->ops->poll(client.link, &none, 1) == RPM_E_LOST);
        CHECK(client.link->lost == RPM_E_LOST);
        CHECK(client.untouched(64, 8192));
    }
}

TEST_CASE("stream: a count that decreases loses the link", "[unit]")
{
    Server server(after_three([](Session &session) {
        session.say(RPMI_ANSWER_DONE, 0, 1);
        session.say(RPMI_ANSWER_DONE, 0, 0);
    }));
    Client client(server);
    std::vector<rpmi_done> done = client.reap();

    REQUIRE(done.size() == 3);
    CHECK(done[2].status == RPM_E_LOST);
}

TEST_CASE("stream: a truncated result is not delivered", "[unit]")
{
    Server server(after_three([](Session &session) {
        data(session, 1, 63, 1);
        data(session, 2, 8, 1);
        session.say(RPMI_ANSWER_DONE, 0, 3);
    }));
    Client client(server);
    std::vector<rpmi_done> done = client.reap();

    REQUIRE(done.size() == 3);
    CHECK(done[0].status == 0);
    CHECK(done[1].status < 0);
    CHECK(done[2].status == RPM_E_LOST);
}

TEST_CASE("stream: a failure ends its request only, or all later ones too", "[unit]")
{
    Server mild(after_three([](Session &session) {
        session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_FENCED), 0);
        data(session, 1, 64, 1);
        data(session, 2, 8, 1);
        session.say(RPMI_ANSWER_DONE, 0, 3);
    }));
    Server worse(after_three([](Session &session) {
        session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_FENCED), 0);
        session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_IO), 0);
        session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_FENCED), 0);
        data(session, 1, 64, 1);
        data(session, 2, 8, 1);
        session.say(RPMI_ANSWER_DONE, 0, 3);
    }));
    Client one(mild);
    Client other(worse);
    std::vector<rpmi_done> done = one.reap();

    REQUIRE(done.size() == 3);
    CHECK(done[0].status == RPM_E_FENCED);
    CHECK(done[1].status == 0);
    CHECK(done[2].status == 0);
    CHECK(one.link->lost == 0);
    done = other.reap();
    REQUIRE(done.size() == 3);
    CHECK(done[0].status == RPM_E_IO);
    CHECK(done[1].status == RPM_E_LOST);
    CHECK(done[2].status == RPM_E_LOST);
}

TEST_CASE("stream: after a permanent failure the client waits for no more answers", "[unit]")
{
    Server server(after_three([](Session &session) {
        session.say(RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_IO), 0);
        session.say(RPMI_ANSWER_DONE, 0, 1); // and never answers the others
    }));
    Client client(server);
    std::vector<rpmi_done> done = client.reap();
    rpmi_done none;

    REQUIRE(done.size() == 3);
    CHECK(done[0].status == RPM_E_IO);
    CHECK(done[1].status == RPM_E_LOST);
    CHECK(done[2].status == RPM_E_LOST);
    CHECK(client.link->ops->poll(client.link, &none, 1) == RPM_E_LOST);
    CHECK(client.link->lost == RPM_E_LOST);
}

TEST_CASE("stream: a wait for a server that stopped ends at its deadline", "[unit]")
{
    std::atomic<bool> over{ false };
    Server server([&over](Session &session) {
        session.handshake();
        while (!over)
            rpmi_clock_sleep_ns(1000000);
    });
    rpmi_call call = {};
    rpmi_reply reply = {};
    {
        Client client(server);
        uint64_t deadline = rpmi_clock_ns() + 50000000;

        CHECK(client.link->ops->wait(client.link, deadline) == RPM_E_TIMEDOUT);
        CHECK(rpmi_clock_ns() >= deadline);
        CHECK(client.link->lost == 0); // late answers would still count
        // More than any socket holds: nothing blocks, and what is posted stays posted.
        std::vector<rpmi_op> ops(60);
        for (rpmi_op &op : ops) {
            op.kind = RPMI_OP_COPY;
            op.len = op.body_bytes = 8192;
            op.body = client.bytes;
            op.flags = RPMI_OP_SIGNALED;
        }
        uint64_t start = rpmi_clock_ns();
        CHECK(client.link->ops->post(client.link, ops.data(), 60) == 60);
        rpmi_done none;
        CHECK(client.link->ops->poll(client.link, &none, 1) == 0);
        CHECK(rpmi_clock_ns() - start < 30 * SECOND); // not the link's time
        deadline = rpmi_clock_ns() + 50000000;
        call.kind = RPMI_CALL_NEXT;
        CHECK(client.link->ops->call(client.link, &call, &reply, deadline) == RPM_E_TIMEDOUT);
        CHECK(client.link->lost != 0); // a late answer would be taken for the next one
        over = true;
    }
}

TEST_CASE("stream: a server that disconnects during a call loses the link", "[unit]")
{
    Server server([](Session &session) {
        char bytes[SENT + RPMI_REQUEST_BYTES + RPMI_CALL_BYTES];

        session.handshake();
        session.receive(bytes, sizeof(bytes));
        session.say(RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0);
        session.send(bytes, 100); // of 320
    });
    Client client(server);
    rpmi_call call = {};
    rpmi_reply reply = {};

    call.kind = RPMI_CALL_NEXT;
    CHECK(client.link->ops->call(client.link, &call, &reply, rpmi_clock_ns() + 30 * SECOND) ==
          RPM_E_LOST);
    CHECK(client.link->lost == RPM_E_LOST);
}

TEST_CASE("stream: a server that stops in the middle of an answer loses the link", "[unit]")
{
    support::Dir dir;
    std::atomic<bool> over{ false };
    Server server(dir / "socket", [&over](Session &session) {
        char bytes[SENT];

        if (!session.handshake() || !session.receive(bytes, sizeof(bytes)))
            return;
        shutdown(session.pipe.fd, SHUT_RD);
        session.say(RPMI_ANSWER_DONE, 0, 1);
        (void)session.send(bytes, RPMI_ANSWER_BYTES / 2); // and never the rest of it
        while (!over)
            rpmi_clock_sleep_ns(1000000);
    });
    Client client(server);
    std::vector<rpmi_done> done;
    rpmi_done first = {};
    rpmi_op op = {};
    int n;

    // The server has answered the first of the three requests and will answer no more.
    while ((n = client.link->ops->poll(client.link, &first, 1)) == 0)
        rpmi_clock_sleep_ns(1000000);
    REQUIRE(n == 1);
    CHECK(first.status == 0);
    op.kind = RPMI_OP_PERSIST;
    op.flags = RPMI_OP_SIGNALED;
    op.len = 64;
    uint64_t start = rpmi_clock_ns();
    REQUIRE(client.link->ops->post(client.link, &op, 1) == 1);
    done = client.reap();
    CHECK(rpmi_clock_ns() - start < 30 * SECOND); // not the link's time
    REQUIRE(done.size() == 3);
    for (const rpmi_done &one : done)
        CHECK(one.status == RPM_E_LOST);
    CHECK(client.link->ops->poll(client.link, &first, 1) == RPM_E_LOST);
    over = true;
}
