// SPDX-License-Identifier: BSD-3-Clause
// transport_test.cpp: what transport.h promises, on every transport, bare and wrapped.
#include "conform/fixture.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace conform;

namespace
{

void fill(unsigned char *at, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        at[i] = static_cast<unsigned char>(seed + i * 7 + i / 251);
}

// Every setup; the report of a failure names it.
#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    Context context(setup)

} // namespace

TEST_CASE("transport: an open link has a client id, an epoch, a depth and facts", "[conform]")
{
    ON_EACH_SETUP();

    CHECK(context.link->client != 0);
    CHECK(context.link->server_epoch != 0);
    CHECK(context.link->depth >= DEPTH);
    CHECK(context.link->lost == 0);
    CHECK(context.link->facts.methods != 0);
    CHECK((context.link->facts.methods & 1) == 0); // no method has number 0
}

TEST_CASE("transport: post of zero ops takes none", "[conform]")
{
    ON_EACH_SETUP();
    rpmi_op op = context.write(0, 64);
    rpmi_done done;

    CHECK(context.ops->post(context.link, &op, 0) == 0);
    CHECK(context.ops->poll(context.link, &done, 1) == 0);
}

TEST_CASE("transport: a READ sees every WRITE posted before it", "[conform]")
{
    ON_EACH_SETUP();

    for (uint64_t len : { 1u, 8u, 63u, 64u, 65u, 4096u, 4097u, 20000u }) {
        uint64_t offset = len % 2 == 0 ? 0 : 4032;
        rpmi_op write = context.write(offset, len);

        CAPTURE(len);
        fill(context.bytes, len, static_cast<unsigned>(len));
        std::memset(context.into, 0xee, len + 1);
        write.flags = 0;
        REQUIRE(context.exec({ write, context.read(offset, len) }) == 0);
        REQUIRE(std::memcmp(context.into, context.bytes, len) == 0);
        REQUIRE(context.into[len] == 0xee);
    }
}

TEST_CASE("transport: later WRITEs win over earlier ones", "[conform]")
{
    ON_EACH_SETUP();
    std::vector<rpmi_op> list;

    for (unsigned i = 0; i < 10; i++) {
        std::memset(context.bytes + 64 * i, static_cast<int>(i), 64);
        list.push_back(context.write(128, 64, 64 * i));
    }
    list.push_back(context.read(128, 64));
    REQUIRE(context.exec(list) == 0);
    CHECK(std::count(context.into, context.into + 64, 9) == 64);
}

TEST_CASE("transport: a write is head, body, then zeros", "[conform]")
{
    ON_EACH_SETUP();
    unsigned char head[64];
    rpmi_op op = make(RPMI_OP_WRITE, context.region, 256, 128);

    std::memset(context.bytes, 0xff, 256);
    REQUIRE(context.exec({ context.write(192, 256) }) == 0);
    for (size_t head_bytes : { 0u, 1u, 24u, 64u })
        for (uint64_t body_bytes : { 0u, 1u, 40u, 64u }) {
            std::vector<unsigned char> want(256, 0xff);

            CAPTURE(head_bytes, body_bytes);
            std::memset(head, 0x11, sizeof(head));
            std::memset(context.bytes, 0x22, 64);
            op.head = head;
            op.head_bytes = static_cast<uint16_t>(head_bytes);
            op.body = context.bytes;
            op.body_bytes = body_bytes;
            std::fill(want.begin() + 64, want.begin() + 192, 0);
            std::fill_n(want.begin() + 64, head_bytes, 0x11);
            std::fill_n(want.begin() + 64 + static_cast<long>(head_bytes), body_bytes, 0x22);
            REQUIRE(context.exec({ op, context.read(192, 256) }) == 0);
            REQUIRE(std::memcmp(context.into, want.data(), 256) == 0);
        }
}

TEST_CASE("transport: completions come in order, one for each signalled op", "[conform]")
{
    ON_EACH_SETUP();
    std::vector<uint64_t> want;
    std::vector<uint64_t> got;
    uint64_t deadline = context.now() + PATIENCE;
    uint64_t next = 0;

    if (context.synchronous())
        return; // it completes synchronously
    for (uint64_t id = 0; id < 200; id++)
        if (id % 3 != 0)
            want.push_back(id);
    while (got.size() < want.size()) {
        rpmi_done done[5];
        rpmi_op list[4];
        uint32_t n = 0;
        int taken;

        for (uint64_t id = next; id < 200 && n < 4; id++, n++) {
            list[n] = id % 2 == 0 ? context.write(64 * id, 64) : context.read(64 * id, 64, 64 * id);
            list[n].flags = id % 3 != 0 ? RPMI_OP_SIGNALED : 0;
            list[n].id = id;
        }
        taken = context.ops->post(context.link, list, n);
        REQUIRE(taken >= 0);
        next += static_cast<uint64_t>(taken);
        if (taken < static_cast<int>(n) || n == 0)
            REQUIRE(context.ops->wait(context.link, deadline) == 0);
        int reaped = context.ops->poll(context.link, done, 5);
        REQUIRE(reaped >= 0);
        for (int i = 0; i < reaped; i++) {
            REQUIRE(done[i].status == 0);
            got.push_back(done[i].id);
        }
    }
    CHECK(got == want);
    rpmi_done none;
    for (int i = 0; i < 100; i++)
        REQUIRE(context.ops->poll(context.link, &none, 1) == 0);
}

TEST_CASE("transport: a full queue takes no more, and goes on once it is drained", "[conform]")
{
    ON_EACH_SETUP();
    std::vector<rpmi_op> list(context.link->depth * 2, context.write(0, 64));

    if (context.synchronous())
        return; // it is never full
    int taken = context.ops->post(context.link, list.data(), static_cast<uint32_t>(list.size()));
    CHECK(taken > 0);
    CHECK(taken <= static_cast<int>(context.link->depth));
    for (int round = 0; round < 3; round++) {
        uint32_t want = static_cast<uint32_t>(taken);
        uint64_t deadline = context.now() + PATIENCE;

        while (want > 0) {
            rpmi_done done[7];

            REQUIRE(context.ops->wait(context.link, deadline) == 0);
            int n = context.ops->poll(context.link, done, 7);
            REQUIRE(n >= 0);
            want -= static_cast<uint32_t>(n);
        }
        taken = context.ops->post(context.link, list.data(), static_cast<uint32_t>(list.size()));
        REQUIRE(taken > 0);
    }
}

TEST_CASE("transport: unsignalled ops give their room back", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t deadline = context.now() + PATIENCE;
    rpmi_op op = context.write(0, 64);
    uint32_t posted = 0;

    op.flags = 0;
    while (posted < 10 * context.link->depth) {
        rpmi_done none;
        int taken = context.ops->post(context.link, &op, 1);

        REQUIRE(taken >= 0);
        posted += static_cast<uint32_t>(taken);
        if (taken == 0)
            REQUIRE(context.ops->poll(context.link, &none, 1) == 0);
        REQUIRE(context.now() < deadline);
    }
    CHECK(context.exec({ context.read(0, 64) }) == 0);
}

TEST_CASE("transport: atomics answer the old value and change the word", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t *found = reinterpret_cast<uint64_t *>(context.into);
    rpmi_op cas = make(RPMI_OP_CAS, context.words, 16, 8);
    rpmi_op faa = make(RPMI_OP_FAA, context.words, 16, 8);
    rpmi_op read = make(RPMI_OP_READ, context.words, 16, 8);

    cas.into = &found[0];
    cas.expect = 0;
    cas.operand = 40;
    faa.into = &found[1];
    faa.operand = 2;
    read.into = &found[2];
    REQUIRE(context.exec({ cas, faa, read }) == 0);
    CHECK(found[0] == 0);
    CHECK(found[1] == 40);
    CHECK(found[2] == 42);
    REQUIRE(context.exec({ cas }) == 0); // expects 0, finds 42, changes nothing
    CHECK(found[0] == 42);
    faa.operand = UINT64_MAX; // adds -1
    REQUIRE(context.exec({ faa, read }) == 0);
    CHECK(found[1] == 42);
    CHECK(found[2] == 41);
}

TEST_CASE("transport: every method that the facts name is carried out", "[conform]")
{
    ON_EACH_SETUP();
    uint32_t tried = 0;

    uint32_t hints = GENERATE(RPM_HINTS_ALL, RPM_HINTS_ALL & ~RPM_HINT(4), RPM_HINTS_NONE);

    for (uint32_t method = RPM_METHOD_WRITE; method < RPM_METHOD_COUNT; method++)
        for (uint32_t level = RPM_VISIBLE; level <= RPM_DURABLE; level++) {
            rpm_request request = rpm_request_init();
            // As a log writes them: a head, a body, zeros; short ones, and some longer than a page.
            const rpmi_range ranges[] = { { 1024, 192 }, { 8192, 4352 } };
            const unsigned char head[24] = "a head of 24 bytes, yes";
            std::vector<unsigned char> want(4352);
            rpmi_op list[6] = {};
            rpmi_plan plan;
            uint32_t n = 0;

            request.kind = RPM_REQUEST_APPEND;
            request.level = level;
            request.method = method;
            request.hints = hints;
            if (rpmi_plan_make(&context.link->facts, &request, &plan) != 0)
                continue;
            CAPTURE(rpm_method_name(plan.method), level, hints);
            fill(context.bytes, 4352, method + level);
            for (const rpmi_range &range : ranges) {
                rpmi_plan_write(&plan, context.region, range.offset, range.len, &list[n]);
                list[n].head = head;
                list[n].head_bytes = sizeof(head);
                list[n].body = context.bytes;
                list[n++].body_bytes = range.len - sizeof(head) - 60;
            }
            n += rpmi_plan_seal(&plan, context.region, ranges, 2, context.into, list + n);
            list[n - 1].flags |= RPMI_OP_SIGNALED;
            REQUIRE(context.exec({ list, list + n }) == 0);
            REQUIRE(context.exec({ context.read(1024, 192), context.read(8192, 4352, 192) }) == 0);
            for (const rpmi_range &range : ranges) {
                std::memcpy(want.data(), head, sizeof(head));
                std::memcpy(want.data() + sizeof(head), context.bytes, range.len - sizeof(head));
                std::memset(want.data() + range.len - 60, 0, 60);
                REQUIRE(std::memcmp(context.into + (&range == ranges ? 0 : 192), want.data(),
                                    range.len) == 0);
            }
            tried++;
        }
    CHECK(tried > 0);
}

TEST_CASE("transport: what a plan persists can be read on", "[conform]")
{
    ON_EACH_SETUP();
    rpm_request request = rpm_request_init();
    const rpmi_range range = { 0, 4096 };
    rpmi_op op = {};
    rpmi_plan plan;

    request.kind = RPM_REQUEST_WRITE;
    REQUIRE(rpmi_plan_make_persist(&context.link->facts, &request, &plan) == 0);
    fill(context.bytes, 4096, 5);
    REQUIRE(context.exec({ context.write(0, 4096) }) == 0);
    REQUIRE(rpmi_plan_seal(&plan, context.region, &range, 1, context.into, &op) == 1);
    op.flags |= RPMI_OP_SIGNALED;
    REQUIRE(context.exec({ op, context.read(0, 4096) }) == 0);
    CHECK(std::memcmp(context.into, context.bytes, 4096) == 0);
}

TEST_CASE("transport: a fenced WRITE after a READ is carried out", "[conform]")
{
    ON_EACH_SETUP();
    rpmi_op fenced = context.write(0, 64);

    std::memset(context.bytes, 7, 64);
    fenced.flags |= RPMI_OP_FENCED;
    REQUIRE(context.exec({ context.read(0, 64), fenced, context.read(0, 64, 64) }) == 0);
    CHECK(context.into[0] == 0);
    CHECK(context.into[64] == 7);
}

TEST_CASE("transport: staging memory is aligned, bounded and freed", "[conform]")
{
    ON_EACH_SETUP();
    std::vector<void *> taken;
    size_t most;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 1024; i++) {
            void *block = context.ops->stage(context.link, 4096);

            if (block == nullptr)
                break;
            CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
            std::memset(block, 0xaa, 4096);
            taken.push_back(block);
        }
        if (round == 0)
            most = taken.size();
        CHECK(taken.size() > 0);
        CHECK(taken.size() * 4096 <= STAGING);
        CHECK(taken.size() == most);
        for (void *block : taken)
            context.ops->unstage(context.link, block);
        taken.clear();
    }
    CHECK(context.ops->stage(context.link, STAGING * 4) == nullptr);
}

TEST_CASE("transport: a peek shows remote memory, or nothing", "[conform]")
{
    ON_EACH_SETUP();
    const void *seen;

    std::memset(context.bytes, 0x77, 64);
    REQUIRE(context.exec({ context.write(64, 64), context.read(64, 64) }) == 0);
    seen = context.ops->peek(context.link, context.region, 64, 64);
    CHECK((seen == nullptr || std::memcmp(seen, context.bytes, 64) == 0));
    CHECK(context.ops->peek(context.link, context.region, REGION - 8, 16) == nullptr);
    CHECK(context.ops->peek(context.link, context.region, UINT64_MAX, 16) == nullptr);
    CHECK(context.ops->peek(context.link, 255, 0, 8) == nullptr);
    CHECK(context.ops->peek(context.link, UINT32_MAX, 0, 8) == nullptr);
}

TEST_CASE("transport: a wait for nothing ends at its deadline", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t start = context.now();
    uint64_t deadline = start + 2000000;

    CHECK(context.ops->wait(context.link, start) == RPM_E_TIMEDOUT);
    if (!context.synchronous())
        CHECK(context.ops->wait(context.link, deadline) == RPM_E_TIMEDOUT);
    while (context.now() < deadline)
        context.ops->pause(context.link, deadline - context.now());
    CHECK(context.now() >= deadline);
    CHECK(context.link->lost == 0);
}

TEST_CASE("transport: a call is answered with its own status", "[conform]")
{
    ON_EACH_SETUP();
    rpmi_call call = {};
    rpmi_reply reply = {};
    uint32_t key = 99;

    CHECK(context.open("nothing", RPM_KIND_REGION, 0, &key) == RPM_E_NOENT);
    call.kind = RPMI_CALL_CLOSE;
    call.key = context.words;
    REQUIRE(context.ops->call(context.link, &call, &reply, context.now() + SECOND) == 0);
    CHECK(reply.status == 0);
    REQUIRE(context.ops->call(context.link, &call, &reply, context.now() + SECOND) == 0);
    CHECK(reply.status < 0);
    CHECK(std::strlen(reply.text) > 0);
    CHECK(context.link->lost == 0);
}

TEST_CASE("transport: nothing is allocated after open", "[conform]")
{
    ON_EACH_SETUP();

    rpmi_mem_freeze();
    int err = context.exec({ context.write(0, 64), context.read(0, 64) });
    rpmi_mem_thaw();
    CHECK(err == 0);
}
