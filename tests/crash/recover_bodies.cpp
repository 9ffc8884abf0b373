// SPDX-License-Identifier: BSD-3-Clause
// recover_bodies.cpp: scenarios after a loss: recovery, another writer, resuming; and readers
// beside a writer.
#include "crash/bodies.h"

extern "C" {
#include "transport/sim/sim.h"
#include "wire/head.h"
}

#include <algorithm>

using namespace cuts;

static const unsigned SECOND = 1;
static const unsigned THIRD = 2;
static const int RESUMES_MAX = 12;
static const uint64_t HEADER = 36864; // of the first log in a pool

// Opening, scanning and sealing a log: faults hit the claim itself.
static void recover_again(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    {
        Writer writer(run, FIRST, oracle);
        for (size_t len : { 40, 300, 100 })
            writer.append(len);
    }
    run.begin();
    for (int i = 0; i < 2; i++) {
        Writer writer(run, FIRST, oracle);
        writer.append(40);
    }
}

// The first writer is fenced with records outstanding; another one takes the log over at once.
static void takeover(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer first(run, FIRST, oracle);

    first.append(40);
    run.client(SECOND);
    run.begin();
    for (size_t len : { 40, 300, 40 })
        first.async(len);
    Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
    oracle.read_all(run, second.log(), RPM_VISIBLE, true);
    second.append(100);
    if (first.try_append(40))
        violate("a writer that was shut out appended");
    second.append(200);
}

// The same, and the fenced writer asks for the outcomes of its records.
static void takeover_resume(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer first(run, FIRST, oracle);

    first.append(40);
    run.client(SECOND);
    run.begin();
    for (size_t len : { 40, 300, 40 })
        first.async(len);
    Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
    second.append(100);
    first.resume();
    if (!first.fenced())
        violate("a writer that was shut out does not know");
    second.append(200);
}

// Several writers in turn die and leave records behind the tail.
static void many_writers(Run &run)
{
    LogOracle &oracle = log_of(run, "a");

    run.begin();
    for (unsigned who : { FIRST, SECOND, THIRD }) {
        Writer writer(run, who, oracle, RPM_LOG_TAKEOVER);
        writer.append(40);
        writer.async(100);
        writer.async(40);
        for (uint64_t i = run.chance.below(30); i > 0; i--)
            rpm_sim_step(run.sim());
        rpm_sim_kill_client(run.client(who));
    }
}

static void resume_until_done(Run &run, Writer &writer)
{
    for (int turn = 0;; turn++) {
        try {
            run.restart();
            writer.resume();
            return;
        } catch (const Lost &) {
            if (turn == RESUMES_MAX)
                throw;
        }
    }
}

// The connection is lost again and again with records outstanding; the writer appends absent
// records again.
static void resume(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));
    static const Fault ends[] = { Fault::drop, Fault::tear, Fault::kill };

    writer.append(40);
    run.begin();
    for (int round = 0; round < 2; round++) {
        try {
            for (size_t len : { 40, 300, 100 })
                writer.async(len);
            writer.append(8);
            writer.async(40);
            for (uint64_t i = run.chance.below(60); i > 0; i--)
                rpm_sim_step(run.sim());
            /* Only the level durable promises something after a power cut. */
            run.inject(run.setup.level == RPM_DURABLE ? ends[run.chance.below(3)] : Fault::kill);
            writer.poll(true);
        } catch (const Lost &) {
        }
        resume_until_done(run, writer);
    }
    writer.append(50);
}

// A batch whose completions the writer never received.
static void resume_batch(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    writer.append(40);
    run.begin();
    try {
        writer.batch({ 40, 300, 8, 100 });
        run.inject(Fault::drop);
        writer.batch({ 8, 8 });
    } catch (const Lost &) {
        resume_until_done(run, writer);
    }
    writer.append(50);
}

// The connection is lost, another client writes and trims, then the first one reconnects.
static void resume_late(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer writer(run, FIRST, oracle);
    std::unique_ptr<Writer> second;

    writer.append(40);
    run.client(SECOND);
    run.begin();
    try {
        for (size_t len : { 40, 300, 100 })
            writer.async(len);
        for (uint64_t i = run.chance.below(60); i > 0; i--)
            rpm_sim_step(run.sim());
        second = std::make_unique<Writer>(run, SECOND, oracle, uint32_t{ RPM_LOG_TAKEOVER });
        oracle.read_all(run, second->log(), RPM_VISIBLE, true);
        second->append(60);
        if (run.chance.one_in(2))
            second->trim(run.chance.below(2));
        if (run.chance.one_in(2))
            second.reset();
    } catch (const Lost &) {
    }
    if (run.fired())
        return;
    writer.resume();
    if (!writer.fenced())
        writer.append(50);
}

// Several logs on one connection, each of them resumed.
static void resume_two(Run &run)
{
    Writer one(run, FIRST, log_of(run, "a"));
    Writer two(run, FIRST, log_of(run, "b"));

    run.begin();
    try {
        for (size_t len : { 40, 300 }) {
            one.async(len);
            two.async(len, RPM_MORE);
        }
        two.append(40);
        run.inject(Fault::kill);
        one.poll(true);
    } catch (const Lost &) {
    }
    for (int turn = 0; turn < RESUMES_MAX; turn++) {
        try {
            run.restart();
            one.resume();
            two.resume();
            break;
        } catch (const Lost &) {
        }
    }
}

// A reader at the log's level follows the writer closely: records that it gets must stay.
static void follow(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer writer(run, FIRST, oracle);
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_record record;

    writer.append(40);
    run.must(rpm_log_open(run.client(READER), "a", nullptr, &log), "open to read");
    opts.level = run.setup.level;
    opts.buffer_bytes = 4096;
    run.must(rpm_reader_open(log, &opts, &reader), "reader");
    run.begin();
    try {
        for (size_t len : { 40, 100, 40, 300, 40, 8, 40 }) {
            writer.async(len, len == 100 ? uint32_t{ RPM_MORE } : 0);
            for (uint64_t i = run.chance.below(25); i > 0; i--)
                rpm_sim_step(run.sim());
            while (run.must(rpm_reader_next(reader, &record), "read") == 1)
                oracle.given(record);
        }
        writer.poll(true);
    } catch (...) {
        rpm_reader_close(&reader);
        rpm_log_close(&log);
        throw;
    }
    rpm_reader_close(&reader);
    rpm_log_close(&log);
}

// A reader starts in the middle: the record that it gets must stay, and so must all records before
// it.
static void read_middle(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer writer(run, FIRST, oracle);
    rpm_log *log = nullptr;

    writer.append(40);
    run.must(rpm_log_open(run.client(READER), "a", nullptr, &log), "open to read");
    run.begin();
    try {
        writer.async(40, RPM_MORE);  // at 64
        writer.async(300, RPM_MORE); // at 256 or 128, by H5
        writer.async(40, RPM_MORE);
        for (uint64_t i = 20 + run.chance.below(25); i > 0; i--)
            rpm_sim_step(run.sim());
        for (uint64_t from : { 128, 256, 640, 768 }) {
            rpm_reader_opts opts = rpm_reader_opts_init();
            rpm_reader *reader = nullptr;
            rpm_record record;

            opts.level = run.setup.level;
            opts.from_lsn = from;
            int err = rpm_reader_open(log, &opts, &reader);
            if (err == RPM_E_RANGE)
                continue;
            run.must(err, "reader");
            err = rpm_reader_next(reader, &record);
            if (err == 1)
                oracle.given(record);
            rpm_reader_close(&reader);
            run.must(err, "read");
        }
        writer.poll(false);
    } catch (...) {
        rpm_log_close(&log);
        throw;
    }
    rpm_log_close(&log);
}

// A reader trims; the writer, whose log was full, reuses the space as soon as it may.
static void reader_trims(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer writer(run, FIRST, oracle);
    rpm_log *log = nullptr;

    for (int i = 0; i < 4; i++)
        writer.append(1000);
    for (unsigned i = 0; i < 2; i++)
        run.client(SECOND + i);
    run.begin();
    for (unsigned i = 0; i < 2; i++) {
        run.must(rpm_log_open(run.client(SECOND + i), "a", nullptr, &log), "open to read");
        oracle.trim_asked(1024 * (i + 1));
        // The reader dies, sometimes while the server carries its trim out.
        rpm_sim_kill_client_at(run.client(SECOND + i), 20 + run.chance.below(60));
        if (rpm_log_trim(log, 1024 * (i + 1)) == 0)
            oracle.trim_acked(1024 * (i + 1));
        rpm_log_close(&log);
        for (int turn = 0; turn < 20 && !writer.try_append(1000); turn++)
            rpm_sim_step(run.sim());
    }
}

static void fill(Writer &writer)
{
    while (writer.try_append(1000)) {
    }
}

// The log is full. While the server carries out a reader's trim, whose new head is visible but not
// durable, the writer tries to append, and the power fails. If the old head comes back, the records
// that it covers must be there too. The writer has a short timeout, because the server is busy with
// the trim.
static void trim_halfway(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    const uint64_t patience_us = run.timeout_us;
    uint64_t step = run.chance.below(3);
    rpm_log *log = nullptr;

    run.timeout_us = 200;
    Writer writer(run, FIRST, oracle);
    run.timeout_us = patience_us;
    fill(writer);
    run.must(rpm_log_open(run.client(SECOND), "a", nullptr, &log), "open to read");
    run.begin();
    Meanwhile meanwhile(run, [&] {
        if (step-- != 0)
            return;
        writer.append_once(1000);
        for (uint64_t i = run.chance.below(20); i > 0; i--)
            rpm_sim_step(run.sim());
        run.inject(Fault::reorder);
    });
    oracle.trim_asked(2048);
    if (rpm_log_trim(log, 2048) == 0)
        oracle.trim_acked(2048);
    rpm_log_close(&log);
    meanwhile.end();
}

// The server dies at the end of a creation. The next server uses what is visible; it must make that
// durable before clients build on it.
static void create_halfway(Run &run)
{
    LogOracle &like = log_of(run, "b");
    LogOracle &oracle = log_of(run, "a");
    uint64_t steps = 0;

    {
        Meanwhile meanwhile(run, [&] { steps++; });
        Writer writer(run, FIRST, like);
        meanwhile.end();
    }
    run.begin();
    steps -= std::min<uint64_t>(steps, run.chance.below(48)); // claim and seal come last
    try {
        Meanwhile meanwhile(run, [&] {
            if (steps-- == 0)
                run.inject(Fault::kill);
        });
        Writer first(run, FIRST, oracle);
        meanwhile.end();
    } catch (const Lost &) {
    }
    run.restart();
    Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
    second.append(40);
}

// The head slots of the first log whose newest content is visible and not durable, one bit each.
static uint32_t dirty_slots(Run &run)
{
    const rpmi_cache &cache = run.sim()->world->machine[0].media.cache;
    uint32_t dirty = 0;

    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++)
        if (cache.oldest[(HEADER + uint64_t{ slot } * RPMI_HEAD_SLOT_STRIDE) / RPMI_LINE_BYTES] !=
            0)
            dirty |= 1u << slot;
    return dirty;
}

// The server dies at a trim whose new head is visible and not durable, and is lost with the power.
// The next server's first head goes to the slots of the head before, which was acknowledged; if
// that write is torn, the acknowledged head must survive. If one copy of the head is durable when
// the server dies (halfway), power fails while the next head's copies are stored.
static void trim_killed(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    uint64_t step = run.chance.below(16);
    bool halfway = run.chance.below(2) == 0;
    uint32_t newest = 0; // both copies of the head that is being stored
    uint32_t next = 0;

    try {
        Writer first(run, FIRST, oracle);

        for (size_t len : { 800, 800, 800 })
            first.append(len);
        first.trim(2);
        first.append(800);
        Meanwhile meanwhile(run, [&] {
            uint32_t dirty = dirty_slots(run);

            if (dirty == 0x5 || dirty == 0xa)
                newest = dirty;
            if (halfway ? newest != 0 && dirty != newest : step-- == 0) {
                halfway = halfway && dirty != 0;
                run.inject(Fault::kill);
            }
        });
        first.trim(1);
        meanwhile.end();
        halfway = false;
    } catch (const Lost &) {
    }
    run.restart();
    run.begin();
    next = newest ^ 0xf;
    try {
        Meanwhile meanwhile(run, [&] {
            if (halfway && (dirty_slots(run) & next) == next) {
                halfway = false;
                run.inject(Fault::tear);
            }
        });
        Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
        meanwhile.end();
        second.append(40);
    } catch (const Lost &) {
    }
}

// Damages one line of the head slots of the first log, but only if all of them are valid: with a
// head that a power cut tore, the remaining slots may not determine which head was the newest.
static void rot(Run &run)
{
    unsigned char *slots = run.sim()->world->machine[0].media.pool + HEADER;
    uint64_t slot = run.chance.below(RPMI_HEAD_SLOTS);
    rpmi_head head;

    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (rpmi_head_get(slots + uint64_t{ i } * RPMI_HEAD_SLOT_STRIDE, &head) != 0)
            return;
    slots[slot * RPMI_HEAD_SLOT_STRIDE + run.chance.below(RPMI_HEAD_BYTES)] ^= 0x10;
    run.say("head slot %u rots", static_cast<unsigned>(slot));
}

// Whatever a fault leaves of the head, one line of it is damaged as well.
static void rotten_head(Run &run)
{
    LogOracle &oracle = log_of(run, "a");

    {
        Writer writer(run, FIRST, oracle);
        writer.append(40);
    }
    run.before_restart = rot;
    run.begin();
    Writer writer(run, FIRST, oracle);
    for (size_t len : { 1200, 1200, 1200 })
        writer.append(len);
    writer.trim(2);
    writer.append(1200);
    writer.trim(0);
    writer.append(1900);
}

const std::vector<Scenario> &recover_scenarios()
{
    static const std::vector<Scenario> all = {
        { "recover_again", recover_again },
        { "takeover", takeover },
        { "takeover_resume", takeover_resume },
        { "many_writers", many_writers },
        { "resume", resume },
        { "resume_batch", resume_batch },
        { "resume_late", resume_late },
        { "resume_two", resume_two },
        { "follow", follow },
        { "read_middle", read_middle },
        { "reader_trims", reader_trims },
        { "trim_halfway", trim_halfway },
        { "create_halfway", create_halfway },
        { "trim_killed", trim_killed },
        { "rotten_head", rotten_head },
    };

    return all;
}
