// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cluster/view.h"

#include "support/catch.h"

using dtx::Placement;
using dtx::ServerState;
using dtx::States;
using dtx::View;

namespace
{

View view_of(uint64_t number, std::initializer_list<uint32_t> dead = {})
{
    View view;

    view.number = number;
    for (uint32_t server : dead)
        view.kill(server);
    return view;
}

ServerState state_of(const View &accepted, const View &proposed = {})
{
    return { 1, std::max(accepted.number, proposed.number), accepted, proposed };
}

} // namespace

TEST_CASE("dtx: shards and logs are placed on live servers", "[unit]")
{
    Placement all{ 4, 2, view_of(1) };
    Placement some{ 4, 2, view_of(2, { 1 }) };

    for (uint32_t shard = 0; shard < 4; shard++) {
        CHECK(all.copies(shard) == 2);
        CHECK(all.server_of(shard, 0) == shard);
        CHECK(all.server_of(shard, 1) == (shard + 1) % 4);
    }
    CHECK(some.copies(0) == 1);
    CHECK(some.server_of(0, 0) == 0);
    CHECK(some.copies(1) == 1);
    CHECK(some.server_of(1, 0) == 2);
    CHECK(some.copies(2) == 2);
    CHECK(all.log_servers(3) == std::vector<uint32_t>{ 3, 0 });
    CHECK(some.log_servers(0) == std::vector<uint32_t>{ 0, 2 });
    CHECK(some.log_servers(1) == std::vector<uint32_t>{ 2, 3 });
    CHECK(Placement{ 2, 2, view_of(2, { 1 }) }.log_servers(5) == std::vector<uint32_t>{ 0 });
}

TEST_CASE("dtx: a view is in force when all of its live servers have accepted it", "[unit]")
{
    View first = view_of(1);
    View second = view_of(2, { 1 });
    States states{ state_of(first), state_of(first), state_of(first) };

    CHECK(usable_view(states) == first);
    CHECK(is_settled(states, first));
    CHECK(dtx::next_number(states) == 2);
    states[1].reset();
    CHECK(!usable_view(states));
    CHECK(usable_view(states, view_of(0, { 1 })) == first);
    CHECK(!is_settled(states, first));
    states[0] = states[2] = state_of(second);
    CHECK(usable_view(states) == second);
    CHECK(is_settled(states, second));
    states[1] = state_of(first); // server 1 answers again, with an older view
    CHECK(usable_view(states) == second);
    states[0].reset();
    states[2].reset();
    CHECK(!usable_view(states));
}

TEST_CASE(
    "dtx: a change that one server accepted is finished, one that no server accepted is dropped",
    "[unit]")
{
    View first = view_of(1);
    View second = view_of(2, { 1 });
    States states{ state_of(first, second), state_of(first), state_of(first) };

    CHECK(usable_view(states) == first);
    CHECK(!is_settled(states, first));
    CHECK(dtx::next_number(states) == 3);
    states[2] = state_of(first, second);
    CHECK(usable_view(states) == first);
    states[0] = state_of(second);
    CHECK(usable_view(states) == second);
    CHECK(!is_settled(states, second));
    states[2] = state_of(second);
    CHECK(is_settled(states, second));
}

TEST_CASE("dtx: a returning server's view that was never in force is ignored", "[unit]")
{
    View never = view_of(2, { 1 });
    View now = view_of(3, { 0 });

    // Server 0 accepted the view in which 1 is dead, and died before 2 accepted it. Then 0 was
    // promoted away.
    States states{ state_of(never), state_of(now), state_of(now) };

    CHECK(usable_view(states) == now);
    states[2].reset();
    CHECK(!usable_view(states));
    CHECK(usable_view(states, view_of(0, { 2 })) == now);
}
