/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membership.cc: read and write the views in the first page of each server's own shard.
 *
 * Tests: tests/unit/dtx/engine/recovery/promote_test.cpp
 */
#include "engine/cluster/membership.h"

#include "engine/base/assert.h"
#include "engine/cluster/advice.h"
#include "engine/cluster/replica.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

namespace
{

/* What is read of a shard's first page: the descriptor and the state records. */
struct Head {
    Descriptor descriptor;
    StateCopies states;
};

} // namespace

/* Can a server have come to this state by proposals and acceptances? Commands and sessions rest
 * assertions on that, and a checksum does not ensure it: a server may send any bytes. */
static bool is_possible(const ServerState &state, const Cluster &cluster)
{
    auto is_complete = [&cluster](const View &view) {
        return Placement{ cluster.shards(), cluster.options().replicas, view }.is_complete();
    };

    return is_complete(state.accepted) &&
           (state.proposed.number == 0 || is_complete(state.proposed)) &&
           state.accepted.number != 0 && state.accepted.number <= state.highest &&
           state.proposed.number <= state.highest && state.highest < UINT64_MAX;
}

static ServerState state_in(const Head &head, const Cluster &cluster, uint32_t server,
                            const ReadShard &read)
{
    compare(head.descriptor, cluster, { server, server }, read);
    if (auto state = state_in(head.states); state && is_possible(*state, cluster))
        return *state;
    fail_damaged("the record of views", cluster, { server, server });
}

/* The state of a server that is connected and whose shards are not open yet. */
static ServerState read_state(const ServerConnection &connection, const Cluster &cluster)
{
    ShardHeaderRegion header;
    Head head{};
    int err = header.open(connection.conn(), cluster.schema().name(), connection.server());

    if (err != 0)
        fail_opening(cluster, connection.server(), connection.server(), err);

    auto read = [&header](uint64_t offset, void *into, uint64_t bytes) {
        header.read(offset, into, bytes);
    };

    read(0, &head.descriptor, sizeof(head.descriptor));
    read(kStateOffset, &head.states, sizeof(head.states));
    return state_in(head, cluster, connection.server(), read);
}

ServerState state_of(ServerConnection &connection, const Cluster &cluster)
{
    Head head{};

    connection.read(connection.server(), 0, &head.descriptor, sizeof(head.descriptor));
    connection.read(connection.server(), kStateOffset, &head.states, sizeof(head.states));
    return state_in(head, cluster, connection.server(),
                    [&](uint64_t offset, void *into, uint64_t bytes) {
                        connection.read(connection.server(), offset, into, bytes);
                    });
}

StateQuery::StateQuery(Servers &servers, const View &without)
    : cluster_(servers.cluster()), states_(servers.count())
{
    DTX_ASSERT(!servers.is_open()); /* close() would give up its claims */
    for (uint32_t server = 0; server < servers.count(); server++) {
        if (!without.alive(server))
            continue;
        try {
            servers.connection(server).connect(without);
            states_[server] = read_state(servers.connection(server), servers.cluster());
        } catch (const Fenced &) {
            keep(std::current_exception(), true);
        } catch (const Error &) {
            keep(std::current_exception(), false);
        }
        if (!states_[server])
            servers.connection(server).close();
    }
}

/* Keeps the first error, but a permanent error replaces a transient one: waiting cannot repair it.
 * */
void StateQuery::keep(std::exception_ptr failure, bool away)
{
    if (!failure_ || (only_away_ && !away))
        failure_ = failure;
    only_away_ &= away;
}

View StateQuery::usable(const View &without) const
{
    if (auto view = usable_view(states_, without))
        return *view;
    if (failure_)
        std::rethrow_exception(failure_);
    throw Error(RPM_E_CORRUPT, "no view is in force: the servers disagree which of them are live; "
                               "promote the others, and name the lost ones: " +
                                   operator_command(cluster_, "promote", {}));
}

View find_view(Servers &servers)
{
    View hint = servers.cluster().last_view();
    StateQuery first(servers, hint);
    std::optional<StateQuery> all;
    const StateQuery *answers = &first;

    if (!usable_view(first.states()) && hint != View{}) {
        all.emplace(servers, View{});
        answers = &*all;
    }

    View view = answers->usable();

    if (!is_settled(answers->states(), view))
        throw Fenced(RPM_E_FENCED,
                     "the view is being changed, or a change was interrupted: repeat it, or end it "
                     "with dtx-check recover");
    servers.cluster().remember(view);
    return view;
}

void confirm_view(Servers &servers)
{
    const View &view = servers.placement().view;

    /* The claims come first: they fence a change of the view that begins after this. */
    DTX_ASSERT(servers.is_open());
    for (uint32_t server = 0; server < servers.count(); server++) {
        if (!view.alive(server))
            continue;

        ServerState state = state_of(servers.connection(server), servers.cluster());

        if (state.accepted != view || state.proposed.number != 0)
            throw Fenced(RPM_E_FENCED, "the view is being changed: wait, and join again");
    }
}

/* Writes both copies of the state, one after the other: a power cut leaves one of them whole. If
 * one copy is damaged later, the other one still has the newest state, not the one before. */
static void write_state(ServerConnection &connection, ServerState state)
{
    state.sequence++;
    state.highest = std::max({ state.highest, state.accepted.number, state.proposed.number });

    StateRecord record = record_of(state);

    for (uint64_t i = 0; i < 2; i++) {
        rpm_patch patch{ state_offset(state.sequence, i), &record, sizeof(record), 0 };

        connection.write(connection.server(), { &patch, 1 });
    }
}

void propose(ServerConnection &connection, const Cluster &cluster, const View &view)
{
    ServerState state = state_of(connection, cluster);

    DTX_ASSERT(connection.owns(kRecoverer));
    DTX_ASSERT(view.number != 0 && view.alive(connection.server()));
    state.proposed = view;
    write_state(connection, state);
}

void accept(ServerConnection &connection, const Cluster &cluster, const View &view)
{
    ServerState state = state_of(connection, cluster);

    DTX_ASSERT(connection.owns(kRecoverer));
    DTX_ASSERT(view.number != 0 && view.alive(connection.server()));
    if (state.accepted == view && state.proposed.number == 0)
        return;
    state.accepted = view;
    state.proposed = {};
    write_state(connection, state);
}

} // namespace dtx
