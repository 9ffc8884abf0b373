// SPDX-License-Identifier: BSD-3-Clause
// Requests that the server's CPU carries out: which ranges a batch makes durable, and when.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "serve/request.h"
#include "serve/serve.h"
}
#include <cstring>

namespace
{

const uint64_t kPages = 1024; // of the region that is written to

uint32_t persists;
const rpmi_mem_ops *real_ops;

int counted_persist(rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    persists++;
    return real_ops->persist(mem, offset, len);
}

// A server whose pool needs msync, with one client and its region, and without threads.
struct Bench {
    Bench()
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        rpmi_serve_lock(server);
        REQUIRE(rpmi_service_attach(server->service, &client) == 0);
        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = RPM_KIND_REGION;
        call.bytes = kPages * RPMI_PAGE_BYTES;
        strcpy(call.name, "region");
        rpmi_service_call(server->service, client, &call, &reply);
        rpmi_serve_unlock(server);
        REQUIRE(reply.status == 0);
        key = reply.key;
        start = reply.offset;
        real_ops = server->pool.mem.ops;
        ops = *real_ops;
        ops.persist = counted_persist;
        server->pool.mem.ops = &ops;
        persists = 0;
        rpmi_batch_begin(&batch);
    }
    Bench(const Bench &) = delete;
    ~Bench()
    {
        server->pool.mem.ops = real_ops;
    }
    static support::ServerOpts without_threads()
    {
        support::ServerOpts opts;

        opts.place = support::Dir::kDisk;
        opts.threads = support::ServerOpts::kNone;
        return opts;
    }
    bool needs_msync() const
    {
        return server->pool.facts.domain == RPM_DOMAIN_MSYNC;
    }
    void copy(uint64_t offset, const std::string &bytes)
    {
        rpmi_op op = {};
        const rpmi_part whole = { 0, bytes.size() };

        op.kind = RPMI_OP_COPY;
        op.flags = RPMI_OP_DURABLE;
        op.key = key;
        op.offset = offset;
        op.len = op.body_bytes = bytes.size();
        op.body = bytes.data();
        rpmi_serve_lock(server);
        REQUIRE(rpmi_request_do(server, client, &op, &whole, &batch) == 0);
        rpmi_serve_unlock(server);
    }
    // Will the batch make these bytes durable?
    bool covers(uint64_t offset, uint64_t len) const
    {
        for (uint32_t i = 0; i < batch.dirty_n; i++)
            if (batch.dirty[i].first <= start + offset &&
                batch.dirty[i].end >= start + offset + len)
                return true;
        return false;
    }

    support::Server fixture{ without_threads() };
    rpm_server *server = fixture.get();
    rpmi_mem_ops ops = {};
    uint32_t client = 0;
    uint32_t key = 0;
    uint64_t start = 0; // of the region in the pool
    rpmi_batch batch;
};

} // namespace

TEST_CASE("request: more ranges than a batch has room for wait for its end like the others",
          "[unit]")
{
    Bench bench;

    if (!bench.needs_msync()) {
        WARN("the disk's domain is not msync here: not tried");
        return;
    }
    // Every other page, in random order, so that ranges become adjacent.
    for (uint64_t i = 0; i < kPages / 2; i++)
        bench.copy(i * 181 % (kPages / 2) * 2 * RPMI_PAGE_BYTES + 100, "bytes");
    CHECK(persists == 0);
    CHECK(bench.batch.dirty_n <= RPMI_DIRTY_MAX);
    for (uint64_t i = 0; i < kPages / 2; i++)
        CHECK(bench.covers(i * 2 * RPMI_PAGE_BYTES + 100, 5));
    rpmi_batch_sync(bench.server, &bench.batch);
    CHECK(persists > 0);
    CHECK(persists <= RPMI_DIRTY_MAX);
    CHECK(bench.batch.msync_status == 0);
    CHECK(bench.batch.dirty_n == 0);
}

TEST_CASE("request: a range is merged into the nearest range of the batch only", "[unit]")
{
    Bench bench;

    if (!bench.needs_msync()) {
        WARN("the disk's domain is not msync here: not tried");
        return;
    }
    // All but two of the ranges lie at the front, two far behind.
    for (uint64_t i = 0; i < RPMI_DIRTY_MAX - 2; i++)
        bench.copy(i * 2 * RPMI_PAGE_BYTES, "front");
    bench.copy((kPages - 100) * RPMI_PAGE_BYTES, "back");
    bench.copy((kPages - 1) * RPMI_PAGE_BYTES, "end");
    REQUIRE(bench.batch.dirty_n == RPMI_DIRTY_MAX);
    bench.copy((kPages - 97) * RPMI_PAGE_BYTES, "back");
    uint64_t pages = 0;
    for (uint32_t i = 0; i < bench.batch.dirty_n; i++)
        pages += (bench.batch.dirty[i].end - bench.batch.dirty[i].first) / RPMI_PAGE_BYTES;
    CHECK(pages <= RPMI_DIRTY_MAX + 6); // where a region begins, a page may be shared
    CHECK(bench.covers((kPages - 97) * RPMI_PAGE_BYTES, 4));
}
