/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.h: the core of a server machine that serves messages, and memory as it sees it. Each store,
 * write-back and fence is its own event: between two, the power may be cut and the NIC may write.
 *
 * The core runs real code, the service. While that code accesses memory, the world processes other
 * events; this nests once for each machine and no deeper. After a power cut the stores of that code
 * have no effect.
 *
 * Tests: tests/unit/sim/device/cpu_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_CPU_H
#define RPMI_SIM_DEVICE_CPU_H

#include "sim/device/media.h"
#include "sim/device/packet.h"
#include "wire/steps.h"

#define RPMI_SIM_STREAM_LINES 12u /* write-combining buffers of a core */

struct rpmi_sim_stream {
    uint64_t offset; /* in the pool */
    uint32_t bytes;
    unsigned char data[RPMI_LINE_BYTES];
};

struct rpmi_sim_cpu {
    struct rpmi_packets inbox;
    bool busy;
    bool armed; /* an event is pending */
    uint32_t streams;
    struct rpmi_sim_stream stream[RPMI_SIM_STREAM_LINES]; /* stored, not yet out of the buffers */
    unsigned char answer[RPMI_STEPS_BYTES]; /* to the list that is being carried out */
    struct rpmi_step steps[RPMI_STEPS_MAX];

    /* For tests, NULL otherwise: called between two accesses of this core, to run users' code on
     * other machines. It must not wait for an answer of this core, which continues after it
     * returns. */
    void (*meanwhile)(void *context);
    void *context;
};

struct rpmi_machine;

/* Code that runs on this core is between these two calls: messages wait, and its accesses take
 * time. */
void rpmi_sim_cpu_enter(struct rpmi_machine *machine);
void rpmi_sim_cpu_leave(struct rpmi_machine *machine);

void rpmi_sim_cpu_load(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                       void *to, uint64_t len);
/* The same bytes where they are, until the next event. */
const void *rpmi_sim_cpu_view(struct rpmi_machine *machine, enum rpmi_sim_place place,
                              uint64_t offset, uint64_t len);
void rpmi_sim_cpu_store(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                        const void *from, uint64_t len);

/* Write back what was visible of the range, and fence. 0, or RPM_E_IO: the power was cut. */
int rpmi_sim_cpu_persist(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                         uint64_t len);
uint64_t rpmi_sim_cpu_cas(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                          uint64_t expect, uint64_t desired);

/* Non-temporal stores into the pool; visible and durable once they leave the core's buffers. */
void rpmi_sim_cpu_stream(struct rpmi_machine *machine, uint64_t offset, const void *from,
                         uint64_t len);

/* Empty all buffers. False if the power was cut. */
bool rpmi_sim_cpu_fence(struct rpmi_machine *machine);

/* steps.c: carry out the list of steps whose last packet this is. 0 and the answer in the core's
 * own memory, or an error; RPM_E_IO: the power was cut. */
int rpmi_sim_cpu_steps(struct rpmi_machine *machine, const struct rpmi_packet *packet);

/* A message for this core. Takes over the packet's reference. */
void rpmi_sim_cpu_notice(struct rpmi_machine *machine, struct rpmi_packet *packet);

/* Event: a connection request or a disconnect (@kind) reaches the server. False: the event found
 * nothing to do. */
bool rpmi_sim_cpu_dial(struct rpmi_sim_client *client, uint32_t gen, uint64_t kind);

/* Event: serve the next message. */
bool rpmi_sim_cpu_serve(struct rpmi_machine *machine);

/* The process dies, but not the core: its buffers drain, its messages are dropped. */
void rpmi_sim_cpu_drop(struct rpmi_machine *machine, bool drain);

#endif
