// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

#include <functional>

namespace
{

struct Asked {
    Ops ops;
    rpm_script script = {};
    rpm_script_load load = rpm_script_load_init();
};

int refused(const std::function<void(Asked &)> &edit, const char *says)
{
    Asked asked;
    int err;

    asked.ops = { op_of(0, RPM_LOAD_READ, 64), op_of(1, RPM_LOAD_WRITE, 64) };
    asked.script.weight = 1;
    edit(asked);
    if (asked.script.ops == nullptr && asked.script.count == 0) {
        asked.script.ops = asked.ops.data();
        asked.script.count = static_cast<uint32_t>(asked.ops.size());
    }
    if (asked.load.count == 0) {
        asked.load.scripts = &asked.script;
        asked.load.count = 1;
    }
    err = rpmi_script_check(&asked.load);
    if (err != 0)
        CHECK(std::string(rpm_last_error()).find(says) != std::string::npos);
    return err;
}

} // namespace

TEST_CASE("script: fields that are zero have defaults", "[unit]")
{
    rpm_script_op op = op_of(0, RPM_LOAD_READ, 8);
    rpm_script script = { &op, 1, 1 };
    rpm_script_load load = rpm_script_load_init();

    load.scripts = &script;
    load.count = 1;
    REQUIRE(rpmi_script_check(&load) == 0);
    CHECK(load.servers == 1);
    CHECK(load.threads == 1);
    CHECK(load.coroutines == 1);
    CHECK(load.cores == 10);
    CHECK(load.region_bytes == 1ull << 30);
    CHECK(load.dram_bytes == 64ull << 20);
    CHECK(load.transactions == 20000);
}

TEST_CASE("script: a load is refused with the reason", "[unit]")
{
    CHECK(refused([](Asked &) {}, "") == 0);

    struct {
        const char *says;
        std::function<void(Asked &)> edit;
    } const cases[] = {
        { "1024 servers", [](Asked &a) { a.load.servers = 1025; } },
        { "threads", [](Asked &a) { a.load.threads = 4097; } },
        { "threads", [](Asked &a) { a.load.coroutines = 65; } },
        { "machines", [](Asked &a) { a.load.machines = 2; } },
        { "cores", [](Asked &a) { a.load.cores = 65; } },
        { "ddio", [](Asked &a) { a.load.ddio = 3; } },
        { "remote_socket", [](Asked &a) { a.load.remote_socket = 2; } },
        { "memory", [](Asked &a) { a.load.region_bytes = 1; } },
        { "memory", [](Asked &a) { a.load.dram_bytes = (64ull << 30) + 1; } },
        { "16 Mi", [](Asked &a) { a.load.transactions = (1u << 24) + 1; } },
        { "pause", [](Asked &a) { a.load.pause_ns = 1000000001; } },
        { "65536", [](Asked &a) { a.load.count = 65537; } },
        { "65536",
          [](Asked &a) {
              a.load.scripts = nullptr;
              a.load.count = 1;
          } },
        { "at least one",
          [](Asked &a) {
              a.script.ops = a.ops.data();
              a.script.count = 0;
          } },
        { "weight", [](Asked &a) { a.script.weight = 0; } },
        { "by NIC", [](Asked &a) { a.ops[0].by = RPM_BY_CORE; } },
        { "op is 0 to 2", [](Asked &a) { a.ops[0].op = RPM_LOAD_MIX; } },
        { "copy is 0 to 2", [](Asked &a) { a.ops[0].copy = RPM_COPY_STORE; } },
        { "persist is 0 to 2", [](Asked &a) { a.ops[1].persist = 3; } },
        { "memory is 0 or 1", [](Asked &a) { a.ops[0].memory = 2; } },
        { "flush_memory is 0 or 1", [](Asked &a) { a.ops[0].flush_memory = 2; } },
        { "pattern is 0 or 1", [](Asked &a) { a.ops[0].pattern = 2; } },
        { "log", [](Asked &a) { a.ops[0].pattern = RPM_LOAD_SEQUENTIAL; } },
        { "server is 0 to", [](Asked &a) { a.ops[1].server = 1; } },
        { "64 KiB", [](Asked &a) { a.ops[0].bytes = 0; } },
        { "64 KiB", [](Asked &a) { a.ops[0].bytes = 65537; } },
        { "64 KiB", [](Asked &a) { a.ops[0].pad_bytes = 65537; } },
        { "8 bytes", [](Asked &a) { a.ops[0].op = RPM_LOAD_CAS; } },
        { "phases", [](Asked &a) { a.ops[0].phase = 1; } },
        { "phases", [](Asked &a) { a.ops[1].phase = 2; } },
        { "phases",
          [](Asked &a) {
              a.ops.push_back(a.ops[0]); // phase 0 again
          } },
        { "at most 64", [](Asked &a) { a.ops.assign(65, op_of(0, RPM_LOAD_READ, 8)); } },
    };

    for (const auto &each : cases) {
        CAPTURE(each.says);
        CHECK(refused(each.edit, each.says) == RPM_E_INVAL);
    }
    CHECK(refused([](Asked &a) { a.ops.assign(64, op_of(0, RPM_LOAD_READ, 8)); }, "") == 0);
}

TEST_CASE("script: words that do not match their operations are refused with the reason", "[unit]")
{
    struct {
        const char *says;
        std::function<void(Asked &)> edit;
    } const cases[] = {
        { "words are at most 16 Mi", [](Asked &a) { a.load.words = (1u << 24) + 1; } },
        { "doorbells", [](Asked &a) { a.load.doorbells = 1; } },
        { "one second",
          [](Asked &a) {
              a.load.backoff_ns = 2;
              a.load.backoff_max_ns = 1;
          } },
        { "READ for a READ", [](Asked &a) { a.ops[0].role = RPM_ROLE_LOCK; } },
        { "READ for a READ", [](Asked &a) { a.ops[1].role = RPM_ROLE_UPDATE + 1; } },
        { "names a word", [](Asked &a) { a.ops[0].role = RPM_ROLE_READ; } },
        { "names a word",
          [](Asked &a) {
              a.ops[0].role = RPM_ROLE_READ;
              a.ops[0].word = 1;
          } },
        { "names a word",
          [](Asked &a) {
              a.load.words = 1;
              a.ops[0].word = 1;
          } },
        { "one-sided",
          [](Asked &a) {
              a.load.words = 1;
              a.ops[0] = by_call(a.ops[0]);
              a.ops[0].role = RPM_ROLE_READ;
              a.ops[0].word = 1;
          } },
        { "unlocked once",
          [](Asked &a) {
              a.load.words = 1;
              a.ops[1].role = RPM_ROLE_UNLOCK;
              a.ops[1].word = 1;
          } },
        { "in a later phase",
          [](Asked &a) {
              a.load.words = 1;
              a.ops[0] = op_of(0, RPM_LOAD_CAS, 8);
              a.ops[1].phase = 0;
              a.ops[0].role = RPM_ROLE_LOCK;
              a.ops[1].role = RPM_ROLE_UNLOCK;
              a.ops[0].word = a.ops[1].word = 1;
          } },
    };

    for (const auto &each : cases) {
        CAPTURE(each.says);
        CHECK(refused(each.edit, each.says) == RPM_E_INVAL);
    }
}

TEST_CASE("script: so many operations are outstanding at a server at most", "[unit]")
{
    Cluster cluster(
        { { op_of(0, RPM_LOAD_READ, 8), op_of(0, RPM_LOAD_READ, 8, 1), op_of(1, RPM_LOAD_READ, 8),
            op_of(1, RPM_LOAD_READ, 8), op_of(2, RPM_LOAD_READ, 8), op_of(2, RPM_LOAD_READ, 8, 1) },
          { op_of(0, RPM_LOAD_READ, 8, 1) } });
    rpmi_params params = params_of("hints");
    rpmi_cluster_model *run;

    cluster.load.servers = 2;
    run = cluster.open(params);
    CHECK(rpmi_script_widest(run) == 2);
    CHECK(run->op_classes == 7);
    rpmi_cluster_close(&run);
    Cluster wide({ Ops(64, op_of(0, RPM_LOAD_READ, 8)) });
    wide.load.threads = 4096;
    wide.load.coroutines = 2;
    CHECK_THROWS(wide.open(params));
}
