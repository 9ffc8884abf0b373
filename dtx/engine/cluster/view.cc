/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.cc: which view is in force, from the states of the servers.
 *
 * Tests: tests/unit/dtx/engine/cluster/view_test.cpp
 */
#include "engine/cluster/view.h"

#include "engine/base/assert.h"

#include <algorithm>

namespace dtx
{

static bool is_usable(const States &states, const View &view, const View &without)
{
    bool accepted = false;

    for (uint32_t server = 0; server < states.size(); server++) {
        if (!view.alive(server) || !without.alive(server))
            continue;
        if (!states[server] ||
            (states[server]->accepted != view && states[server]->proposed != view))
            return false;
        accepted |= states[server]->accepted == view;
    }
    return accepted;
}

std::optional<View> usable_view(const States &states, const View &without)
{
    std::optional<View> found;

    for (const auto &state : states)
        if (state && (!found || found->number < state->accepted.number) &&
            is_usable(states, state->accepted, without))
            found = state->accepted;
    return found;
}

bool is_settled(const States &states, const View &view)
{
    for (uint32_t server = 0; server < states.size(); server++)
        if (view.alive(server) && (!states[server] || states[server]->accepted != view ||
                                   states[server]->proposed.number != 0))
            return false;
    return true;
}

uint64_t next_number(const States &states)
{
    uint64_t highest = 0;

    for (const auto &state : states)
        if (state)
            highest = std::max(highest, state->highest);
    return highest + 1;
}

uint32_t Placement::first() const
{
    uint32_t server = 0;

    while (server < servers && !view.alive(server))
        server++;
    DTX_ASSERT(server < servers);
    return server;
}

std::vector<uint32_t> Placement::log_servers(uint32_t coordinator) const
{
    std::vector<uint32_t> found;

    DTX_ASSERT(replicas >= 1 && replicas <= servers);
    for (uint32_t i = 0; i < servers && found.size() < replicas; i++)
        if (view.alive((coordinator + i) % servers))
            found.push_back((coordinator + i) % servers);
    DTX_ASSERT(!found.empty());
    return found;
}

} // namespace dtx
