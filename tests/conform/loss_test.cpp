// SPDX-License-Identifier: BSD-3-Clause
// loss_test.cpp: what transport.h promises if an op is refused or the server is lost.
#include "conform/fixture.h"

#include <cstring>

using namespace conform;

namespace
{

#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    Context context(setup)

struct Bad {
    const char *what;
    uint8_t kind;
    uint32_t key; // 0: the region's key, 1: that of the words, else this key
    uint64_t offset;
    uint64_t len;
    int status;
};

const uint32_t REGION_KEY = 0;
const uint32_t WORDS_KEY = 1;

const Bad BAD[] = {
    { "write across the end", RPMI_OP_WRITE, REGION_KEY, REGION - 32, 64, RPM_E_RANGE },
    { "write beyond the end", RPMI_OP_WRITE, REGION_KEY, REGION, 64, RPM_E_RANGE },
    { "write that overflows", RPMI_OP_WRITE, REGION_KEY, UINT64_MAX - 31, 64, RPM_E_RANGE },
    { "read across the end", RPMI_OP_READ, REGION_KEY, REGION - 32, 64, RPM_E_RANGE },
    { "read that overflows", RPMI_OP_READ, REGION_KEY, UINT64_MAX - 7, 64, RPM_E_RANGE },
    { "unknown key", RPMI_OP_WRITE, 200, 0, 64, RPM_E_DENIED },
    { "key out of bounds", RPMI_OP_WRITE, 1u << 20, 0, 64, RPM_E_DENIED },
    { "read with an unknown key", RPMI_OP_READ, 201, 0, 64, RPM_E_DENIED },
    { "write to the scratch line", RPMI_OP_WRITE, 1000000, 0, 64, RPM_E_DENIED },
    { "atomic on persistent bytes", RPMI_OP_FAA, REGION_KEY, 0, 8, RPM_E_DENIED },
    { "atomic across the end", RPMI_OP_FAA, WORDS_KEY, 4096, 8, RPM_E_RANGE },
};

rpmi_op op_of(const Context &context, const Bad &bad)
{
    uint32_t key = bad.key == REGION_KEY  ? context.region
                   : bad.key == WORDS_KEY ? context.words
                   : bad.key == 1000000   ? RPMI_KEY_SCRATCH
                                          : bad.key;
    rpmi_op op = make(bad.kind, key, bad.offset, bad.len);

    op.body = context.bytes;
    op.body_bytes = bad.kind == RPMI_OP_WRITE ? bad.len : 0;
    op.into = context.into;
    op.operand = 1;
    return op;
}

void redial(Context &context)
{
    REQUIRE(context.ops->reconnect(context.link, context.now() + PATIENCE) == 0);
    REQUIRE(context.link->lost == 0);
    context.open_objects();
}

// Polls until the link reports its loss. Every status, by id, in order.
std::vector<rpmi_done> drain(Context &context)
{
    std::vector<rpmi_done> all;
    uint64_t deadline = context.now() + PATIENCE;

    for (;;) {
        rpmi_done done[4];
        int n = context.ops->poll(context.link, done, 4);

        if (n < 0) {
            CHECK(n == RPM_E_LOST);
            return all;
        }
        all.insert(all.end(), done, done + n);
        if (n == 0)
            REQUIRE(context.ops->wait(context.link, deadline) == 0);
        REQUIRE(context.now() < deadline);
    }
}

} // namespace

TEST_CASE("loss: a refused op changes nothing and has its reason", "[conform]")
{
    ON_EACH_SETUP();

    for (const Bad &bad : BAD) {
        CAPTURE(bad.what);
        std::memset(context.bytes, 0x33, 64);
        REQUIRE(context.exec({ context.write(REGION - 64, 64) }) == 0);
        std::memset(context.bytes, 0x44, 64);
        REQUIRE(context.exec({ op_of(context, bad) }) == bad.status);
        if (setup.server.compare(0, 3, "sim") == 0) // on verbs: a failure ends the queue pair
            redial(context);
        REQUIRE(context.link->lost == 0);
        REQUIRE(context.exec({ context.read(REGION - 64, 64) }) == 0);
        REQUIRE(context.into[0] == 0x33);
        REQUIRE(context.into[63] == 0x33);
    }
}

TEST_CASE("loss: after a refused op the rest of its post is not carried out", "[conform]")
{
    ON_EACH_SETUP();
    rpmi_op last = context.write(0, 64);
    int err;

    std::memset(context.bytes, 0x55, 64);
    last.flags = RPMI_OP_SIGNALED;
    err = context.exec(
        { context.write(128, 64), context.read(128, 64), op_of(context, BAD[0]), last });
    CHECK(err == RPM_E_RANGE);
    redial(context);
    REQUIRE(context.exec({ context.read(0, 64), context.read(128, 64, 64) }) == 0);
    CHECK(context.into[0] == 0);
    CHECK(context.into[64] == 0x55); // posted before it: carried out
}

TEST_CASE("loss: a reconnect voids keys and forgets what was outstanding", "[conform]")
{
    ON_EACH_SETUP();
    uint32_t old = context.region;
    rpmi_done done;
    rpmi_op op;

    std::memset(context.bytes, 0x66, 64);
    REQUIRE(context.exec({ context.write(0, 64) }) == 0);
    op = context.write(64, 64);
    REQUIRE(context.ops->post(context.link, &op, 1) == 1);
    REQUIRE(context.ops->reconnect(context.link, context.now() + PATIENCE) == 0);
    CHECK(context.ops->poll(context.link, &done, 1) == 0);
    op.key = old;
    CHECK(context.exec({ op }) == RPM_E_DENIED);
    redial(context);
    REQUIRE(context.exec({ context.read(0, 64) }) == 0);
    CHECK(context.into[0] == 0x66); // acknowledged before the loss: still there
}

TEST_CASE("loss: staging memory survives a reconnect where it is", "[conform]")
{
    ON_EACH_SETUP();

    std::memset(context.bytes, 0x12, 4096);
    redial(context);
    CHECK(context.bytes[0] == 0x12);
    CHECK(context.bytes[4095] == 0x12);
    REQUIRE(context.exec({ context.write(0, 4096), context.read(0, 4096) }) == 0);
    CHECK(context.into[4095] == 0x12);
}

TEST_CASE("loss: when the server dies each signalled op completes once, in order", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SETUP();
    std::vector<uint64_t> want;
    std::vector<uint64_t> got;
    bool failed = false;

    for (uint64_t id = 1; id <= 8; id++) {
        rpmi_op op = context.write(64 * id, 64);

        op.id = id;
        op.flags = id % 2 == 0 ? RPMI_OP_SIGNALED : 0;
        REQUIRE(context.ops->post(context.link, &op, 1) == 1);
        if (id % 2 == 0)
            want.push_back(id);
    }
    context.server->kill();
    if (context.synchronous()) {
        rpmi_op op = context.write(0, 64);

        CHECK(context.ops->post(context.link, &op, 1) == RPM_E_LOST);
        CHECK(context.link->lost == RPM_E_LOST);
        return;
    }
    for (const rpmi_done &done : drain(context)) {
        CHECK((done.status == 0 || done.status == RPM_E_LOST));
        CHECK_FALSE((failed && done.status == 0)); // nothing succeeds after a failure
        failed = failed || done.status != 0;
        if (done.status == 0 || done.id % 2 == 0) // a failed unsignalled op completes too
            got.push_back(done.id);
    }
    CHECK(got == want);
    CHECK(context.link->lost == RPM_E_LOST);
}

TEST_CASE("loss: a lost link refuses everything until it is dialled again", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SETUP();
    rpmi_op op = context.write(0, 64);
    uint32_t key;
    uint64_t start;
    int err;

    std::memset(context.bytes, 0x21, 64);
    REQUIRE(context.exec({ context.write(0, 64), context.read(0, 64) }) == 0);
    context.server->kill();
    if (!context.synchronous())
        (void)context.ops->post(context.link, &op, 1); // so that the client detects the loss
    else
        CHECK(context.ops->post(context.link, &op, 1) == RPM_E_LOST);
    (void)drain(context);
    CHECK(context.ops->post(context.link, &op, 1) == RPM_E_LOST);
    CHECK(context.open("region", RPM_KIND_REGION, 0, &key) == RPM_E_LOST);
    CHECK(context.ops->peek(context.link, context.region, 0, 8) == nullptr);

    start = context.now();
    err = context.ops->reconnect(context.link, start + 50000000);
    CHECK((err == RPM_E_REFUSED || err == RPM_E_TIMEDOUT || err == RPM_E_LOST));
    CHECK(context.link->lost != 0);
    CHECK(context.ops->post(context.link, &op, 1) == RPM_E_LOST);

    context.server->restart();
    redial(context);
    REQUIRE(context.exec({ context.read(0, 64) }) == 0);
    CHECK(context.into[0] == 0x21); // its memory outlived the process
    CHECK(context.into[63] == 0x21);
}

TEST_CASE("loss: words in DRAM are zero in a new run of the server", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SETUP();
    rpmi_op faa = make(RPMI_OP_FAA, context.words, 0, 8);
    uint32_t epoch = context.link->server_epoch;

    faa.into = context.into;
    faa.operand = 5;
    REQUIRE(context.exec({ faa }) == 0);
    context.server->kill();
    context.server->restart();
    redial(context);
    faa.key = context.words;
    REQUIRE(context.exec({ faa }) == 0);
    CHECK(*reinterpret_cast<uint64_t *>(context.into) == 0);
    CHECK(context.link->server_epoch != epoch);
}

TEST_CASE("loss: under injected faults every transport keeps its contract", "[conform]")
{
    std::string server = GENERATE(from_range(one_of_each()));
    std::string kind = GENERATE("lost", "unacked", "repeat");
    uint64_t at = GENERATE(range(uint64_t(1), uint64_t(8)));
    Setup setup = { server,
                    ",wrap=fault+count,fault_kind=" + kind + ",fault_at=" + std::to_string(at) };
    Context context(setup);
    std::vector<rpmi_op> list;
    int err;

    CAPTURE(server, kind, at);
    for (unsigned i = 0; i < 3; i++) {
        std::memset(context.bytes + 64 * i, static_cast<int>(i) + 1, 64);
        list.push_back(context.write(64 * i, 64, 64 * i));
        list.back().flags = 0;
        list.push_back(context.read(64 * i, 64, 64 * i));
    }
    err = context.exec(list);
    CHECK(err == (kind == "repeat" || at > 6 ? 0 : RPM_E_LOST));
    if (err != 0)
        redial(context);
    if (at > 6) // the fault has not happened yet
        err = context.exec({ context.read(0, 192) });
    if (at > 6 && err != 0)
        redial(context);
    REQUIRE(context.exec({ context.read(0, 192) }) == 0);
    for (unsigned i = 0; i < 3; i++) {
        bool acked = err == 0 || 2 * i + 2 < at;

        if (acked)
            CHECK(context.into[64 * i] == i + 1);
    }
}
