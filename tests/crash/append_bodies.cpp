// SPDX-License-Identifier: BSD-3-Clause
// append_bodies.cpp: scenarios with one writer: it appends, wraps around the ring and trims.
#include "crash/bodies.h"

using namespace cuts;

static void append_blocking(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    for (size_t len : { 40, 8, 41, 200, 104 })
        writer.append(len);
}

static void append_pipelined(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    writer.append(40);
    run.begin();
    for (size_t len : { 40, 100, 8, 230, 40, 300, 64, 40 })
        writer.async(len);
    writer.poll(true);
}

// Appends that share flushes: a group that waits for an outstanding flush, a group that waits for a
// shared one, and polls in between, of which some find completions and others none.
static void append_shared(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a", 16384));

    run.begin();
    for (int turn = 0; turn < 3; turn++) {
        for (size_t len : { 40, 100, 8, 300, 40, 230 })
            writer.async(len);
        writer.poll(false);
        for (size_t len : { 64, 500 })
            writer.async(len);
        writer.poll(turn != 0);
    }
    writer.async(8);
    writer.reserve(100, 60);
    writer.async(40, RPM_MORE);
    writer.async(300);
    writer.poll(false);
    writer.async(40);
    writer.append(70);
    writer.async(100);
    writer.async(40);
    writer.batch({ 40, 600 });
    for (size_t len : { 40, 100, 8 })
        writer.async(len);
    writer.persist();
    writer.poll(true);
}

// A group is held back on one log while a call on another log of the connection waits.
static void append_shared_two(Run &run)
{
    Writer one(run, FIRST, log_of(run, "a"));
    Writer two(run, FIRST, log_of(run, "b"));

    run.begin();
    for (size_t len : { 40, 100, 8 }) {
        one.async(len);
        two.async(len);
    }
    two.append(40);
    for (size_t len : { 300, 40, 40 }) {
        one.async(len);
        two.async(len);
    }
    one.persist();
    one.poll(true);
    two.poll(true);
}

static void append_more(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    for (size_t len : { 40, 100, 300 })
        writer.async(len, RPM_MORE);
    writer.async(8);
    for (size_t len : { 50, 500 })
        writer.async(len, RPM_MORE);
    writer.persist();
    writer.async(60, RPM_MORE);
    writer.append(70); // also flushes the appends with RPM_MORE before it
    writer.poll(true);
}

static void append_batch(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    writer.batch({ 40, 200, 40, 300, 8 });
    writer.batch({ 600 });
    writer.async(40);
    writer.batch({ 100, 100, 100 });
    writer.poll(true);
}

static void append_reserve(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    writer.reserve(100, 100);
    writer.reserve(500, 60);
    writer.reserve(400, 400);
    writer.append(40);
    writer.poll(true);
}

// Several laps of the ring; sizes that leave gaps at its end and before large frames.
static void wrap(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    for (size_t len : { 700, 40, 1000, 600, 300 }) {
        writer.append(len);
        writer.trim(1);
    }
    run.begin();
    for (size_t len : { 900, 1100, 40, 1300, 100, 700 }) {
        if (!writer.try_append(len)) {
            writer.trim(1);
            writer.append(len);
        }
        (void)writer.try_async(100);
    }
    writer.poll(true);
}

static void large(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a", 8192));

    run.begin();
    for (size_t len : { 300, 2500, 233, 1500, 232 })
        writer.async(len);
    writer.poll(true);
}

// Frames of whole cache lines and whole media lines: frames of a later lap begin where older ones
// did.
static void same_size(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    for (int i = 0; i < 8; i++)
        writer.append(488);
    writer.trim(4);
    run.begin();
    for (int i = 0; i < 4; i++)
        writer.async(488);
    writer.poll(true);
    writer.trim(2);
    writer.batch({ 488, 488 });
}

static void trim_reuse(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    for (size_t len : { 1200, 1200, 1200 })
        writer.append(len);
    run.begin();
    for (int i = 0; i < 3; i++) {
        writer.trim(2);
        writer.append(1200);
    }
    writer.trim(0);
    writer.append(1900);
}

static void full_ring(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    while (writer.try_async(500)) {
    }
    writer.poll(true);
    if (writer.try_append(1000))
        violate("a full log took a record");
    writer.trim(3);
    writer.append(1000);
}

// The queue has fewer entries than there are records: completions must be reaped in between.
static void narrow(Run &run)
{
    LogOracle &oracle = log_of(run, "a");

    oracle.inflight_max = 2;
    Writer writer(run, FIRST, oracle);
    run.begin();
    for (size_t len : { 40, 40, 300, 40, 8 })
        writer.async(len, RPM_MORE);
    writer.persist();
    writer.poll(true);
}

// Logs and a region share one queue pair.
static void together(Run &run)
{
    Writer one(run, FIRST, log_of(run, "a"));
    Writer two(run, FIRST, log_of(run, "b"));
    RegionUser region(run, FIRST, region_of(run, "r", 512));

    run.begin();
    for (size_t len : { 40, 200, 300 }) {
        one.async(len, RPM_MORE);
        two.async(len);
        region.async(len, 64);
        one.async(len);
    }
    two.append(60);
    one.poll(true);
    two.poll(true);
    region.poll(true);
}

static void create(Run &run)
{
    LogOracle &oracle = log_of(run, "a");

    run.client(FIRST);
    run.begin();
    Writer writer(run, FIRST, oracle);
    writer.append(40);
}

static void remove_object(Run &run, const char *name)
{
    run.must(rpm_conn_remove(run.client(FIRST), name), "remove");
    run.say("%s removed", name);
}

// A log is created in the space of a removed one: no record of the old log may appear in it.
static void replace_log(Run &run)
{
    LogOracle &old = log_of(run, "old");
    LogOracle &young = log_of(run, "new");

    {
        Writer writer(run, FIRST, old);
        for (size_t len : { 40, 40, 300 })
            writer.append(len);
        writer.trim(1);
    }
    run.begin();
    old.removing();
    remove_object(run, "old");
    old.removed();
    Writer writer(run, FIRST, young);
    writer.append(40);
    writer.async(40);
    writer.poll(true);
}

// A region is created in the space of a removed log, and of a removed region: it must be zeros.
static void replace_region(Run &run)
{
    LogOracle &log = log_of(run, "a");
    RegionOracle &old = region_of(run, "old", 600);

    {
        Writer writer(run, FIRST, log);
        RegionUser user(run, FIRST, old);
        writer.append(200);
        user.write(0, 600);
    }
    run.begin();
    log.removing();
    remove_object(run, "a");
    log.removed();
    RegionUser one(run, FIRST, region_of(run, "one", 9000));
    one.write(100, 100);
    old.removing();
    remove_object(run, "old");
    old.removed();
    RegionUser two(run, FIRST, region_of(run, "two", 400));
    two.write(8, 16);
}

const std::vector<Scenario> &append_scenarios()
{
    static const std::vector<Scenario> all = {
        { "append_blocking", append_blocking },
        { "append_pipelined", append_pipelined },
        { "append_shared", append_shared },
        { "append_shared_two", append_shared_two },
        { "append_more", append_more },
        { "append_batch", append_batch },
        { "append_reserve", append_reserve },
        { "wrap", wrap },
        { "large", large },
        { "same_size", same_size },
        { "trim_reuse", trim_reuse },
        { "full_ring", full_ring },
        { "narrow", narrow },
        { "together", together },
        { "create", create },
        { "replace_log", replace_log },
        { "replace_region", replace_region },
    };

    return all;
}
