// SPDX-License-Identifier: BSD-3-Clause
// bench.h: a world of the device model with a minimal server: key 1 is the pool, key 2 the pool
// until it is revoked, key 0 is DRAM. It has no pool format and no pool service.
#ifndef TESTS_UNIT_SIM_DEVICE_BENCH_H
#define TESTS_UNIT_SIM_DEVICE_BENCH_H

extern "C" {
#include "sim/device/world.h"
}
#include "support/catch.h"
#include "unit/sim/preset_of.h"

#include <cstring>
#include <functional>
#include <vector>

const uint32_t KEY_DRAM = 0;
const uint32_t KEY_POOL = 1;
const uint32_t KEY_LEASE = 2;
const uint64_t POOL_BYTES = 64 * 1024;
const uint64_t DRAM_BYTES = 4 * 1024;

struct Done {
    uint64_t id;
    int status;
};

class Bench
{
  public:
    explicit Bench(const char *preset, uint64_t seed = 1,
                   std::function<void(rpmi_world_opts &)> tune = nullptr)
    {
        rpmi_world_opts opts = {};

        opts.seed = seed;
        opts.preset = preset;
        opts.servers = 1;
        opts.pool_bytes = POOL_BYTES;
        opts.dram_bytes = DRAM_BYTES;
        opts.native_flush = true;
        opts.host = rpmi_host{ this, attach, detach, access, call, prove, carry };
        if (tune)
            tune(opts);
        if (rpmi_world_open(&opts, &world) != 0)
            throw std::runtime_error("no world");
        for (uint32_t i = 0; i < opts.servers; i++)
            start(i);
    }

    ~Bench()
    {
        for (rpmi_sim_client *client : clients)
            if (client->state == RPMI_CLIENT_OPEN)
                rpmi_client_close(client);
        rpmi_world_close(&world);
    }

    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    void start(uint32_t server = 0)
    {
        rpmi_power_on(&world->machine[server]);
        rpmi_power_serve(&world->machine[server]);
    }

    rpmi_machine *machine(uint32_t server = 0)
    {
        return &world->machine[server];
    }

    rpmi_sim_client *dial(uint32_t server = 0, uint32_t depth = 64)
    {
        rpmi_sim_client *client = nullptr;

        if (rpmi_client_open(world, server, depth, &client) != 0)
            throw std::runtime_error("no client");
        clients.push_back(client);
        if (rpmi_client_dial(client) != 0)
            throw std::runtime_error("no memory");
        while (client->dialling && rpmi_world_step(world))
            ;
        return client;
    }

    // An op with the defaults of most tests; its id is its number at the client.
    static rpmi_sim_request request(rpmi_sim_client *client, uint32_t kind, uint64_t offset,
                                    uint64_t len, uint32_t flags = RPMI_SIM_SIGNALED)
    {
        rpmi_sim_request it = {};

        it.kind = static_cast<uint8_t>(kind);
        it.flags = static_cast<uint8_t>(flags);
        it.key = KEY_POOL;
        it.offset = offset;
        it.len = len;
        it.id = client->tail;
        return it;
    }

    uint64_t post(rpmi_sim_client *client, const rpmi_sim_request &it)
    {
        uint64_t number = client->tail;

        rpmi_client_post(client, &it);
        return number;
    }

    uint64_t write(rpmi_sim_client *client, uint64_t offset,
                   const std::vector<unsigned char> &bytes, uint32_t flags = RPMI_SIM_SIGNALED,
                   uint32_t kind = RPMI_SIM_WRITE)
    {
        rpmi_sim_request it = request(client, kind, offset, bytes.size(), flags);

        it.body = bytes.data();
        it.body_bytes = bytes.size();
        return post(client, it);
    }

    uint64_t read(rpmi_sim_client *client, uint64_t offset, std::vector<unsigned char> &into,
                  uint32_t flags = RPMI_SIM_SIGNALED)
    {
        rpmi_sim_request it = request(client, RPMI_SIM_READ, offset, into.size(), flags);

        it.into = into.data();
        return post(client, it);
    }

    // All completions that are available now.
    static std::vector<Done> reap(rpmi_sim_client *client)
    {
        std::vector<Done> all;
        Done one = {};

        while (rpmi_client_reap(client, &one.id, &one.status))
            all.push_back(one);
        return all;
    }

    // Runs events until this op is done; false if it never is.
    bool run_to(rpmi_sim_client *client, uint64_t number)
    {
        while (number >= client->head && !client->slot[number % client->room].done)
            if (!rpmi_world_step(world))
                return false;
        return true;
    }

    int status_of(rpmi_sim_client *client, uint64_t number)
    {
        return run_to(client, number) ? client->slot[number % client->room].status : 1;
    }

    void run_dry(uint64_t steps_max = 1000000)
    {
        while (steps_max-- > 0 && rpmi_world_step(world))
            ;
        REQUIRE(world->queue.count == 0);
    }

    // The visible bytes; after a power cut, the bytes that survived.
    std::vector<unsigned char> pool(uint64_t offset, uint64_t len, uint32_t server = 0)
    {
        const unsigned char *at =
            rpmi_sim_media_at(&machine(server)->media, RPMI_PLACE_POOL, offset, len);

        return std::vector<unsigned char>(at, at + len);
    }

    rpmi_world *world = nullptr;
    std::vector<rpmi_sim_client *> clients;
    bool revoked = false;
    uint32_t attached = 0;
    uint32_t detached = 0;
    int refuse_attach = 0;
    std::function<void(uint32_t id, const unsigned char *call, unsigned char *reply)> on_call;
    std::function<int(const rpmi_step &step, rpm_level level, void *into)> on_prove;
    std::function<int(uint32_t id, const rpmi_step &step)> on_carry; // to its lsn in the pool

  private:
    static int attach(void *context, uint32_t, uint32_t *id, uint32_t *epoch)
    {
        Bench *bench = static_cast<Bench *>(context);

        if (bench->refuse_attach != 0)
            return bench->refuse_attach;
        *id = ++bench->attached;
        *epoch = 7;
        return 0;
    }

    static void detach(void *context, uint32_t, uint32_t)
    {
        static_cast<Bench *>(context)->detached++;
    }

    static int access(void *context, uint32_t, uint32_t, const rpmi_sim_access *wanted,
                      rpmi_sim_address *address)
    {
        const Bench *bench = static_cast<Bench *>(context);
        uint64_t bytes = wanted->key == KEY_DRAM ? DRAM_BYTES : POOL_BYTES;

        if (wanted->key > KEY_LEASE)
            return RPM_E_DENIED;
        if (wanted->key == KEY_LEASE && bench->revoked)
            return RPM_E_FENCED;
        if (wanted->offset > bytes || wanted->len > bytes - wanted->offset)
            return RPM_E_RANGE;
        address->place = wanted->key == KEY_DRAM ? RPMI_PLACE_DRAM : RPMI_PLACE_POOL;
        address->offset = wanted->offset;
        return 0;
    }

    static void call(void *context, uint32_t, uint32_t id, const void *call, void *reply)
    {
        Bench *bench = static_cast<Bench *>(context);

        memset(reply, 0, RPMI_REPLY_BYTES);
        if (bench->on_call)
            bench->on_call(id, static_cast<const unsigned char *>(call),
                           static_cast<unsigned char *>(reply));
    }
    static int prove(void *context, uint32_t, const rpmi_step *step, rpm_level level, void *into)
    {
        Bench *bench = static_cast<Bench *>(context);

        return bench->on_prove ? bench->on_prove(*step, level, into) : RPM_E_IO;
    }
    static int carry(void *context, uint32_t, uint32_t id, const rpmi_step *step,
                     rpmi_sim_address *address)
    {
        Bench *bench = static_cast<Bench *>(context);

        *address = { RPMI_PLACE_POOL, step->offset };
        return bench->on_carry ? bench->on_carry(id, *step) : RPM_E_DENIED;
    }
};

// Bytes that depend on their offset and generation.
inline std::vector<unsigned char> pattern(size_t bytes, unsigned generation)
{
    std::vector<unsigned char> out(bytes);

    for (size_t i = 0; i < bytes; i++)
        out[i] = static_cast<unsigned char>(1 + (i / 8 * 31 + generation * 97) % 255);
    return out;
}

const rpmi_cut CUTS[] = { RPMI_CUT_NONE, RPMI_CUT_DROP, RPMI_CUT_TEAR, RPMI_CUT_REORDER };

#endif
