// SPDX-License-Identifier: BSD-3-Clause
// Requests on a stream: which are carried out, which are refused, and which end a session.
#include "raw.h"

extern "C" {
#include "serve/serve.h"
}

using raw::Bytes;
using raw::Client;
using raw::request;
using support::Server;

namespace
{

constexpr int kLastDurable = int{ RPMI_OP_DURABLE } | int{ RPMI_REQUEST_LAST };

// A client with a region to write to.
struct Writer : Client {
    explicit Writer(const Server &server, uint64_t bytes = 1 << 20) : Client(server)
    {
        REQUIRE(handshake() == 0);
        key = region("region", bytes);
    }
    // The count that the next answer gives.
    uint64_t done()
    {
        rpmi_answer found = answer();

        REQUIRE(found.kind == RPMI_ANSWER_DONE);
        return found.request;
    }
    // All of @len bytes from @offset on, as request number @number.
    Bytes read(uint64_t offset, uint64_t len, uint64_t number)
    {
        Bytes found;

        REQUIRE(send(request(RPMI_OP_READ, key, offset, len)));
        while (found.size() < len) {
            rpmi_answer data = answer();

            REQUIRE(data.kind == RPMI_ANSWER_DATA);
            REQUIRE(data.request == number);
            REQUIRE(data.value <= len - found.size());
            found.resize(found.size() + data.value);
            REQUIRE(receive(found.data() + found.size() - data.value, data.value) == 0);
        }
        CHECK(done() == number + 1);
        return found;
    }
    uint32_t key = 0;
};

Bytes body_of(const Bytes &request)
{
    return { request.begin() + RPMI_REQUEST_BYTES, request.end() };
}

} // namespace

TEST_CASE("take: a write is carried out and counted", "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server);
    Bytes write = request(RPMI_OP_COPY, writer.key, 100, 300, 300, kLastDurable);

    REQUIRE(writer.send(write));
    CHECK(writer.done() == 1);
    CHECK(writer.read(100, 300, 1) == body_of(write));
    CHECK(server.stats().ops == 2);
}

TEST_CASE("take: many requests sent at once are answered by one count", "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server);
    Bytes all;

    for (uint64_t i = 0; i < 32; i++) {
        Bytes one = request(RPMI_OP_COPY, writer.key, 64 * i, 64, 64);

        all.insert(all.end(), one.begin(), one.end());
    }
    REQUIRE(writer.send(all));
    uint64_t counted = 0;
    uint32_t answers = 0;
    while (counted < 32) {
        counted = writer.done();
        answers++;
    }
    CHECK(counted == 32);
    CHECK(answers <= 4); // in one piece, unless the kernel splits it
}

TEST_CASE("take: a client with many requests does not starve other clients", "[unit]")
{
    const uint64_t requests = 2000; // half of what fits into the input buffer
    Server server(raw::at_port());
    Writer writer(server);
    Bytes one = request(RPMI_OP_PERSIST, writer.key, 0, 64);
    Bytes all;

    for (uint64_t i = 0; i < requests; i++)
        all.insert(all.end(), one.begin(), one.end());
    REQUIRE(writer.send(all));
    // One count for each pass: how much of this client's the pass carried out.
    for (uint64_t counted = 0, next = 0; counted < requests; counted = next) {
        next = writer.done();
        REQUIRE(next > counted);
        CHECK(next - counted <= RPMI_PASS_OPS);
    }
}

TEST_CASE("take: a request that comes byte by byte is the same request", "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server);
    Bytes write = request(RPMI_OP_COPY, writer.key, 0, 100, 80);

    for (unsigned char byte : write)
        REQUIRE(writer.send(&byte, 1));
    CHECK(writer.done() == 1);
    Bytes want = body_of(write);
    want.resize(100); // zeros behind the body
    CHECK(writer.read(0, 100, 1) == want);
}

TEST_CASE("take: bodies and results longer than any buffer", "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server, 3 << 20);
    Bytes write = request(RPMI_OP_COPY, writer.key, 64, 2500000, 2400001, kLastDurable);

    REQUIRE(writer.send(write));
    CHECK(writer.done() == 1);
    Bytes want = body_of(write);
    want.resize(2500000);
    CHECK(writer.read(64, 2500000, 1) == want);
}

TEST_CASE("take: a refused request changes nothing, has a reason, and the next one is carried out",
          "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server);
    struct {
        Bytes bytes;
        int status;
    } const bad[] = {
        { request(RPMI_OP_COPY, writer.key, (1 << 20) - 10, 300000, 300000), RPM_E_RANGE },
        { request(RPMI_OP_COPY, writer.key, UINT64_MAX - 3, 64, 64), RPM_E_RANGE },
        { request(RPMI_OP_COPY, 200, 0, 64, 64), RPM_E_DENIED },
        { request(RPMI_OP_COPY, UINT32_MAX, 0, 64, 64), RPM_E_DENIED },
        { request(RPMI_OP_READ, writer.key, 1 << 20, 64), RPM_E_RANGE },
        { request(RPMI_OP_READ, writer.key, 0, RPMI_BODY_MAX), RPM_E_RANGE },
        { request(RPMI_OP_PERSIST, writer.key, 8, UINT64_MAX), RPM_E_RANGE },
        { request(RPMI_OP_WRITE, writer.key, 8, UINT64_MAX, 8), RPM_E_RANGE },
        { request(RPMI_OP_COPY, RPMI_KEY_SCRATCH, 0, 64, 64), RPM_E_DENIED },
    };
    uint64_t number = 0;

    for (const auto &one : bad) {
        CAPTURE(number);
        REQUIRE(writer.send(one.bytes));
        rpmi_answer found = writer.answer();
        CHECK(found.kind == RPMI_ANSWER_FAIL);
        CHECK(found.request == number);
        CHECK(static_cast<int32_t>(found.value) == one.status);
        CHECK(writer.done() == ++number);
    }
    CHECK(server.stats().rejected == number);
    CHECK(writer.read(0, 64, number) == Bytes(64));
}

TEST_CASE("take: a failed request fails the rest of its post, and no other post", "[unit]")
{
    Server server(raw::at_port());
    Writer writer(server);
    Bytes all = request(RPMI_OP_COPY, 200, 0, 64, 64, 0);
    Bytes rest = request(RPMI_OP_COPY, writer.key, 0, 64, 64);
    Bytes next = request(RPMI_OP_COPY, writer.key, 64, 64, 64);

    all.insert(all.end(), rest.begin(), rest.end());
    all.insert(all.end(), next.begin(), next.end());
    REQUIRE(writer.send(all));
    for (uint64_t i = 0; i < 2; i++) {
        rpmi_answer found = writer.answer();

        CHECK(found.kind == RPMI_ANSWER_FAIL);
        CHECK(found.request == i);
        CHECK(static_cast<int32_t>(found.value) == RPM_E_DENIED);
    }
    CHECK(writer.done() == 3);
    CHECK(writer.read(0, 64, 3) == Bytes(64));
    CHECK(writer.read(64, 64, 4) == body_of(next));
}

TEST_CASE("take: malformed requests end their session and no other", "[unit]")
{
    Server server(raw::at_port());
    Writer good(server);
    std::vector<Bytes> wrong;

    for (unsigned kind : { 0u, 4u, 5u, 7u, 10u, 127u, 129u, 255u }) {
        wrong.push_back(request(RPMI_OP_COPY, good.key, 0, 64, 64));
        wrong.back()[0] = static_cast<unsigned char>(kind);
    }
    for (size_t at : { 2u, 3u, 24u, 27u, 28u, 31u }) { // head, body, reserved
        wrong.push_back(request(RPMI_OP_COPY, good.key, 0, 64, 64));
        wrong.back()[at] = 0xff;
    }
    for (const Bytes &bytes : wrong) {
        Client bad(server);

        CAPTURE(int(bytes[0]), int(bytes[2]), int(bytes[24]));
        REQUIRE(bad.handshake() == 0);
        REQUIRE(bad.send(bytes));
        REQUIRE(bad.dropped());
    }
    CHECK(good.read(0, 64, 0) == Bytes(64));
    CHECK(server.stats().clients == 1);
}

TEST_CASE("take: a second call while one is outstanding ends the session", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);
    rpmi_call call = {};

    REQUIRE(client.handshake() == 0);
    call.kind = RPMI_CALL_NEXT;
    Bytes bytes = Client::call_bytes(call);
    Bytes many;
    for (int i = 0; i < 50; i++)
        many.insert(many.end(), bytes.begin(), bytes.end());
    REQUIRE(client.send(many));
    CHECK(client.dropped());
}

TEST_CASE("take: an invalid call ends the session", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);
    rpmi_call call = {};

    REQUIRE(client.handshake() == 0);
    call.kind = RPMI_CALL_NEXT;
    Bytes bytes = Client::call_bytes(call);
    bytes[RPMI_REQUEST_BYTES] = 99; // its kind
    REQUIRE(client.send(bytes));
    CHECK(client.dropped());
}
