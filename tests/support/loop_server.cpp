// SPDX-License-Identifier: BSD-3-Clause
// loop_server.cpp: see loop.h. The server: its memory, which part of it would survive, and the
// server process.
#include "support/loop.h"

extern "C" {
#include "base/err.h"
}

#include <algorithm>
#include <cstring>

namespace loop
{

static Mem *mem_of(rpmi_mem *mem)
{
    return reinterpret_cast<Mem *>(mem);
}

static const rpmi_mem_ops MEM_OPS = {
    [](rpmi_mem *mem, uint64_t offset, void *to, uint64_t len) {
        memcpy(to, &mem_of(mem)->bytes[offset], len);
    },
    [](rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len) {
        memcpy(&mem_of(mem)->bytes[offset], from, len);
    },
    [](rpmi_mem *mem, uint64_t offset, uint64_t len) {
        Mem *ours = mem_of(mem);

        ours->persists++;
        if (ours->fail_persist_at > 0 && --ours->fail_persist_at == 0)
            return rpmi_fail(RPM_E_IO, "persist made to fail");
        ours->keep(offset, len);
        return 0;
    },
    [](rpmi_mem *mem, uint64_t offset, uint64_t expect, uint64_t desired) {
        unsigned char *at = &mem_of(mem)->bytes[offset];
        uint64_t found;

        memcpy(&found, at, sizeof(found));
        if (found == expect)
            memcpy(at, &desired, sizeof(desired));
        return found;
    },
};

Mem::Mem(uint64_t size) : mem{ &MEM_OPS, size }, bytes(size), kept(size) {}

void Mem::keep(uint64_t offset, uint64_t len)
{
    memcpy(&kept[offset], &bytes[offset], len);
}

Server::Server(uint64_t pool_bytes, uint64_t dram_bytes) : pool(pool_bytes), dram(dram_bytes)
{
    REQUIRE(rpmi_pool_format(&pool.mem, 0x1234) == 0);
    REQUIRE(start() == 0);
}

Server::~Server()
{
    rpmi_service_close(&service);
}

int Server::start()
{
    rpmi_service_opts opts = {};

    opts.pool = &pool.mem;
    opts.dram = &dram.mem;
    opts.clients_max = clients_max;
    opts.server_epoch = ++epoch;
    opts.boot = boot;
    opts.agents = "agent  another";
    opts.entropy = [](void *context) { return ++static_cast<Server *>(context)->entropy; };
    opts.context = this;
    std::fill(dram.bytes.begin(), dram.bytes.end(), 0);
    up = true;
    return rpmi_service_open(&opts, &service);
}

void Server::stop()
{
    for (Link *link : links)
        link->drop();
    orphans.clear();
    rpmi_service_close(&service);
    up = false;
}

void Server::power_cut()
{
    stop();
    pool.bytes = pool.kept;
    boot++;
}

void Server::leave(uint32_t client)
{
    if (service == nullptr || client == 0)
        return;
    if (defers_cleanup)
        orphans.push_back(client);
    else
        rpmi_service_detach(service, client);
}

void Server::reap()
{
    for (uint32_t client : orphans)
        rpmi_service_detach(service, client);
    orphans.clear();
}

uint32_t Server::deliver_late()
{
    uint32_t in = 0;

    for (const LateWrite &write : late) {
        rpmi_span span = {};

        if (service == nullptr ||
            rpmi_service_access(service, write.client, write.key, write.offset, write.bytes.size(),
                                RPMI_RIGHT_WRITE, &span) != 0)
            continue;
        memcpy(&pool.bytes[span.offset], write.bytes.data(), write.bytes.size());
        in++;
    }
    late.clear();
    return in;
}

} // namespace loop
