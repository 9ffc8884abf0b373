/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.cc: read a trace, and compare it with the counters of the engine.
 *
 * Tests: tests/unit/dtx/model/trace_test.cpp
 */
#include "model/trace.h"

#include "engine/format/redo.h"
#include <dtx/object.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dtx::model
{

using Json = nlohmann::json;

static constexpr uint32_t kServersMax = 64;
static constexpr uint32_t kBytesMax = 65536;
static constexpr uint32_t kObjectsMax = 1u << 24; /* maximum of words in a script load */
static constexpr double kUnexplained = 0.03; /* share of inner index nodes, which traces lack */

uint32_t Attempt::writes() const
{
    uint32_t count = 0;

    for (const Object &object : objects)
        count += committed && object.written ? 1 : 0;
    return count;
}

uint32_t Attempt::validated() const
{
    uint32_t count = 0;

    for (const Object &object : objects)
        count += object.seen && !(committed && object.written) ? 1 : 0;
    return count;
}

uint64_t Attempt::remote(uint32_t replicas, bool durable) const
{
    uint64_t count = 0;
    uint64_t written = writes();
    bool settled = false;

    for (const Object &object : objects) {
        count += (object.read ? 1 : 0) + (object.settled ? 1 : 0);
        count -=
            committed && object.taken ? 1 : 0; /* locked by its read: no separate lock operation */
        settled |= object.seen && object.settled;
    }
    if (!is_lone_read() || !settled)
        count += 2 * validated(); /* the lock, then the version */
    if (written != 0)             /* lock, version read, log, install, unlock */
        count += 3 * written + (durable ? replicas : 0) + replicas * written;
    return count;
}

bool Trace::keep_only(const std::string &table, uint32_t payload)
{
    auto found = std::find(tables.begin(), tables.end(), table);
    auto kept = static_cast<uint32_t>(found - tables.begin());

    if (found == tables.end())
        return false;
    for (Attempt &attempt : attempts) {
        std::erase_if(attempt.objects,
                      [kept](const Object &object) { return object.table != kept; });
        for (Object &object : attempt.objects) {
            object.payload = payload;
            object.slot = slot_bytes(payload);
        }
        attempt.log_bytes =
            attempt.writes() == 0
                ? 0
                : sizeof(RedoHeader) + attempt.writes() * (sizeof(uint64_t) + slot_bytes(payload));
    }
    std::erase_if(attempts, [](const Attempt &attempt) { return attempt.objects.empty(); });
    return true;
}

namespace
{

uint32_t number(const Json &json, uint32_t least, uint32_t most)
{
    uint64_t value = json.get<uint64_t>();

    if (!json.is_number_unsigned() || value < least || value > most)
        throw std::runtime_error("found the number " + json.dump() + ", expected " +
                                 std::to_string(least) + " to " + std::to_string(most));
    return static_cast<uint32_t>(value);
}

Object object_of(const Json &json, uint32_t servers, uint32_t tables)
{
    Object object{};
    const std::string letters = json.at(3).get<std::string>();

    object.shard = number(json.at(0), 0, servers - 1);
    object.payload = number(json.at(1), 0, kBytesMax);
    object.slot = number(json.at(2), 1, kBytesMax);
    object.read = letters.find('r') != std::string::npos;
    object.seen = letters.find('s') != std::string::npos;
    object.written = letters.find('w') != std::string::npos;
    object.settled = letters.find('l') != std::string::npos;
    object.taken = letters.find('t') != std::string::npos;
    object.table = number(json.at(4), 0, tables - 1);
    object.number = number(json.at(5), 1, kObjectsMax);
    if (letters.find_first_not_of("rlswt") != std::string::npos)
        throw std::runtime_error("an object has letters other than r, l, s, w and t");
    if (object.taken && !(object.read && object.written))
        throw std::runtime_error(
            "an object that was locked by its read (t) but not read and written (r, w)");
    return object;
}

void take_head(const Json &json, Trace &trace)
{
    if (json.value("dtx", 0) != 2 || json.value("what", "") != "trace")
        throw std::runtime_error("not a trace, or one of another version: expected \"dtx\": 2, as "
                                 "dtx-bench --trace writes");
    trace.workload = json.at("workload").get<std::string>();
    if (const Json parameters = json.value("parameters", Json::object());
        parameters.contains("core_workload")) /* name each core workload of YCSB */
        trace.workload += "-" + parameters.at("core_workload").get<std::string>() + "-" +
                          parameters.at("index").get<std::string>();
    trace.servers = number(json.at("servers"), 1, kServersMax);
    trace.replicas = number(json.at("replicas"), 1, trace.servers);
    trace.durable = json.at("durable").get<bool>();
    trace.tables = json.at("tables").get<std::vector<std::string>>();
    if (trace.tables.empty())
        throw std::runtime_error("no tables, expected at least one");
}

void take_attempt(const Json &json, Trace &trace)
{
    Attempt attempt{};

    attempt.committed = json.at("committed").get<bool>();
    attempt.log_bytes = json.at("log_bytes").get<uint64_t>();
    if (attempt.log_bytes > kBytesMax)
        throw std::runtime_error("a redo record of more than 64 KiB");
    for (const Json &object : json.at("objects")) {
        attempt.objects.push_back(
            object_of(object, trace.servers, static_cast<uint32_t>(trace.tables.size())));
        trace.objects = std::max(trace.objects, attempt.objects.back().number);
    }
    trace.attempts.push_back(std::move(attempt));
}

void check_end(const Json &json, Trace &trace)
{
    uint64_t remote = 0;

    trace.transactions = json.at("transactions").get<uint64_t>();
    trace.remote = json.at("remote").get<uint64_t>();
    if (json.at("attempts").get<uint64_t>() != trace.attempts.size() || trace.attempts.empty() ||
        trace.transactions == 0)
        throw std::runtime_error("says " + json.at("attempts").dump() + " attempts, there are " +
                                 std::to_string(trace.attempts.size()));
    for (const Attempt &attempt : trace.attempts)
        remote += attempt.remote(trace.replicas, trace.durable);
    if (remote > trace.remote ||
        static_cast<double>(trace.remote - remote) > kUnexplained * static_cast<double>(remote))
        throw std::runtime_error("the engine counted " + std::to_string(trace.remote) +
                                 " operations on servers, the attempts explain " +
                                 std::to_string(remote));
}

} // namespace

Trace read_trace(const std::string &path)
{
    std::ifstream file(path);
    std::string line;
    Trace trace;
    uint64_t lines = 0;
    bool ended = false;

    if (!file)
        throw std::runtime_error(path + ": cannot be opened");
    while (std::getline(file, line)) {
        lines++;
        try {
            Json json = Json::parse(line);

            if (ended)
                throw std::runtime_error("a line follows the end line");
            if (lines == 1)
                take_head(json, trace);
            else if (json.contains("what"))
                check_end(json, trace);
            else
                take_attempt(json, trace);
            ended = lines > 1 && json.contains("what");
        } catch (const std::exception &wrong) {
            throw std::runtime_error(path + ":" + std::to_string(lines) + ": " + wrong.what());
        }
    }
    if (!ended)
        throw std::runtime_error(path + ": cut short: it has no end line");
    return trace;
}

} // namespace dtx::model
