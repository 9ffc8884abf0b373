/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * footprint.cc: turns the accesses of an attempt into operations, phase by phase.
 *
 * Tests: tests/unit/dtx/model/footprint_test.cpp
 */
#include "model/footprint.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>

namespace dtx::model
{

namespace
{

constexpr uint32_t kHeaderBytes = 32; /* of an object, see FORMAT.md */
constexpr uint32_t kFrameBytes = 24;  /* header of a log record */
constexpr uint32_t kWordBytes = 8;    /* a lock, a version */
constexpr uint32_t kPhaseMost = 64;   /* most operations of a phase, see librpm/script.h */
constexpr uint32_t kLarge = 256;
constexpr uint32_t kFewBytes = 128; /* shorter copies are faster without non-temporal stores */

rpm_plan plan_of(const rpm_facts &facts, uint32_t kind, uint32_t method, uint32_t hints)
{
    rpm_facts planned = facts; /* the platform as the hints demand it */
    rpm_request request = rpm_request_init();
    rpm_plan plan = rpm_plan_init();

    planned.domain = RPM_DOMAIN_ADR;
    planned.medium = RPM_MEDIUM_DEVDAX;
    planned.ddio = RPM_NO;
    planned.methods |= 1u << RPM_METHOD_READ | 1u << RPM_METHOD_COPY;
    request.kind = kind;
    request.hints = hints;
    request.method = method;
    request.level = kind == RPM_REQUEST_ATOMIC ? RPM_VISIBLE : RPM_DURABLE;
    request.bytes = kind == RPM_REQUEST_ATOMIC ? kWordBytes : 64;
    if (rpm_plan_make(&planned, &request, &plan) != 0)
        throw std::runtime_error(std::string("no plan: ") + rpm_last_error());
    return plan;
}

/* Builds the script of one attempt from operations. */
class ScriptBuilder
{
  public:
    ScriptBuilder(const Trace &trace, const Setting &setting, const HintEffects &effects,
                  uint32_t rotation)
        : trace_(trace), setting_(setting), effects_(effects), rotation_(rotation)
    {
    }

    uint32_t server(const Object &object, uint32_t copy) const
    {
        return (object.shard + copy + rotation_) % trace_.servers;
    }

    uint32_t row_bytes(const Object &object) const
    {
        return effects_.pad > 1 ? object.slot : kHeaderBytes + object.payload;
    }

    /* Begins a phase: its operations wait for those of the phases before. */
    void next_phase()
    {
        if (begun_) {
            flush();
            phase_++;
        }
        begun_ = false;
    }

    /* Reads @bytes of an object at its primary. */
    void read(const Object &object, uint32_t bytes, uint32_t memory, bool call)
    {
        rpm_script_op &op = add(server(object, 0), RPM_LOAD_READ, bytes, call);

        op.memory = memory;
        if (object.seen || object.written)
            name_word(op, object, RPM_ROLE_READ);
    }

    /* Takes or frees the object's lock by compare-and-swap, as @role says. */
    void swap(const Object &object, uint32_t role, bool call)
    {
        rpm_script_op &op = add(server(object, 0), RPM_LOAD_CAS, kWordBytes, call);

        op.memory = effects_.locks;
        name_word(op, object, role);
    }

    /* @last: the last write of this phase to @server, which makes all of them durable. */
    void write(uint32_t server, uint32_t bytes, bool last, bool call)
    {
        rpm_script_op &op = add(server, RPM_LOAD_WRITE, bytes, call);

        op.pad_bytes = effects_.pad;
        op.copy = effects_.streams && bytes > kFewBytes ? RPM_COPY_STREAM : RPM_COPY_CLWB;
        if (call || !last || !setting_.durable)
            return;
        op.persist = effects_.chained ? RPM_PERSIST_CHAIN : RPM_PERSIST_WAIT;
        op.flush_memory = effects_.chained ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
    }

    void append(uint32_t server, uint32_t bytes, bool call)
    {
        write(server, bytes, true, call);
        pending_.back().pattern = RPM_LOAD_SEQUENTIAL;
        if (bytes > kLarge && effects_.large > effects_.pad)
            pending_.back().pad_bytes = pending_.back().align_bytes = effects_.large;
    }

    Script take()
    {
        next_phase();
        return std::move(ops_);
    }

  private:
    void name_word(rpm_script_op &op, const Object &object, uint32_t role) const
    {
        if (!setting_.conflicts)
            return;
        op.word = object.number;
        op.role = role;
    }

    rpm_script_op &add(uint32_t server, uint32_t kind, uint32_t bytes, bool call)
    {
        rpm_script_op op{};

        op.server = server;
        op.by = call ? RPM_BY_CALL : RPM_BY_NIC;
        op.op = kind;
        op.bytes = bytes;
        begun_ = true;
        pending_.push_back(op);
        return pending_.back();
    }

    /* Ends a phase. Sorts the calls by server, as consecutive ones to a server become one message.
     * Splits a phase that has too many operations. */
    void flush()
    {
        std::stable_sort(
            pending_.begin(), pending_.end(), [](const rpm_script_op &a, const rpm_script_op &b) {
                return a.by < b.by || (a.by == b.by && a.by == RPM_BY_CALL && a.server < b.server);
            });
        for (size_t i = 0; i < pending_.size(); i++) {
            phase_ += i > 0 && i % kPhaseMost == 0 ? 1 : 0;
            pending_[i].phase = phase_;
            ops_.push_back(pending_[i]);
        }
        pending_.clear();
    }

    const Trace &trace_;
    const Setting &setting_;
    const HintEffects &effects_;
    uint32_t rotation_;
    uint32_t phase_ = 0;
    bool begun_ = false;
    Script pending_; /* operations of the current phase */
    Script ops_;
};

using Objects = std::vector<const Object *>;

/* @locks: the memory that has the locks, if a row's lock is read in the same message before the
 * row. @takes: locks that the traced run took by the message that reads the row are taken so. */
void execute(ScriptBuilder &builder, const Attempt &attempt, std::optional<uint32_t> locks,
             bool takes, bool call)
{
    for (const Object &object : attempt.objects) {
        if (!object.read)
            continue;
        builder.next_phase();
        if (takes && object.taken)
            builder.swap(object, RPM_ROLE_LOCK, call);
        else if (locks && object.seen)
            builder.read(object, kWordBytes, *locks, call);
        builder.read(object, builder.row_bytes(object), RPM_LOAD_NVM, call);
    }
}

void lock(ScriptBuilder &builder, const Objects &writes, bool call)
{
    builder.next_phase();
    for (const Object *object : writes)
        builder.swap(*object, RPM_ROLE_LOCK, call);
    if (!call)
        builder.next_phase();
    for (const Object *object : writes)
        builder.read(*object, kWordBytes, RPM_LOAD_NVM, call);
}

void validate(ScriptBuilder &builder, const Objects &validated, uint32_t locks, bool call)
{
    builder.next_phase();
    for (const Object *object : validated)
        builder.read(*object, kWordBytes, locks, call);
    if (!call)
        builder.next_phase();
    for (const Object *object : validated)
        builder.read(*object, kWordBytes, RPM_LOAD_NVM, call);
}

/* A coordinator's log has a copy on each of several consecutive servers; which is the first depends
 * on the coordinator. */
void log(ScriptBuilder &builder, const Attempt &attempt, const Objects &writes, const Trace &trace,
         bool call)
{
    uint64_t bytes = attempt.log_bytes + kFrameBytes;
    Object own{}; /* on server 0 before rotation: the log of coordinator 0 */

    for (const Object *object : writes)
        bytes -= object->slot - builder.row_bytes(*object);
    builder.next_phase();
    for (uint32_t copy = 0; copy < trace.replicas; copy++)
        builder.append(builder.server(own, copy), static_cast<uint32_t>(bytes), call);
}

void install_copies(ScriptBuilder &builder, const Objects &writes, uint32_t first, uint32_t end,
                    bool call)
{
    std::set<uint32_t> ended; /* servers whose last row was found */
    struct Row {
        uint32_t server, bytes;
        bool last;
    };
    std::vector<Row> rows;

    for (uint32_t copy = first; copy < end; copy++)
        for (const Object *object : writes)
            rows.push_back({ builder.server(*object, copy), builder.row_bytes(*object), false });
    for (size_t i = rows.size(); i-- > 0;)
        rows[i].last = ended.insert(rows[i].server).second;
    for (const Row &row : rows)
        builder.write(row.server, row.bytes, row.last, call);
}

void install(ScriptBuilder &builder, const Objects &writes, uint32_t replicas, bool call)
{
    builder.next_phase();
    if (!call) {
        install_copies(builder, writes, 0, replicas, false);
        builder.next_phase();
    } else {
        install_copies(builder, writes, 1, replicas, true);
        builder.next_phase();
        install_copies(builder, writes, 0, 1, true);
    }
    for (const Object *object : writes)
        builder.swap(*object, RPM_ROLE_UNLOCK, call);
}

} // namespace

Phases parse_phases(const std::string &text)
{
    if (text == "one-sided")
        return {};
    if (text == "call")
        return { true, true, true, true, true };
    if (text == "hybrid")
        return { false, false, false, false, true };
    throw std::runtime_error("phases are one-sided, call or hybrid, not " + text);
}

HintEffects effects_of(const rpm_facts &facts, const Setting &setting)
{
    rpm_plan nic = plan_of(facts, RPM_REQUEST_APPEND, RPM_METHOD_READ, setting.hints);
    rpm_plan core = plan_of(facts, RPM_REQUEST_APPEND, RPM_METHOD_COPY, setting.hints);
    rpm_plan atomic = plan_of(facts, RPM_REQUEST_ATOMIC, 0, setting.hints);
    bool calls = setting.phases.log && setting.phases.commit; /* the server CPU writes everything */
    const rpm_plan &main = calls ? core : nic;
    HintEffects effects{};

    effects.other_socket = main.same_node == 0;
    effects.ddio = main.ddio;
    effects.writers_max = core.spread != 0 ? core.writers_max : 0;
    effects.pad = main.pad_bytes;
    effects.large = main.large_bytes;
    effects.chained = nic.chained != 0;
    effects.streams = core.copy == RPM_COPY_STREAM;
    effects.locks = atomic.atomic_dram != 0 ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
    return effects;
}

Script script_of(const Attempt &attempt, const Trace &trace, const Setting &setting,
                 const HintEffects &effects, uint32_t rotation)
{
    ScriptBuilder builder(trace, setting, effects, rotation);
    Objects writes, validated, to_lock;
    bool takes = setting.phases.execute && setting.phases.lock;
    bool settles = setting.phases.execute && setting.phases.validate && attempt.is_lone_read();

    for (const Object &object : attempt.objects) {
        if (attempt.committed && object.written)
            writes.push_back(&object);
        else if (object.seen)
            validated.push_back(&object);
    }
    execute(builder, attempt, settles ? std::optional(effects.locks) : std::nullopt, takes,
            setting.phases.execute);
    std::copy_if(writes.begin(), writes.end(), std::back_inserter(to_lock),
                 [takes](const Object *object) { return !takes || !object->taken; });
    if (!to_lock.empty())
        lock(builder, to_lock, setting.phases.lock);
    if (!validated.empty() && !settles)
        validate(builder, validated, effects.locks, setting.phases.validate);
    if (!writes.empty()) {
        if (setting.durable)
            log(builder, attempt, writes, trace, setting.phases.log);
        install(builder, writes, trace.replicas, setting.phases.commit);
    }
    return builder.take();
}

} // namespace dtx::model
