// SPDX-License-Identifier: BSD-3-Clause
// explain_test.cpp: the complete texts of rpm_plan_explain().
#include "support/catch.h"
#include "unit/plan/support.h"

#include <cstdlib>
#include <string>

namespace
{

std::string explain(const rpm_facts &facts, const rpm_request &request, int *result = nullptr)
{
    char text[4096] = "";
    int n = rpm_explain(&facts, &request, text, sizeof(text));

    if (result != nullptr)
        *result = n;
    return text;
}

// The lines between the request and the hints: the operations.
std::string wire(const rpm_facts &facts, const rpm_request &request)
{
    std::string text = explain(facts, request);
    size_t from = text.find("op 1");

    REQUIRE(from != std::string::npos);
    return text.substr(from, text.find("H1 ") - from);
}

rpm_facts eadr(rpm_method only)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, bit(only));

    facts.native_flush = RPM_YES;
    return facts;
}

} // namespace

TEST_CASE("explain: an append, whole", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, EVERY_METHOD & ~bit(RPM_METHOD_STORE));
    int n = 0;

    facts.domain_declared = 1;
    facts.modelled = 1;
    CHECK(
        explain(facts, request_of(RPM_REQUEST_APPEND), &n) ==
        "request: append of 40 bytes, level durable\n"
        "platform: adr (declared), ddio off, medium devdax, modelled\n"
        "method: read: the READ pushes earlier WRITEs of its queue pair to the memory "
        "controller\n"
        "op 1: write 64 bytes <- method read; H6\n"
        "op 2: read 1 byte of the scratch key <- method read; H9\n"
        "cost: 2 ops, 1 round trip\n"
        "H1 on: the nodes of memory and port are not both known: they belong on one, and so do "
        "polling cores\n"
        "H2 on: a NIC is one ordered requester: one module is enough for it\n"
        "H3 on: DDIO is off, as one-sided writes want it\n"
        "H4 on: no CPU copies the bytes\n"
        "H5 on: the medium has no 256-byte lines: nothing to fill\n"
        "H6 on: length padded to whole 64-byte words\n"
        "H7 on: no CPU writes the bytes: see H6\n"
        "H8 on: no atomic in this request\n"
        "H9 on: writes and seal chained behind one doorbell, one round trip; asynchronous appends "
        "that come meanwhile share the next seal\n"
        "alternative copy: what the server CPU copies has left its caches before it answers\n"
        "alternative immediate: the server CPU flushes the range out of its caches before it "
        "answers\n"
        "not write: a WRITE completion only says that the remote NIC took the bytes, not where "
        "they are\n"
        "not read-other: queue pairs have no order between them: the READ may overtake the WRITE\n"
        "not flush: native FLUSH(persistence) is not reported for this region, or not known to "
        "be\n"
        "not store: this link cannot carry it out\n"
        "not order: this link has no agent: agent=URL in its address\n"
        "not carry: this link has no agent that carries records: agent=URL,carry=NAME in its "
        "address\n");
    CHECK(n > 700);
}

TEST_CASE("explain: with an agent, who is asked, and what else would do", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_YES,
                               bit(RPM_METHOD_MESSAGE) | bit(RPM_METHOD_COPY) |
                                   bit(RPM_METHOD_ORDER) | bit(RPM_METHOD_READ));
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    auto end_of = [&] {
        std::string text = explain(facts, request);

        return text.substr(text.find("\n", text.find("H9 ")) + 1);
    };

    std::string others = end_of();
    CHECK(others.find("alternative copy: ") == 0);
    CHECK(others.find("alternative message: ") != std::string::npos);
    CHECK(others.find("not read: DDIO is on or unknown: the READ pushes bytes into a CPU cache") !=
          std::string::npos);
    CHECK(others.find("choice: by measured time, the agent or the server CPU") !=
          std::string::npos);
    request.method = RPM_METHOD_ORDER;
    others = end_of();
    CHECK(others.find("not copy: another method was insisted on\n") != std::string::npos);
    CHECK(others.find("alternative") == std::string::npos);
    CHECK(others.find("choice: the agent every time") != std::string::npos);
    request = request_of(RPM_REQUEST_WRITE);
    CHECK(end_of().find("not order: the server certifies durable records of logs, and nothing "
                        "else\n") != std::string::npos);
    request = request_of(RPM_REQUEST_ATOMIC);
    CHECK(end_of().find("alternative") == std::string::npos);
}

TEST_CASE("explain: with all hints off the rules say what is missing", "[unit]")
{
    rpm_facts facts = eadr(RPM_METHOD_READ);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    std::string text;

    facts.line_bytes = 256;
    request.hints = RPM_HINTS_NONE;
    text = explain(facts, request);
    CHECK(wire(facts, request) == "op 1: write 64 bytes <- method read\n"
                                  "wait: for op 1 <- H9 is off\n"
                                  "op 2: read 1 byte of the scratch key <- method read\n"
                                  "cost: 2 ops, 2 round trips\n");
    CHECK(text.substr(text.find("H1 "), text.find("not write: ") - text.find("H1 ")) ==
          "H1 off: placement is left as it is\n"
          "H2 off: a NIC is one ordered requester: one module is enough for it\n"
          "H3 off: DDIO is taken as found: off\n"
          "H4 off: no CPU copies the bytes\n"
          "H5 off: frames over 256 bytes are packed at 64\n"
          "H6 off: only the bytes that carry data are written\n"
          "H7 off: no CPU writes the bytes: see H6\n"
          "H8 off: no atomic in this request\n"
          "H9 off: the last write is waited for before the seal is posted, two round trips\n");
}

TEST_CASE("explain: each method has its ops", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    request.bytes = 100;
    CHECK(wire(eadr(RPM_METHOD_STORE), request) ==
          "op 1: store past the client CPU's cache, 128 bytes <- method store; H7\n"
          "op 2: fence by the client CPU <- method store; H9\n"
          "cost: no round trip: the client CPU does it all\n");
    CHECK(wire(eadr(RPM_METHOD_FLUSH), request) ==
          "op 1: write 128 bytes <- method flush; H6\n"
          "op 2: native flush of the range of 128 bytes <- method flush; H9\n"
          "cost: 2 ops, 1 round trip\n");
    CHECK(wire(eadr(RPM_METHOD_COPY), request) ==
          "op 1: message with the bytes, 128 bytes, answered once durable <- method copy; H7\n"
          "cost: 1 op, 1 round trip\n");
    CHECK(wire(eadr(RPM_METHOD_IMMEDIATE), request) ==
          "op 1: write with immediate 128 bytes, answered once durable <- method immediate; H6\n"
          "cost: 1 op, 1 round trip\n");
    CHECK(wire(eadr(RPM_METHOD_MESSAGE), request) ==
          "op 1: write 128 bytes <- method message; H6\n"
          "op 2: message: the server CPU flushes the range of 128 bytes <- method message; H9\n"
          "cost: 2 ops, 1 round trip\n");
}

TEST_CASE("explain: a batch shares one seal, and large frames fill media lines", "[unit]")
{
    rpm_facts facts = eadr(RPM_METHOD_FLUSH);
    rpm_request request = request_of(RPM_REQUEST_BATCH);

    facts.line_bytes = 256;
    request.count = 32;
    request.bytes = 233; // with its header one byte over a media line
    CHECK(explain(facts, request).find("request: batch of 32 records, each 233 bytes, level") == 0);
    CHECK(wire(facts, request) ==
          "op 1..32: write 512 bytes each <- method flush; H5\n"
          "op 33: native flush of the range of 16384 bytes <- method flush; H9\n"
          "cost: 33 ops, 1 round trip\n");
    request.bytes = 232;
    CHECK(wire(facts, request).find("write 256 bytes each <- method flush; H6") !=
          std::string::npos);
}

TEST_CASE("explain: a region write is padded from a slot's start only", "[unit]")
{
    rpm_facts facts = eadr(RPM_METHOD_READ);
    rpm_request request = request_of(RPM_REQUEST_WRITE);

    CHECK(wire(facts, request).find("op 1: write 40 bytes <- method read\n") == 0);
    request.slot_bytes = 128;
    CHECK(wire(facts, request).find("op 1: write 64 bytes <- method read; H6\n") == 0);
    request.offset = 8;
    CHECK(wire(facts, request).find("op 1: write 40 bytes <- method read\n") == 0);
}

TEST_CASE("explain: an atomic is one op in DRAM", "[unit]")
{
    CHECK(wire(eadr(RPM_METHOD_READ), request_of(RPM_REQUEST_ATOMIC)) ==
          "op 1: compare-and-swap or fetch-and-add, 8 bytes <- method read; H8\n"
          "cost: 1 op, 1 round trip\n");
}

TEST_CASE("explain: a refusal gives its reason as text", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_NONE, RPM_NO, EVERY_METHOD);
    int n = 0;
    std::string text = explain(facts, request_of(RPM_REQUEST_APPEND), &n);

    CHECK(n == RPM_E_NOCAP);
    CHECK(text == std::string("refused: ") + rpm_last_error() + "\n");
    CHECK(text.find("level durable cannot be proven") != std::string::npos);
}

TEST_CASE("explain: structs from another version are judged first", "[unit]")
{
    rpm_facts facts = eadr(RPM_METHOD_READ);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    int n = 0;

    request.size = 0;
    explain(facts, request, &n);
    CHECK(n == RPM_E_INVAL);
    request = request_of(RPM_REQUEST_APPEND);
    facts.size = 4;
    explain(facts, request, &n);
    CHECK(n == RPM_E_INVAL);
}

TEST_CASE("explain: text is truncated to the buffer", "[unit]")
{
    rpm_facts facts = eadr(RPM_METHOD_READ);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    std::string whole = explain(facts, request);
    char text[64];

    CHECK(rpm_explain(&facts, &request, text, sizeof(text)) == static_cast<int>(whole.size()));
    CHECK(std::string(text) == whole.substr(0, sizeof(text) - 1));
    CHECK(rpm_explain(&facts, &request, nullptr, 0) == static_cast<int>(whole.size()));
}
