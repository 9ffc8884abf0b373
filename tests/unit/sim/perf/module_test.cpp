// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

std::string plain(const char *media_read = "40 ns", const char *media_fill = "10 ns",
                  const char *directory = "1 writes")
{
    return std::string("hints,buffer_lines=4 lines,wpq_lines=2 lines,channel_line=1 ns,"
                       "media_write=100 ns,media_latency=300 ns,buffer_latency=120 ns") +
           ",media_read=" + media_read + ",media_fill=" + media_fill + ",directory=" + directory;
}

// A read that an operation waits for; the answer is in bench.data.
void read(Bench &bench, uint64_t line)
{
    bench.server->slot[0].lines = 1;
    bench.server->slot[0].line = 0;
    bench.server->slot[0].end = 0;
    rpmi_module_read(bench.server, bench.module(), line, RPMI_OWNER(RPMI_OWNER_FETCH, 0));
}

void settle_memory(Bench &bench)
{
    while (bench.server->queue.count > 0 &&
           bench.server->queue.heap[0].kind != RPMI_PERF_EV_NIC_FETCHED)
        bench.step();
    bench.server->queue.count = 0;
}

rpm_load reads()
{
    return load_of(RPM_BY_NIC, RPM_LOAD_READ);
}

} // namespace

TEST_CASE("module: four lines of one media line cost one write of the media", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line = 0; line < 4; line++)
        bench.write(line);
    bench.settle();
    CHECK(bench.module()->count.writes == 4);
    CHECK(bench.module()->count.media_writes == 1);
    CHECK(bench.module()->count.media_reads == 0);
    CHECK(bench.server->now_ps == 4 * 1000 + 100000);
}

TEST_CASE("module: parts of media lines cost a write each, and a read", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line = 0; line < 100; line++)
        bench.write(line * 4 + line % 4);
    bench.settle();
    // As many stay in the buffer as are kept free of eviction.
    CHECK(bench.module()->count.media_writes == 100 - bench.params.buffer_lines);
    CHECK(bench.module()->count.media_reads == bench.module()->count.media_writes);
    CHECK(bench.module()->dirty.useds == bench.params.buffer_lines);
}

TEST_CASE("module: the order of lines of one media line does not matter", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line : { 3, 9, 0, 2, 8, 10, 1, 11 })
        bench.write(line);
    bench.settle();
    CHECK(bench.module()->count.media_writes == 2);
    CHECK(bench.module()->count.media_reads == 0);
}

TEST_CASE("module: a line that the media has taken already is written again", "[unit]")
{
    Bench bench(reads(), plain());
    rpmi_event what;

    // Five media lines fill the buffer: one is evicted. Send each of them another line then.
    for (uint64_t line = 0; line < 5; line++)
        bench.write(line * 4);
    for (int drains = 0; drains < 5;) {
        REQUIRE(bench.step(&what));
        drains += what.kind == RPMI_PERF_EV_LINE_DRAINED;
    }
    REQUIRE(bench.module()->busy);
    uint32_t line = bench.module()->dirty.entry[bench.module()->current_entry].line;

    // It was on the bus before the media began.
    bench.write(line * 4 + 1);
    bench.module()->draining = true;
    rpmi_module_drained(bench.server, bench.module());
    CHECK(bench.module()->queued == 1);
    bench.settle();
    CHECK(bench.module()->queued == 0);
    // To make room for it another line, or this one again, was written.
    const rpmi_buffer_entry *entry = rpmi_buffer_find(&bench.module()->dirty, line);
    CHECK((entry == nullptr || entry->held == 2));
    CHECK(bench.module()->count.media_writes == 2);
}

TEST_CASE("module: a full media line is written and stays, until another one takes its place",
          "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line = 0; line < 8; line++)
        bench.write(line);
    bench.settle();
    CHECK(bench.module()->count.media_writes == 2);
    CHECK(bench.module()->dirty.useds == 2);
    rpmi_module_read(bench.server, bench.module(), 5, RPMI_OWNER_NONE);
    CHECK(bench.module()->works == 0);

    // Its first new line makes it a part again, which needs no read to be written.
    bench.write(4);
    bench.settle();
    CHECK(bench.module()->count.media_writes == 2);
    for (uint64_t line = 8; line < 8 + 4 * 40; line++) {
        bench.write(line);
        bench.settle(); // each is full and written before the next one comes
    }
    CHECK(bench.module()->dirty.useds == bench.params.buffer_lines);
    CHECK(bench.module()->count.media_writes >= 2 + 40);
    CHECK(bench.module()->count.media_writes <= 2 + 40 + 40 * 3 / 2);
}

TEST_CASE("module: room is made by a part that is written, or by a media line that is written",
          "[unit]")
{
    int evictions = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        rpm_load load = reads();
        load.seed = seed;
        Bench bench(load, plain());
        rpmi_module *module = bench.module();
        rpmi_event what;

        for (uint64_t line = 0; line < 16; line++)
            bench.write(line);
        bench.settle();
        REQUIRE(module->dirty.useds == 4);        // all are written
        for (uint32_t line = 0; line < 3; line++) // but three have changed since
            rpmi_buffer_find(&module->dirty, line)->held = 15;
        bench.write(100);
        do
            REQUIRE(bench.step(&what));
        while (what.kind != RPMI_PERF_EV_LINE_DRAINED);
        if (module->evicting) { // only the new line is a part
            CHECK(module->dirty.entry[module->victim].line == 25);
            evictions++;
        } else {
            CHECK(rpmi_buffer_find(&module->dirty, 3) == nullptr);
        }
    }
    CHECK(evictions > 0);
    CHECK(evictions < 30);
}

TEST_CASE("module: waiting lines are accepted from the cache's slices in turn, in order from each",
          "[unit]")
{
    for (uint64_t slices : { 1u, 4u, 24u }) {
        Bench bench(reads(), plain() + ",llc_slices=" + std::to_string(slices) + " slices");
        rpmi_module *module = bench.module();
        std::vector<std::vector<uint64_t>> waiting(slices);
        std::vector<uint64_t> accepted;

        for (uint64_t line = 0; line < 200; line++)
            bench.write(line * 4);
        for (uint32_t i = 0; i < slices; i++)
            for (uint16_t at = module->slice[i].first; at != 0; at = module->outside[at - 1].next)
                waiting[i].push_back(module->outside[at - 1].line.arg);
        std::vector<size_t> next(slices);
        uint32_t turn = module->turn;
        uint32_t left = module->outsides;
        CHECK(left == 198);
        while (left > 0) {
            uint32_t from = turn++ % static_cast<uint32_t>(slices);

            if (next[from] == waiting[from].size())
                continue;
            while (module->outsides == left)
                REQUIRE(bench.step());
            left--;
            uint32_t last = (module->queue_head + module->queued - 1) % RPMI_MODULE_QUEUE;
            REQUIRE(module->outsides == left);
            REQUIRE(module->queue[last].arg == waiting[from][next[from]++]);
        }
    }
}

TEST_CASE("module: lines beyond the queue wait outside, and all are accepted", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line = 0; line < 50; line++) {
        bench.write(line * 4);
        CHECK(bench.module()->queued <= bench.params.wpq_lines);
    }
    CHECK(bench.module()->count.writes == 2);
    CHECK(bench.module()->outsides == 48);
    while (bench.step())
        REQUIRE(bench.module()->queued <= bench.params.wpq_lines);
    CHECK(bench.module()->count.writes == 50);
    CHECK(bench.module()->outsides == 0);
    CHECK(bench.module()->count.media_writes + bench.module()->dirty.useds == 50);
}

TEST_CASE("module: a read takes the media's latency, of a line at hand the buffer's", "[unit]")
{
    Bench bench(reads(), plain());

    read(bench, 5);
    settle_memory(bench);
    REQUIRE(bench.data.size() == 1);
    CHECK(bench.data[0].at == 300000);
    read(bench, 6); // the same media line
    settle_memory(bench);
    REQUIRE(bench.data.size() == 2);
    CHECK(bench.data[1].at == 300000 + 120000);
    read(bench, 9); // the next
    settle_memory(bench);
    REQUIRE(bench.data.size() == 3);
    CHECK(bench.data[2].at == 420000 + 300000);
    CHECK(bench.module()->count.media_reads == 2);
    CHECK(bench.module()->count.reads == 3);
}

TEST_CASE("module: reads of one media line join, of others follow at the media's pace", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t line : { 0, 1, 2, 4, 8 })
        rpmi_module_read(bench.server, bench.module(), line, RPMI_OWNER(RPMI_OWNER_FETCH, 0));
    bench.server->slot[0].lines = 5;
    bench.server->slot[0].end = 0;
    settle_memory(bench);
    REQUIRE(bench.data.size() == 5);
    CHECK(bench.data[2].at == 300000);
    CHECK(bench.data[3].at == 340000);
    CHECK(bench.data[4].at == 380000);
    CHECK(bench.module()->count.media_reads == 3);
    CHECK(bench.module()->joins == 0);
}

TEST_CASE("module: no latency is less than the media's own time", "[unit]")
{
    Bench bench(reads(), plain("400 ns"));

    read(bench, 5);
    settle_memory(bench);
    REQUIRE(bench.data.size() == 1);
    CHECK(bench.data[0].at == 400000);
}

TEST_CASE("module: a line just written is read from the buffer", "[unit]")
{
    Bench bench(reads(), plain());

    bench.write(5);
    bench.settle();
    uint64_t then_ps = bench.server->now_ps;
    read(bench, 5);
    settle_memory(bench);
    REQUIRE(bench.data.size() == 1);
    CHECK(bench.data[0].at == then_ps + 120000);
    CHECK(bench.module()->count.media_reads == 0);
    read(bench, 6); // its neighbour was not
    settle_memory(bench);
    CHECK(bench.module()->count.media_reads == 1);
}

TEST_CASE("module: a write to a media line that was read before is faster", "[unit]")
{
    for (uint64_t fill_ns : { 10, 25 }) {
        Bench bench(reads(), plain("40 ns", (std::to_string(fill_ns) + " ns").c_str()));
        uint64_t begun_ps = 0;
        uint64_t ended_ps = 0;
        rpmi_event what;

        for (uint64_t line = 0; line < 5; line++) {
            read(bench, line * 4);
            settle_memory(bench);
            bench.write(line * 4);
        }
        while (bench.step(&what)) {
            if (what.kind == RPMI_PERF_EV_LINE_DRAINED)
                begun_ps = what.at;
            if (what.kind == RPMI_PERF_EV_MEDIA_DONE)
                ended_ps = what.at;
        }
        CHECK(ended_ps - begun_ps == 100000 - 3 * fill_ns * 1000);
        CHECK(bench.module()->count.media_writes == 1);
        CHECK(bench.module()->count.media_reads == 5); // and none to complete the line
    }
}

TEST_CASE("module: reads that no operation waits for leave no event", "[unit]")
{
    Bench bench(reads(), plain());

    for (uint64_t i = 0; i < 100000; i++)
        rpmi_module_read(bench.server, bench.module(), i % 4, RPMI_OWNER_NONE);
    CHECK(bench.server->queue.count == 1);
    bench.settle();
    CHECK(bench.data.empty());
    CHECK(bench.module()->count.reads == 100000);
    CHECK(bench.module()->count.media_reads == 1);
}

TEST_CASE("module: a media line that another socket wrote is written with its directory", "[unit]")
{
    for (uint64_t remote_lines : { 0u, 1u, 4u }) {
        Bench bench(reads(), plain());

        for (uint64_t line = 0; line < 4; line++)
            bench.write(line, line < remote_lines ? RPMI_LINE_REMOTE : 0);
        bench.settle();
        CHECK(bench.module()->count.media_writes == (remote_lines == 0 ? 1 : 2));
        CHECK(bench.module()->count.media_reads == 0);
        CHECK(bench.server->now_ps == 4 * 1000 + (remote_lines == 0 ? 100000 : 200000));
    }

    Bench without(reads(), plain("40 ns", "10 ns", "0 writes"));
    for (uint64_t line = 0; line < 4; line++)
        without.write(line, RPMI_LINE_REMOTE);
    without.settle();
    CHECK(without.module()->count.media_writes == 1);
}

TEST_CASE("module: every accepted line is written, or still in the module", "[unit]")
{
    Bench bench(reads(), plain());
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 4);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 7; i++)
            bench.write(rpmi_rng_below(&rng, 64));
        for (int i = 0; i < 5; i++)
            bench.step();
        for (uint32_t i = 0; i < bench.module()->dirty.useds; i++)
            REQUIRE(bench.module()->dirty.entry[bench.module()->dirty.used[i]].held != 0);
        REQUIRE(bench.module()->dirty.useds + bench.module()->dirty.spares == 5);
    }
    bench.settle();
    CHECK(bench.module()->count.writes == 1400);
    CHECK(bench.module()->queued == 0);
    CHECK(bench.module()->works == 0);
    CHECK(bench.module()->dirty.useds <= 4);
}
