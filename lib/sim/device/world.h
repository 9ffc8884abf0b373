/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h: a world: client and server machines with one queue of events, one clock and one random
 * number generator. The same seed and the same calls give the same world, bit by bit.
 *
 * Invariants
 *   time never goes back; after open only opening and dialling clients allocate
 *   a power cut that is armed fires after the event it was armed for, and nowhere else
 *
 * Tests: tests/unit/sim/device/world_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_WORLD_H
#define RPMI_SIM_DEVICE_WORLD_H

#include "sim/device/client.h"
#include "sim/device/cpu.h"
#include "sim/device/engine.h"
#include "sim/device/history.h"
#include "sim/device/media.h"
#include "sim/device/pcie.h"
#include "sim/device/power.h"
#include "sim/preset/preset.h"
#include "sim/queue.h"

#define RPMI_SIM_SERVERS_MAX 8u
#define RPMI_SIM_EVICTIONS 32u /* pending for one machine */
#define RPMI_SIM_MACHINE_EVENTS (RPMI_SIM_EVICTIONS + 9u)

/* An access that a client requests. */
struct rpmi_sim_access {
    uint32_t key;
    uint32_t rights; /* 1 read, 2 write, 4 atomic */
    uint64_t offset; /* within the key's object */
    uint64_t len;
};

/* The server's software, functions that the owner of the world provides. The model itself has
 * no knowledge of the pool's format. */
struct rpmi_host {
    void *context;

    /* A client connects to @server; a client has disconnected or died. attach() returns 0 or a
     * negative errno. */
    int (*attach)(void *context, uint32_t server, uint32_t *id, uint32_t *epoch);
    void (*detach)(void *context, uint32_t server, uint32_t id);

    /* Check an access of client @id. 0 and the memory, or an error. */
    int (*access)(void *context, uint32_t server, uint32_t id, const struct rpmi_sim_access *wanted,
                  struct rpmi_sim_address *address);

    /* Serve a control message: RPMI_CALL_BYTES in, RPMI_REPLY_BYTES out. */
    void (*call)(void *context, uint32_t server, uint32_t id, const void *call, void *reply);

    /* Look at the records that a PROVE names; write the certificate, or the refusal, @into the
     * answer, with its bytes durable if @level asks for that. 0, or RPM_E_IO: the power was cut. */
    int (*prove)(void *context, uint32_t server, const struct rpmi_step *step, enum rpm_level level,
                 void *into);

    /* Where are the bytes of a CARRY to be stored? 0 and the place, or an error: nowhere. */
    int (*carry)(void *context, uint32_t server, uint32_t id, const struct rpmi_step *step,
                 struct rpmi_sim_address *address);
};

struct rpmi_world_opts {
    uint64_t seed;
    const char *preset; /* as rpmi_preset_read() takes it; borrowed until return */
    uint32_t servers;
    uint64_t pool_bytes;
    uint64_t dram_bytes;
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint32_t delay_ns;
    bool native_flush;
    struct rpmi_host host;
};

/* A server machine. */
struct rpmi_machine {
    struct rpmi_world *world;
    uint16_t index;
    bool powered;
    bool running;       /* a server process exists: it starts, or it serves */
    bool serving;       /* the server process serves clients */
    uint64_t boot;      /* counts starts of a server process */
    uint64_t power_ons; /* counts boots of the machine */
    uint64_t cut_at;    /* event after which the power is cut; 0: none armed */
    enum rpmi_cut cut;
    uint32_t evictions; /* pending events */
    struct rpmi_sim_media media;
    struct rpmi_pcie pcie;
    struct rpmi_sim_cpu cpu;
    uint64_t stopped_ns; /* the server CPU does nothing until then */
    struct rpmi_engine engine;
};

struct rpmi_world {
    uint64_t now_ns;
    uint64_t events;
    uint64_t next_cut; /* earliest cut_at of all machines; UINT64_MAX: none */
    struct rpmi_rng rng;
    struct rpmi_world_opts opts;
    struct rpmi_queue queue;
    struct rpmi_history history;
    uint32_t depth; /* of events processed inside events */
    /* Calls the handler of this kind of event. False: the handler had nothing to do. */
    bool (*dispatch)(struct rpmi_world *world, const struct rpmi_event *event);
    uint32_t servers;
    struct rpmi_machine *machine;
    struct rpmi_sim_client *client[RPMI_SIM_CLIENTS_MAX];
    uint32_t clients;
    struct rpmi_preset preset;
};

/* RPM_E_INVAL (preset, servers, sizes), RPM_E_NOMEM, others of rpmi_preset_read(). Machines are
 * powered, but no server process runs yet. */
int rpmi_world_open(const struct rpmi_world_opts *opts, struct rpmi_world **world);

/* Safe on NULL. Every client is closed. */
void rpmi_world_close(struct rpmi_world **world);

/* clock.c: reserve room for all events that can be pending. Setup only. RPM_E_NOMEM. */
int rpmi_world_reserve(struct rpmi_world *world);

/* Process the next event. False if none is left. */
bool rpmi_world_step(struct rpmi_world *world);

/* The same, but false if the next event is later than @at_ns. */
bool rpmi_world_step_until(struct rpmi_world *world, uint64_t at_ns);

/* Process all events up to @at_ns, and advance the time to it. */
void rpmi_world_run_until(struct rpmi_world *world, uint64_t at_ns);

/* Arm a cut after @events further events; 0: disarm. */
void rpmi_world_cut_at(struct rpmi_world *world, uint32_t server, uint64_t events,
                       enum rpmi_cut cut);

/* Arm the death of a client machine after @events further events; 0: disarm. */
void rpmi_world_kill_at(struct rpmi_sim_client *client, uint64_t events);

/* Count an event that was not in the queue, and carry out a cut armed for it. */
void rpmi_world_tick(struct rpmi_world *world, enum rpmi_event_kind kind, uint32_t who,
                     uint64_t arg);

/* Push an event @in_ns from now. */
void rpmi_world_push(struct rpmi_world *world, enum rpmi_event_kind kind, uint32_t who,
                     uint32_t gen, uint64_t in_ns, uint64_t arg);

/* machine.c: a write arrives in a machine's memory; some of these lines are evicted later. */
void rpmi_machine_land(struct rpmi_machine *machine, enum rpmi_sim_place place,
                       const struct rpmi_piece *piece, enum rpmi_writer writer);

/* Event: the cache writes some dirty line back. */
bool rpmi_machine_evict(struct rpmi_machine *machine);

/* Check an access of a client's op. A client that is not attached is refused. */
int rpmi_machine_access(struct rpmi_sim_client *client, const struct rpmi_sim_access *wanted,
                        struct rpmi_sim_address *address);

/* The same for the whole op that a packet belongs to; @address is the memory for the packet's
 * payload. */
int rpmi_packet_access(const struct rpmi_packet *packet, struct rpmi_sim_address *address);

/* The rights that an op of this kind needs, as in struct rpmi_sim_access. */
uint32_t rpmi_kind_rights(uint32_t kind);

#endif
