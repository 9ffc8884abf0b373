/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poll.c: reap completions, and advance the world's time.
 *
 * Invariants
 *   a wait ends: when no event is left, time jumps to the deadline
 *   polling an idle link processes one event, so that a polling loop ends
 *
 * Tests: tests/unit/transport/sim/poll_test.cpp
 */
#include "transport/sim/sim.h"

#include "base/err.h"

static int reap(struct rpmi_sim_client *client, struct rpmi_done *done, uint32_t n)
{
    uint32_t count = 0;

    while (count < n && rpmi_client_reap(client, &done[count].id, &done[count].status))
        count++;
    return (int)count;
}

int rpmi_sim_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);
    struct rpmi_sim_client *client = ours->client;
    int count = reap(client, done, n);

    if (count == 0 && !rpmi_client_ready(client)) {
        rpmi_world_step(ours->sim->world);
        count = reap(client, done, n);
    }
    link->lost = client->lost;
    if (count == 0 && client->lost != 0 && client->head == client->tail)
        return RPM_E_LOST;
    return count;
}

int rpmi_sim_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);
    struct rpmi_world *world = ours->sim->world;

    while (!rpmi_client_ready(ours->client))
        if (!rpmi_world_step_until(world, deadline_ns)) {
            rpmi_world_run_until(world, deadline_ns);
            return RPM_E_TIMEDOUT;
        }
    return 0;
}

static int no_descriptor(void)
{
    return rpmi_fail(RPM_E_NOCAP,
                     "sim: a link of the device model has no descriptor for an event loop, because "
                     "its time passes only in polls and waits; poll the link instead");
}

int rpmi_sim_watch(struct rpmi_link *link, int epoll_fd)
{
    (void)link, (void)epoll_fd;
    return no_descriptor();
}

int rpmi_sim_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    (void)link, (void)by_ns;
    return no_descriptor();
}

uint64_t rpmi_sim_now(struct rpmi_link *link)
{
    return rpmi_sim_link_of(link)->sim->world->now_ns;
}

void rpmi_sim_pause(struct rpmi_link *link, uint64_t ns)
{
    struct rpmi_world *world = rpmi_sim_link_of(link)->sim->world;

    rpmi_world_run_until(world, world->now_ns + ns);
}
