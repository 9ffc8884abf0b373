/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membership.cc: what is in the first page of each server's own shard.
 *
 * Tests: tests/unit/dtx/engine/promote_test.cpp
 */
#include "engine/membership.h"

#include "engine/descriptor.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

namespace
{

/* What is looked at of a shard's first page. */
struct Head {
    Descriptor descriptor;
    struct {
        StateRecord record;
        unsigned char unused[kStateStride - sizeof(StateRecord)];
    } places[2];
};

} // namespace

static ServerState state_in(const Head &head, const Cluster &cluster, uint32_t server,
                            const ReadShard &read)
{
    StateRecord records[] = { head.places[0].record, head.places[1].record };

    compare(head.descriptor, cluster, { server, server }, read);
    if (auto state = state_in(records))
        return *state;
    fail_damaged("what the server was told of views", cluster, { server, server });
}

/* Of a server that a port is connected to and not yet open. */
static ServerState ask(const Port &port, const Cluster &cluster)
{
    ShardHeader header;
    Head head{};
    int err = header.open(port.conn(), cluster.schema().name(), port.server());

    if (err != 0)
        fail_opening(cluster, port.server(), port.server(), err);

    auto read = [&header](uint64_t offset, void *into, uint64_t bytes) {
        header.read(offset, into, bytes);
    };

    read(0, &head.descriptor, sizeof(head.descriptor));
    read(kStateOffset, head.places, sizeof(head.places));
    return state_in(head, cluster, port.server(), read);
}

ServerState state_of(Port &port, const Cluster &cluster)
{
    Head head{};

    port.read(port.server(), 0, &head.descriptor, sizeof(head.descriptor));
    port.read(port.server(), kStateOffset, head.places, sizeof(head.places));
    return state_in(head, cluster, port.server(), [&](uint64_t offset, void *into, uint64_t bytes) {
        port.read(port.server(), offset, into, bytes);
    });
}

Answers::Answers(Store &store, const View &without) : states_(store.ports())
{
    for (uint32_t server = 0; server < store.ports(); server++) {
        if (!without.alive(server))
            continue;
        try {
            store.port(server).connect();
            states_[server] = ask(store.port(server), store.cluster());
        } catch (const Fenced &) {
            keep(std::current_exception(), true);
        } catch (const Error &) {
            keep(std::current_exception(), false);
        }
        if (!states_[server])
            store.port(server).close();
    }
}

/* The first; but one that waiting does not mend before one that it does. */
void Answers::keep(std::exception_ptr failure, bool away)
{
    if (!failure_ || (only_away_ && !away))
        failure_ = failure;
    only_away_ &= away;
}

View Answers::usable(const View &without) const
{
    if (auto view = usable_view(states_, without))
        return *view;
    if (failure_)
        std::rethrow_exception(failure_);
    throw Error(RPM_E_CORRUPT, "the servers do not agree which of them live");
}

View find_view(Store &store)
{
    View hint = store.cluster().last_view();
    Answers first(store, hint);
    std::optional<Answers> all;
    const Answers *answers = &first;

    if (!usable_view(first.states()) && hint != View{}) {
        all.emplace(store, View{});
        answers = &*all;
    }

    View view = answers->usable();

    if (!is_settled(answers->states(), view))
        throw Fenced(RPM_E_FENCED,
                     "which servers live is being changed, or that was interrupted: it can be "
                     "repeated, or ended by recovering");
    store.cluster().remember(view);
    return view;
}

uint64_t confirm_view(Store &store)
{
    const View &view = store.placement().view;
    uint64_t heard = 0;

    for (uint32_t server = 0; server < store.ports(); server++) {
        if (!view.alive(server))
            continue;

        ServerState state = state_of(store.port(server), store.cluster());

        if (state.accepted != view || state.proposed.number != 0)
            throw Fenced(RPM_E_FENCED, "which servers live is being changed");
        heard = std::max<uint64_t>(heard, state.heard);
    }
    return heard;
}

/* To both places, one after the other: a power cut leaves one of them whole, and so does damage to
 * one of them, which must not bring back what was before. */
static void tell(Port &port, ServerState state)
{
    state.sequence++;
    state.heard = std::max({ state.heard, state.accepted.number, state.proposed.number });

    StateRecord record = record_of(state);

    for (uint64_t i = 0; i < 2; i++) {
        uint64_t place = kStateOffset + (state.sequence + i) % 2 * kStateStride;
        rpm_patch patch{ place, &record, sizeof(record), 0 };

        port.write(port.server(), { &patch, 1 });
    }
}

void propose(Port &port, const Cluster &cluster, const View &view)
{
    ServerState state = state_of(port, cluster);

    state.proposed = view;
    tell(port, state);
}

void accept(Port &port, const Cluster &cluster, const View &view)
{
    ServerState state = state_of(port, cluster);

    if (state.accepted == view && state.proposed.number == 0)
        return;
    state.accepted = view;
    state.proposed = {};
    tell(port, state);
}

} // namespace dtx
