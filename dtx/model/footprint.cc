/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * footprint.cc: the operations of an attempt, phase after phase.
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
constexpr uint32_t kFrameBytes = 24;  /* of a log's record */
constexpr uint32_t kWordBytes = 8;    /* a lock, a version */
constexpr uint32_t kPhaseMost = 64;   /* operations, see librpm/script.h */
constexpr uint32_t kLarge = 256;
constexpr uint32_t kFewBytes = 128; /* copied faster without streams */

rpm_plan plan_of(const rpm_facts &facts, uint32_t kind, uint32_t method, uint32_t hints)
{
    rpm_facts planned = facts; /* as the hints would have it */
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

/* Puts operations into phases. */
class Recorder
{
  public:
    Recorder(const Trace &trace, const Setting &setting, const Carried &carried, uint32_t turn)
        : trace_(trace), setting_(setting), carried_(carried), turn_(turn)
    {
    }

    uint32_t server(const Object &object, uint32_t copy) const
    {
        return (object.shard + copy + turn_) % trace_.servers;
    }

    uint32_t row_bytes(const Object &object) const
    {
        return carried_.pad > 1 ? object.slot : kHeaderBytes + object.payload;
    }

    /* Begins a phase: its operations wait for those before. */
    void then()
    {
        if (begun_) {
            flush();
            phase_++;
        }
        begun_ = false;
    }

    /* Of an object's remote parts. */
    void read(const Object &object, uint32_t bytes, uint32_t memory, bool call)
    {
        rpm_script_op &op = add(server(object, 0), RPM_LOAD_READ, bytes, call);

        op.memory = memory;
        if (object.seen || object.written)
            name(op, object, RPM_ROLE_LOOK);
    }

    /* Of its lock: taken, or given back. */
    void swap(const Object &object, uint32_t role, bool call)
    {
        rpm_script_op &op = add(server(object, 0), RPM_LOAD_CAS, kWordBytes, call);

        op.memory = carried_.locks;
        name(op, object, role);
    }

    /* @last: of those of this phase to the server, so that it makes them durable. */
    void write(uint32_t server, uint32_t bytes, bool last, bool call)
    {
        rpm_script_op &op = add(server, RPM_LOAD_WRITE, bytes, call);

        op.pad_bytes = carried_.pad;
        op.copy = carried_.streams && bytes > kFewBytes ? RPM_COPY_STREAM : RPM_COPY_CLWB;
        if (call || !last || !setting_.durable)
            return;
        op.persist = carried_.chained ? RPM_PERSIST_CHAIN : RPM_PERSIST_WAIT;
        op.flush_memory = carried_.chained ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
    }

    void append(uint32_t server, uint32_t bytes, bool call)
    {
        write(server, bytes, true, call);
        pending_.back().pattern = RPM_LOAD_SEQUENTIAL;
        if (bytes > kLarge && carried_.large > carried_.pad)
            pending_.back().pad_bytes = pending_.back().align_bytes = carried_.large;
    }

    Script take()
    {
        then();
        return std::move(ops_);
    }

  private:
    void name(rpm_script_op &op, const Object &object, uint32_t role) const
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

    /* Calls to one server side by side, so that they are one message; not too many at a time. */
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
    const Carried &carried_;
    uint32_t turn_;
    uint32_t phase_ = 0;
    bool begun_ = false;
    Script pending_; /* of this phase */
    Script ops_;
};

using Objects = std::vector<const Object *>;

/* @locks: where locks are, if that of what is seen is read before it. @takes: what was taken is. */
void execute(Recorder &recorder, const Attempt &attempt, std::optional<uint32_t> locks, bool takes,
             bool call)
{
    for (const Object &object : attempt.objects) {
        if (!object.read)
            continue;
        recorder.then();
        if (takes && object.taken)
            recorder.swap(object, RPM_ROLE_TAKE, call);
        else if (locks && object.seen)
            recorder.read(object, kWordBytes, *locks, call);
        recorder.read(object, recorder.row_bytes(object), RPM_LOAD_NVM, call);
    }
}

void lock(Recorder &recorder, const Objects &writes, bool call)
{
    recorder.then();
    for (const Object *object : writes)
        recorder.swap(*object, RPM_ROLE_TAKE, call);
    if (!call)
        recorder.then();
    for (const Object *object : writes)
        recorder.read(*object, kWordBytes, RPM_LOAD_NVM, call);
}

void validate(Recorder &recorder, const Objects &looked, uint32_t locks, bool call)
{
    recorder.then();
    for (const Object *object : looked)
        recorder.read(*object, kWordBytes, locks, call);
    if (!call)
        recorder.then();
    for (const Object *object : looked)
        recorder.read(*object, kWordBytes, RPM_LOAD_NVM, call);
}

/* A coordinator's log is on as many servers as there are copies, from one of its own on. */
void log(Recorder &recorder, const Attempt &attempt, const Objects &writes, const Trace &trace,
         bool call)
{
    uint64_t bytes = attempt.log_bytes + kFrameBytes;
    Object own{}; /* the first coordinator's, as in the trace */

    for (const Object *object : writes)
        bytes -= object->slot - recorder.row_bytes(*object);
    recorder.then();
    for (uint32_t copy = 0; copy < trace.replicas; copy++)
        recorder.append(recorder.server(own, copy), static_cast<uint32_t>(bytes), call);
}

void install_copies(Recorder &recorder, const Objects &writes, uint32_t first, uint32_t end,
                    bool call)
{
    std::set<uint32_t> ended; /* servers whose last row of this phase is known */
    struct Row {
        uint32_t server, bytes;
        bool last;
    };
    std::vector<Row> rows;

    for (uint32_t copy = first; copy < end; copy++)
        for (const Object *object : writes)
            rows.push_back({ recorder.server(*object, copy), recorder.row_bytes(*object), false });
    for (size_t i = rows.size(); i-- > 0;)
        rows[i].last = ended.insert(rows[i].server).second;
    for (const Row &row : rows)
        recorder.write(row.server, row.bytes, row.last, call);
}

void install(Recorder &recorder, const Objects &writes, uint32_t replicas, bool call)
{
    recorder.then();
    if (!call) {
        install_copies(recorder, writes, 0, replicas, false);
        recorder.then();
    } else {
        install_copies(recorder, writes, 1, replicas, true);
        recorder.then();
        install_copies(recorder, writes, 0, 1, true);
    }
    for (const Object *object : writes)
        recorder.swap(*object, RPM_ROLE_GIVE, call);
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

Carried carry(const rpm_facts &facts, const Setting &setting)
{
    rpm_plan nic = plan_of(facts, RPM_REQUEST_APPEND, RPM_METHOD_READ, setting.hints);
    rpm_plan core = plan_of(facts, RPM_REQUEST_APPEND, RPM_METHOD_COPY, setting.hints);
    rpm_plan atomic = plan_of(facts, RPM_REQUEST_ATOMIC, 0, setting.hints);
    bool calls = setting.phases.log && setting.phases.commit; /* all that is written */
    const rpm_plan &main = calls ? core : nic;
    Carried carried{};

    carried.far = main.same_node == 0;
    carried.ddio = main.ddio;
    carried.writers_max = core.spread != 0 ? core.writers_max : 0;
    carried.pad = main.pad_bytes;
    carried.large = main.large_bytes;
    carried.chained = nic.chained != 0;
    carried.streams = core.copy == RPM_COPY_STREAM;
    carried.locks = atomic.atomic_dram != 0 ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
    return carried;
}

Script script_of(const Attempt &attempt, const Trace &trace, const Setting &setting,
                 const Carried &carried, uint32_t turn)
{
    Recorder recorder(trace, setting, carried, turn);
    Objects writes, looked, unlocked;
    bool takes = setting.phases.execute && setting.phases.lock;
    bool settles = setting.phases.execute && setting.phases.validate && attempt.is_lone_read();

    for (const Object &object : attempt.objects) {
        if (attempt.committed && object.written)
            writes.push_back(&object);
        else if (object.seen)
            looked.push_back(&object);
    }
    execute(recorder, attempt, settles ? std::optional(carried.locks) : std::nullopt, takes,
            setting.phases.execute);
    std::copy_if(writes.begin(), writes.end(), std::back_inserter(unlocked),
                 [takes](const Object *object) { return !takes || !object->taken; });
    if (!unlocked.empty())
        lock(recorder, unlocked, setting.phases.lock);
    if (!looked.empty() && !settles)
        validate(recorder, looked, carried.locks, setting.phases.validate);
    if (!writes.empty()) {
        if (setting.durable)
            log(recorder, attempt, writes, trace, setting.phases.log);
        install(recorder, writes, trace.replicas, setting.phases.commit);
    }
    return recorder.take();
}

} // namespace dtx::model
