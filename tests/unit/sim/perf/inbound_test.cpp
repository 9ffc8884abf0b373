// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

// The root complex alone, with requests that the test pushes.
class Root : public Bench
{
  public:
    explicit Root(bool ddio, const std::string &preset = "hints", bool remote = false)
        : Bench(load(ddio, remote), preset)
    {
    }

    // @bytes 0: a read request of slot 0.
    void push(uint64_t address, uint32_t bytes)
    {
        rpmi_inbound entry = {};

        entry.address = address;
        entry.bytes = bytes;
        server->inbound_bytes += bytes == 0 ? 0 : bytes < 64 ? 64 : bytes;
        server->slot[0].write = true;
        rpmi_server_inbound_push(server, &entry);
    }

    // When an event of a kind first happens from now on; UINT64_MAX: never. Stops before it.
    uint64_t until(rpmi_perf_event kind, rpmi_perf_owner owner)
    {
        while (server->queue.count > 0 && server->queue.heap[0].kind != RPMI_PERF_EV_NIC_FETCHED) {
            const rpmi_event *next = &server->queue.heap[0];

            if (next->kind == kind && RPMI_OWNER_KIND(next->gen) == owner)
                return next->at;
            step();
        }
        return UINT64_MAX;
    }

    uint32_t pending(rpmi_perf_event kind) const
    {
        uint32_t count = 0;

        for (uint32_t i = 0; i < server->queue.count; i++)
            count += server->queue.heap[i].kind == kind;
        return count;
    }

  private:
    static rpm_load load(bool ddio, bool remote)
    {
        rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

        load.ddio = ddio ? RPM_YES : RPM_NO;
        load.flush_memory = RPM_LOAD_DRAM;
        load.remote_socket = remote;
        return load;
    }
};

const char *SLOW = "hints,wpq_lines=1 lines,buffer_lines=1 lines,media_write=10 us";

// Module 0 takes nothing more for a while.
void clog(Root &root)
{
    for (uint64_t line = 400; line < 404; line++)
        rpmi_module_write(root.server, root.module(), line * 4, RPMI_OWNER_NONE);
    while (root.server->queue.heap[0].kind != RPMI_PERF_EV_MEDIA_DONE)
        root.step();
}

} // namespace

TEST_CASE("inbound: past the caches a READ waits until the WRITE before it is accepted", "[unit]")
{
    Root root(false, SLOW);

    clog(root);
    root.push(0, 64);
    root.push(0, 0);
    uint64_t at_ps = root.until(RPMI_PERF_EV_READ, RPMI_OWNER_FETCH);
    CHECK(at_ps >= 10000000);
    CHECK(at_ps != UINT64_MAX);
    CHECK(root.server->inbound_count == 0);
}

TEST_CASE("inbound: a READ of a cached line waits for no module", "[unit]")
{
    Root root(true, SLOW);

    clog(root);
    root.push(0, 64);
    root.push(0, 0);
    CHECK(root.until(RPMI_PERF_EV_READ, RPMI_OWNER_FETCH) == root.server->now_ps);
    CHECK(root.server->now_ps < 10000);
    CHECK(rpmi_llc_has(&root.server->llc, 0));
}

TEST_CASE("inbound: a module must accept an evicted line first", "[unit]")
{
    Root root(true, SLOW);
    uint64_t sets = root.server->llc.sets;

    clog(root);
    for (uint64_t way = 0; way < root.params.ddio_ways; way++)
        rpmi_llc_fill(&root.server->llc, way * sets, &root.server->rng);
    root.push(sets * root.params.ddio_ways * 64, 64);
    root.push(0, 0);
    // Lines of set 0 belong to various modules; one is given up, and written.
    CHECK(root.pending(RPMI_PERF_EV_WRITE) == 1);
    REQUIRE(root.until(RPMI_PERF_EV_READ, RPMI_OWNER_FETCH) != UINT64_MAX);
    CHECK(rpmi_llc_has(&root.server->llc, sets * root.params.ddio_ways));
    CHECK(rpmi_llc_has(&root.server->llc, 0) + rpmi_llc_has(&root.server->llc, sets) == 1);
}

TEST_CASE("inbound: part of a line is read first, unless the cache has it", "[unit]")
{
    for (bool ddio : { false, true })
        for (bool cached : { false, true }) {
            Root root(ddio);

            if (cached)
                rpmi_llc_fill(&root.server->llc, 0, &root.server->rng);
            root.push(16, 16);
            CHECK(root.server->partial_words == 1);
            CHECK(root.pending(RPMI_PERF_EV_READ) == (ddio && cached ? 0 : 1));
            root.settle();
            CHECK(root.server->inbound_count == 0);
            CHECK(root.server->inbound_bytes == 0);
        }
}

TEST_CASE("inbound: of a longer write the ends may be parts", "[unit]")
{
    Root root(false);

    root.push(0, 256);
    CHECK(root.server->partial_words == 0);
    root.settle();
    root.push(256 + 32, 192);
    CHECK(root.server->partial_words == 2);
    root.settle();
    root.push(512 + 32, 160);
    CHECK(root.server->partial_words == 3);
    root.settle();
    CHECK(root.module()->count.writes == 4 + 4 + 3);
    CHECK(root.module()->count.reads == 3);
}

TEST_CASE("inbound: a later write does not pass one that waits for a read", "[unit]")
{
    Root root(false);

    root.push(16, 16);
    root.push(1 << 20, 64);
    CHECK(root.pending(RPMI_PERF_EV_WRITE) == 0);
    CHECK(root.until(RPMI_PERF_EV_WRITE, RPMI_OWNER_INBOUND) == root.params.media_latency);
    root.settle();
    CHECK(root.server->inbound_count == 0);
}

TEST_CASE("inbound: reads are sent ahead for so many lines", "[unit]")
{
    Root root(false, "hints,inbound_lines=3 lines");

    for (uint64_t i = 0; i < 8; i++)
        root.push(i * 4096 + 16, 16);
    CHECK(root.pending(RPMI_PERF_EV_READ) == 3);
    while (root.step())
        REQUIRE(root.server->inbound_ahead <= 3);
    CHECK(root.server->inbound_count == 0);
    CHECK(root.server->inbound_ahead == 0);
    CHECK(root.server->inbound_started == 0);
    CHECK(root.server->partial_words == 8);
}

TEST_CASE("inbound: whole lines need no read, parts of them do", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.bytes = 16;
    rpm_cost part = cost_of(load);
    CHECK(part.partial_words == part.ops);
    CHECK(part.module_read_bytes == part.ops * 64);
    load.pad_bytes = 64;
    rpm_cost padded = cost_of(load);
    CHECK(padded.partial_words == 0);
    CHECK(padded.module_read_bytes == 0);
    CHECK(padded.bytes == padded.ops * 16);
}

TEST_CASE("inbound: lines of the other socket are read for its directory, ahead of their turn",
          "[unit]")
{
    for (bool ddio : { false, true })
        for (bool remote : { false, true }) {
            Root root(ddio, "hints", remote);

            root.push(1 << 20, 256); // no line of it is in the cache
            CHECK(root.pending(RPMI_PERF_EV_READ) == (remote ? 4 : 0));
            CHECK(root.server->partial_words == 0);
        }

    Root without(false, "hints,directory=0 writes", true);
    without.push(1 << 20, 256);
    CHECK(without.pending(RPMI_PERF_EV_READ) == 0);
}
