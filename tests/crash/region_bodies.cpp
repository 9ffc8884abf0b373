// SPDX-License-Identifier: BSD-3-Clause
// region_bodies.cpp: scenarios with regions: durable writes in place.
#include "crash/bodies.h"

using namespace cuts;

static const unsigned SECOND = 1;

// Any offset and length; the bytes beside a write stay as they were.
static void write_any(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 1000));

    user.write(0, 1000);
    run.begin();
    user.write(64, 64);
    user.write(3, 10);
    user.write(100, 100);
    user.write(192, 8);
    user.write(990, 10);
}

static void write_long(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 3000));

    run.begin();
    user.write(0, 3000);
    user.write(8, 2048);
    user.write(20, 1500);
}

static void write_async(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 512));

    user.write(0, 512);
    run.begin();
    for (uint64_t at : { 0, 32, 64, 0, 100, 200, 60, 64 })
        user.async(at, 64);
    user.poll(true);
}

// Steps by the server CPU: a list that is answered is durable; lists without an answer may be lost.
static void write_steps(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 2048));

    user.write(0, 2048);
    run.begin();
    user.steps({ { 0, 64, false }, { 1024, 100, false } }, false);
    user.steps({ { 3, 10, false }, { 8, 300, false }, { 2000, 48, false } }, false);
    user.async(64, 64);
    user.steps({ { 0, 1500, false }, { 64, 8, false } }, true); // in several packets
    user.steps({ { 512, 8, false } }, true);
    user.poll(true);
}

// A flag commits data: it is written behind the data with RPM_PATCH_AFTER, several times over the
// same bytes.
static void write_flag(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 1024));

    user.write(0, 1024);
    run.begin();
    for (int i = 0; i < 2; i++) {
        user.writev({ { 0, 256, false }, { 512, 8, true } });
        user.writev({ { 256, 100, false }, { 64, 64, false }, { 520, 8, true }, { 528, 8, true } });
        user.writev({ { 8, 8, false }, { 600, 64, true }, { 16, 300, false }, { 704, 8, true } });
    }
}

static void write_vector(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 1024));

    run.begin();
    user.writev({ { 0, 64, false }, { 100, 30, false }, { 400, 300, false }, { 60, 8, false } });
    user.writev({ { 1000, 24, false } });
}

// Writes to slots that belong to the writer as a whole, beside other slots.
static void slots(Run &run)
{
    RegionUser user(run, FIRST, region_of(run, "r", 1024, 128));

    user.write(0, 128);
    user.write(128, 128);
    user.write(256, 128);
    run.begin();
    user.write(0, 40);
    user.write(128, 100);
    user.write(256, 61);
    user.write(130, 20); // not from the start of a slot
    user.write(1024 - 128, 3);
    user.async(128, 120);
    user.async(0, 65);
    user.poll(true);
}

// Two clients write next to each other in the same cache lines.
static void neighbours(Run &run)
{
    RegionOracle &oracle = region_of(run, "r", 256);
    RegionUser one(run, FIRST, oracle);
    RegionUser two(run, SECOND, oracle);

    one.write(0, 256);
    run.begin();
    for (uint64_t line : { 0, 64, 128, 64 }) {
        one.async(line, 32);
        two.async(line + 32, 32);
        one.async(line + 8, 8);
    }
    two.poll(true);
    one.poll(true);
}

// One client writes at the level visible; another one makes the bytes durable.
static void persist_others(Run &run)
{
    RegionOracle &oracle = region_of(run, "r", 512);
    RegionUser careless(run, FIRST, oracle, RPM_VISIBLE);
    RegionUser careful(run, SECOND, oracle);

    run.begin();
    careless.write(0, 200);
    careless.write(64, 64);
    careful.persist();
    careless.write(100, 100);
    careful.persist();
}

static void create_region(Run &run)
{
    RegionOracle &oracle = region_of(run, "r", 700);

    run.client(FIRST);
    run.begin();
    RegionUser user(run, FIRST, oracle);
    user.write(100, 40);
}

// The connection is lost; the client reconnects and opens the region again.
static void write_again(Run &run)
{
    RegionOracle &oracle = region_of(run, "r", 300);

    run.client(FIRST);
    run.begin();
    for (int round = 0; round < 3; round++) {
        try {
            if (round > 0)
                run.reconnect(FIRST);
            RegionUser user(run, FIRST, oracle);
            user.settle();
            user.write(10, 100);
            user.async(50, 200);
            user.poll(true);
            return;
        } catch (const Lost &) {
        }
        run.restart();
    }
}

// A client's handle to a lock table with one lock.
class Lock
{
  public:
    Lock(Run &run, unsigned who) : run_(run)
    {
        run.must(rpm_locks_open(run.client(who), "l", 1, &locks_), "open the locks");
    }
    ~Lock()
    {
        rpm_locks_close(&locks_);
    }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    // Takes the lock; waits until the server frees it from a dead owner.
    void take()
    {
        for (int turn = 0; turn < TURNS_MAX; turn++) {
            int err = rpm_lock_try(locks_, 0);

            if (err == 0)
                return;
            if (err != RPM_E_OWNED)
                run_.must(err, "lock");
            for (int i = 0; i < 20; i++)
                rpm_sim_step(run_.sim());
        }
        violate("the lock of a dead client is never freed");
    }

  private:
    static const int TURNS_MAX = 10000;
    Run &run_;
    rpm_locks *locks_ = nullptr;
};

// A client dies while it writes data that its lock protects. When the next owner has the lock, no
// write of the dead client may arrive any more.
static void inherit(Run &run)
{
    RegionOracle &oracle = region_of(run, "r", 3200);
    RegionUser one(run, FIRST, oracle);
    RegionUser two(run, SECOND, oracle);
    Lock first(run, FIRST);
    Lock second(run, SECOND);

    first.take();
    run.begin();
    try {
        for (uint64_t at : { 0, 64, 32 })
            one.async(at, 3000);
        for (uint64_t i = run.chance.below(60); i > 0; i--)
            rpm_sim_step(run.sim());
        rpm_sim_kill_client(run.client(FIRST));
    } catch (const Lost &) {
    }
    second.take();
    two.settle();
    two.write(0, 3200);
    for (int i = 0; i < 100; i++)
        rpm_sim_step(run.sim());
    two.settle();
}

const std::vector<Scenario> &region_scenarios()
{
    static const std::vector<Scenario> all = {
        { "write_any", write_any },
        { "write_long", write_long },
        { "write_async", write_async },
        { "write_steps", write_steps },
        { "write_flag", write_flag },
        { "write_vector", write_vector },
        { "slots", slots },
        { "neighbours", neighbours },
        { "persist_others", persist_others },
        { "create_region", create_region },
        { "write_again", write_again },
        { "inherit", inherit },
    };

    return all;
}
