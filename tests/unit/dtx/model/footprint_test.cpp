// SPDX-License-Identifier: BSD-3-Clause
#include "model/footprint.h"

#include "support/catch.h"
#include "support/rounds.h"

using namespace dtx::model;

namespace
{

rpm_facts facts_of(const char *preset)
{
    rpm_facts facts = rpm_facts_init();
    rpm_model *model = nullptr;

    REQUIRE(rpm_model_open(preset, &model) == 0);
    rpm_model_facts(model, &facts);
    rpm_model_close(&model);
    return facts;
}

Trace trace_of(uint32_t servers, uint32_t replicas)
{
    Trace trace;

    trace.servers = servers;
    trace.replicas = replicas;
    return trace;
}

// Reads a row of shard 0 and the bucket of its index, writes a row of shard 1 and one of shard 2.
const Attempt MOVES = { true,
                        16 + 2 * (8 + 64),
                        { { 0, 8, 64, true, true, false, 0, 1 },
                          { 0, 224, 256, true, false, false, 0, 2 },
                          { 1, 8, 64, true, true, true, 0, 3 },
                          { 2, 8, 64, true, true, true, 0, 4 } } };

Script script(const Attempt &attempt, const Trace &trace, const Setting &setting,
              uint32_t rotation = 0)
{
    return script_of(attempt, trace, setting, effects_of(facts_of("hints"), setting), rotation);
}

uint32_t phases(const Script &script)
{
    return script.empty() ? 0 : script.back().phase + 1;
}

uint32_t count(const Script &script, uint32_t op, uint32_t memory)
{
    uint32_t found = 0;

    for (const rpm_script_op &each : script)
        found += each.op == op && each.memory == memory ? 1 : 0;
    return found;
}

Setting setting_of(const char *hints, const char *phases)
{
    Setting setting;

    REQUIRE(rpm_hints_parse(hints, &setting.hints) == 0);
    setting.phases = parse_phases(phases);
    return setting;
}

bool runs(const Script &script, uint32_t servers)
{
    rpm_script ref = { script.data(), static_cast<uint32_t>(script.size()), 1 };
    rpm_script_load load = rpm_script_load_init();
    rpm_cost cost = rpm_cost_init();
    rpm_model *model = nullptr;
    int err;

    load.scripts = &ref;
    load.count = 1;
    load.servers = servers;
    load.transactions = rounds(100);
    REQUIRE(rpm_model_open("hints", &model) == 0);
    err = rpm_model_run_scripts(model, &load, &cost);
    rpm_model_close(&model);
    return err == 0;
}

} // namespace

TEST_CASE("footprint: one-sided phases have as many operations as the engine counts", "[unit]")
{
    for (uint32_t replicas : { 1u, 2u, 3u }) {
        Trace trace = trace_of(3, replicas);
        Setting setting = setting_of("all", "one-sided");

        CHECK(script(MOVES, trace, setting).size() == MOVES.remote(replicas, true));
        setting.durable = false;
        CHECK(script(MOVES, trace, setting).size() == MOVES.remote(replicas, false));
    }
}

TEST_CASE("footprint: one-sided phases have the round trips of the engine", "[unit]")
{
    Trace trace = trace_of(3, 2);
    Script made = script(MOVES, trace, setting_of("all", "one-sided"));

    // four reads, locks, versions, locks and versions to validate, log, rows, unlocks
    CHECK(phases(made) == 4 + 2 + 2 + 1 + 1 + 1);
    CHECK(count(made, RPM_LOAD_CAS, RPM_LOAD_DRAM) == 4);
    CHECK(count(made, RPM_LOAD_WRITE, RPM_LOAD_NVM) == 2 + 4);
    CHECK(runs(made, 3));

    Attempt reads = MOVES;
    reads.objects.resize(1);
    made = script(reads, trace, setting_of("all", "one-sided"));
    CHECK(phases(made) == 3); // the row, its lock, its version
    CHECK(made[1].memory == RPM_LOAD_DRAM);
    CHECK(made[2].memory == RPM_LOAD_NVM);
    reads = MOVES;
    reads.committed = false;
    CHECK(phases(script(reads, trace, setting_of("all", "one-sided"))) == 4 + 2); // given up
    reads.objects.clear();
    CHECK(script(reads, trace, setting_of("all", "one-sided")).empty());
}

TEST_CASE("footprint: with conflicts, objects are words that are locked and unlocked", "[unit]")
{
    Trace trace = trace_of(3, 2);
    Setting setting = setting_of("all", "one-sided");
    auto roles = [](const Script &script, uint32_t word) {
        std::vector<uint32_t> found;

        for (const rpm_script_op &op : script)
            if (op.word == word && op.role != RPM_ROLE_NONE)
                found.push_back(op.role);
        return found;
    };
    using Roles = std::vector<uint32_t>;

    for (const rpm_script_op &op : script(MOVES, trace, setting))
        CHECK((op.word == 0 && op.role == RPM_ROLE_NONE));
    setting.conflicts = true;
    Script made = script(MOVES, trace, setting);
    CHECK(roles(made, 1) == Roles{ RPM_ROLE_READ, RPM_ROLE_READ, RPM_ROLE_READ });
    CHECK(roles(made, 2).empty()); // a bucket: read for its row, not validated
    for (uint32_t written : { 3u, 4u })
        CHECK(roles(made, written) ==
              Roles{ RPM_ROLE_READ, RPM_ROLE_LOCK, RPM_ROLE_READ, RPM_ROLE_UNLOCK });
}

TEST_CASE("footprint: by call a phase is one message to each server", "[unit]")
{
    Trace trace = trace_of(3, 2);
    Script made = script(MOVES, trace, setting_of("all", "call"));

    // four reads, locks with versions, validation, log, backups, primaries with their locks
    CHECK(phases(made) == 4 + 1 + 1 + 1 + 1 + 1);
    for (const rpm_script_op &op : made) {
        CHECK(op.by == RPM_BY_CALL);
        CHECK(op.persist == RPM_PERSIST_NONE);
    }
    for (size_t i = 1; i < made.size(); i++)
        if (made[i].phase == made[i - 1].phase)
            CHECK(made[i].server >= made[i - 1].server); // consecutive
    CHECK(made.back().op == RPM_LOAD_CAS);
    CHECK(runs(made, 3));
    CHECK_THROWS(parse_phases("both"));
}

TEST_CASE("footprint: by call a lone read is one message, with the lock before the row", "[unit]")
{
    Trace trace = trace_of(3, 2);
    Attempt reads = MOVES;

    reads.objects.resize(1);
    for (const char *hints : { "all", "none" }) {
        Setting setting = setting_of(hints, "call");
        Script made = script(reads, trace, setting);

        REQUIRE(made.size() == 2);
        CHECK(phases(made) == 1);
        CHECK(made[0].bytes == 8);
        CHECK(made[0].memory == effects_of(facts_of("hints"), setting).locks);
        CHECK(made[1].memory == RPM_LOAD_NVM);
        CHECK(made[1].bytes > 8);
        CHECK(runs(made, 3));
    }
    reads.committed = false;
    CHECK(phases(script(reads, trace, setting_of("all", "call"))) == 1); // given up
    reads.objects.push_back(MOVES.objects[2]);
    CHECK(phases(script(reads, trace, setting_of("all", "call"))) == 2 + 1);
}

TEST_CASE("footprint: by call, a row that was locked by its read is locked so", "[unit]")
{
    Trace trace = trace_of(3, 2);
    Attempt moves = MOVES;

    moves.objects.erase(moves.objects.begin(), moves.objects.begin() + 2);
    for (Object &object : moves.objects)
        object.taken = true;
    Script made = script(moves, trace, setting_of("all", "call"));
    CHECK(phases(made) == 2 + 1 + 1 + 1); // two reads, log, backups, primaries with their locks
    CHECK(count(made, RPM_LOAD_CAS, RPM_LOAD_DRAM) == 4);
    CHECK(runs(made, 3));
    for (const char *phases_of : { "one-sided", "hybrid" }) {
        Attempt plain = moves;

        for (Object &object : plain.objects)
            object.taken = false;
        CHECK(script(moves, trace, setting_of("all", phases_of)).size() ==
              script(plain, trace, setting_of("all", phases_of)).size());
    }
}

TEST_CASE("footprint: hybrid phases are one-sided but for the commit", "[unit]")
{
    Script made = script(MOVES, trace_of(3, 1), setting_of("all", "hybrid"));

    CHECK(phases(made) == 4 + 2 + 2 + 1 + 1);
    for (const rpm_script_op &op : made)
        CHECK((op.by == RPM_BY_CALL) == (op.phase == phases(made) - 1));
    CHECK(runs(made, 3));
}

TEST_CASE("footprint: hints have the effects that the planner says", "[unit]")
{
    Trace trace = trace_of(3, 2);
    rpm_facts facts = facts_of("hints");
    Setting none = setting_of("none", "one-sided");
    Setting all = setting_of("all", "one-sided");
    Script bare = script(MOVES, trace, none);
    Script full = script(MOVES, trace, all);

    CHECK(effects_of(facts, none).other_socket);
    CHECK_FALSE(effects_of(facts, all).other_socket);
    CHECK(effects_of(facts, none).ddio == 0);
    CHECK(effects_of(facts, all).ddio == RPM_NO);
    CHECK(effects_of(facts, setting_of("H8", "one-sided")).locks == RPM_LOAD_DRAM);
    CHECK(count(bare, RPM_LOAD_CAS, RPM_LOAD_NVM) == 4);
    CHECK(bare.size() == full.size());
    for (size_t i = 0; i < full.size(); i++) {
        if (full[i].op != RPM_LOAD_WRITE)
            continue;
        CHECK(full[i].pad_bytes == 64);
        CHECK(bare[i].pad_bytes == 1);
        CHECK(bare[i].bytes < full[i].bytes);
        if (full[i].persist != RPM_PERSIST_NONE) {
            CHECK(full[i].persist == RPM_PERSIST_CHAIN);
            CHECK(bare[i].persist == RPM_PERSIST_WAIT);
        }
    }
    CHECK_FALSE(effects_of(facts, setting_of("none", "call")).streams);
    CHECK(effects_of(facts, setting_of("H4", "call")).streams);
}

TEST_CASE("footprint: large records begin at media lines and fill them", "[unit]")
{
    Attempt large = MOVES;
    auto log_of = [&large](const char *hints) {
        for (const rpm_script_op &op :
             script(large, trace_of(1, 1), setting_of(hints, "one-sided")))
            if (op.pattern == RPM_LOAD_SEQUENTIAL)
                return op;
        throw std::runtime_error("no log");
    };

    CHECK(log_of("all").align_bytes == 0);
    large.log_bytes = 900;
    CHECK(log_of("all").bytes == 900 + 24);
    CHECK(log_of("all").align_bytes == 256);
    CHECK(log_of("all").pad_bytes == 256);
    CHECK(log_of("-H5").pad_bytes == 64);
    CHECK(log_of("none").bytes == 900 + 24 - 2 * 24); // rows without padding
}

TEST_CASE("footprint: of the rows of a phase the last at each server makes all durable", "[unit]")
{
    for (uint32_t replicas : { 1u, 2u }) {
        Script made = script(MOVES, trace_of(2, replicas), setting_of("all", "one-sided"));
        uint32_t install = phases(made) - 2;
        uint32_t sealed = 0;

        for (size_t i = 0; i < made.size(); i++) {
            bool behind = false; // a later write of the phase to that server

            if (made[i].phase != install)
                continue;
            for (size_t k = i + 1; k < made.size(); k++)
                behind = behind || (made[k].phase == install && made[k].server == made[i].server);
            CHECK((made[i].persist == RPM_PERSIST_CHAIN) == !behind);
            sealed += made[i].persist == RPM_PERSIST_CHAIN;
        }
        CHECK(sealed == 2);
    }
}

TEST_CASE("footprint: servers can be rotated, and phases have a maximum width", "[unit]")
{
    Trace trace = trace_of(3, 1);
    Script there = script(MOVES, trace, setting_of("all", "one-sided"));
    Script turned = script(MOVES, trace, setting_of("all", "one-sided"), 2);
    Attempt wide = MOVES;

    REQUIRE(there.size() == turned.size());
    for (size_t i = 0; i < there.size(); i++)
        CHECK(turned[i].server == (there[i].server + 2) % 3);
    wide.objects.assign(150, MOVES.objects[2]);
    wide.log_bytes = 16 + 150 * 72;
    CHECK(runs(script(wide, trace, setting_of("all", "one-sided")), 3));
    CHECK(runs(script(wide, trace, setting_of("none", "call")), 3));
}
