/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server.c: the server process of a modelled machine: the real pool service, with memory that goes
 * through the machine's CPU, cache and persistence domain. A power cut can hit it between any two
 * stores; what it does afterwards has no effect, and its answers are not sent.
 *
 * Invariant: the service runs only between rpmi_sim_cpu_enter() and rpmi_sim_cpu_leave().
 *
 * Tests: tests/unit/transport/sim/server_test.cpp
 */
#include "transport/sim/sim.h"

#include "base/canary.h"
#include "base/err.h"

#include <string.h>

static struct rpmi_sim_mem *server_mem(struct rpmi_mem *mem)
{
    return (struct rpmi_sim_mem *)(void *)((unsigned char *)mem -
                                           offsetof(struct rpmi_sim_mem, mem));
}

static void server_load(struct rpmi_mem *mem, uint64_t offset, void *to, uint64_t len)
{
    rpmi_sim_cpu_load(server_mem(mem)->machine, server_mem(mem)->place, offset, to, len);
}

static void server_store(struct rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len)
{
    rpmi_sim_cpu_store(server_mem(mem)->machine, server_mem(mem)->place, offset, from, len);
}

static int server_persist(struct rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    return rpmi_sim_cpu_persist(server_mem(mem)->machine, server_mem(mem)->place, offset, len);
}

static uint64_t server_cas(struct rpmi_mem *mem, uint64_t offset, uint64_t expect, uint64_t desired)
{
    return rpmi_sim_cpu_cas(server_mem(mem)->machine, server_mem(mem)->place, offset, expect,
                            desired);
}

static const struct rpmi_mem_ops SERVER_OPS = { server_load, server_store, server_persist,
                                                server_cas };

/* Formatting happens before the world begins: its stores are durable at once, without events. */
static void blank_store(struct rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len)
{
    memcpy(server_mem(mem)->machine->media.pool + offset, from, len);
}

static int blank_persist(struct rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    (void)mem;
    (void)offset;
    (void)len;
    return 0;
}

static const struct rpmi_mem_ops BLANK_OPS = { server_load, blank_store, blank_persist,
                                               server_cas };

static uint64_t server_entropy(void *context)
{
    struct rpmi_sim_server *server = context;

    return rpmi_rng_next(&server->entropy);
}

static int server_attach(void *context, uint32_t server, uint32_t *id, uint32_t *epoch)
{
    struct rpm_sim *sim = context;

    *epoch = sim->server[server].epoch;
    return rpmi_service_attach(sim->server[server].service, id);
}

static void server_detach(void *context, uint32_t server, uint32_t id)
{
    struct rpm_sim *sim = context;

    rpmi_service_detach(sim->server[server].service, id);
}

static int server_access(void *context, uint32_t server, uint32_t id,
                         const struct rpmi_sim_access *wanted, struct rpmi_sim_address *address)
{
    const struct rpm_sim *sim = context;
    struct rpmi_span span;
    int err;

    RPM_ASSERT(server < sim->servers && sim->server[server].service != NULL);
    err = rpmi_service_access(sim->server[server].service, id, wanted->key, wanted->offset,
                              wanted->len, wanted->rights, &span);

    if (err != 0)
        return err;
    address->place = span.area == RPMI_AREA_DRAM ? RPMI_PLACE_DRAM : RPMI_PLACE_POOL;
    address->offset = span.offset;
    return 0;
}

static void server_call(void *context, uint32_t server, uint32_t id, const void *bytes,
                        void *answer)
{
    struct rpm_sim *sim = context;
    struct rpmi_call call;
    struct rpmi_reply reply;
    int err = rpmi_call_get(bytes, &call);

    RPM_ASSERT(server < sim->servers && sim->server[server].service != NULL);
    memset(&reply, 0, sizeof(reply));
    if (err == 0)
        rpmi_service_call(sim->server[server].service, id, &call, &reply);
    else
        reply.status = err;
    rpmi_reply_put(answer, &reply);
}

static int server_prove(void *context, uint32_t server, const struct rpmi_step *step,
                        enum rpm_level level, void *into)
{
    struct rpm_sim *sim = context;
    struct rpmi_mem *pool = &sim->server[server].pool.mem;
    struct rpmi_proof proof;
    int err = 0;

    RPM_ASSERT(server < sim->servers && sim->server[server].service != NULL);
    rpmi_service_prove(sim->server[server].service, step, level, &proof);
    for (uint32_t i = 0; level == RPM_DURABLE && err == 0 && i < proof.ranges; i++)
        if (!RPMI_CANARY(CERTIFICATE_EARLY))
            err = rpmi_mem_persist(pool, proof.range[i].offset, proof.range[i].len);
    if (err == 0)
        rpmi_proof_write(&proof, into);
    return err;
}

static int server_carry(void *context, uint32_t server, uint32_t id, const struct rpmi_step *step,
                        struct rpmi_sim_address *address)
{
    const struct rpm_sim *sim = context;
    struct rpmi_span span;
    int err;

    RPM_ASSERT(server < sim->servers && sim->server[server].service != NULL);
    err = rpmi_service_carry(sim->server[server].service, id, step, &span);
    if (err != 0)
        return err;
    RPM_ASSERT(span.area == RPMI_AREA_POOL);
    *address = (struct rpmi_sim_address){ .place = RPMI_PLACE_POOL, .offset = span.offset };
    return 0;
}

struct rpmi_host rpmi_sim_server_host(struct rpm_sim *sim)
{
    struct rpmi_host host = { sim,         server_attach, server_detach, server_access,
                              server_call, server_prove,  server_carry };

    return host;
}

int rpmi_sim_server_start(struct rpmi_sim_server *server)
{
    struct rpmi_machine *machine = server->pool.machine;
    struct rpmi_service_opts opts = {
        .pool = &server->pool.mem,
        .dram = &server->dram.mem,
        .clients_max = RPMI_SIM_CLIENTS_MAX,
        .agents = RPMI_SIM_AGENT,
        .entropy = server_entropy,
        .context = server,
    };
    int err;

    RPM_ASSERT(!machine->serving);
    rpmi_service_close(&server->service);
    rpmi_power_on(machine);
    opts.server_epoch = ++server->epoch;
    opts.boot = machine->power_ons + 1; /* never 0, which means unknown */
    rpmi_sim_cpu_enter(machine);
    err = rpmi_service_open(&opts, &server->service);
    rpmi_sim_cpu_leave(machine);
    if (!machine->running)
        return rpmi_fail(RPM_E_LOST, "sim: the server died again while it started");
    if (err == 0)
        rpmi_power_serve(machine);
    else
        machine->running = false;
    return err;
}

void rpmi_sim_server_close(struct rpmi_sim_server *server)
{
    rpmi_service_close(&server->service);
}

static void mem_bind(struct rpmi_sim_mem *mem, struct rpmi_machine *machine,
                     enum rpmi_sim_place place, uint64_t bytes)
{
    mem->mem.ops = &SERVER_OPS;
    mem->mem.bytes = bytes;
    mem->machine = machine;
    mem->place = place;
}

int rpmi_sim_server_open(struct rpm_sim *sim, uint64_t seed)
{
    int err = 0;

    for (uint32_t i = 0; err == 0 && i < sim->servers; i++) {
        struct rpmi_sim_server *server = &sim->server[i];
        struct rpmi_machine *machine = &sim->world->machine[i];

        RPM_ASSERT(server->service == NULL); /* formatting would erase its objects */
        rpmi_rng_seed(&server->entropy, seed ^ ((uint64_t)i + 1) << 32);
        mem_bind(&server->pool, machine, RPMI_PLACE_POOL, machine->media.pool_bytes);
        mem_bind(&server->dram, machine, RPMI_PLACE_DRAM, machine->media.dram_bytes);
        server->pool.mem.ops = &BLANK_OPS;
        err = rpmi_pool_format(&server->pool.mem, rpmi_rng_next(&server->entropy));
        server->pool.mem.ops = &SERVER_OPS;
        if (err == 0)
            err = rpmi_sim_server_start(server);
    }
    return err;
}
