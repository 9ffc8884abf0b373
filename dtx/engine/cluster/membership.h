/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membership.h: reads the servers' views, and writes them.
 *
 * A connection that has the recoverer's claim on a server may write; the claim guards the writes.
 * Any connection may read.
 *
 * Tests: tests/unit/dtx/engine/recovery/promote_test.cpp
 */
#ifndef DTX_ENGINE_MEMBERSHIP_H
#define DTX_ENGINE_MEMBERSHIP_H

#include "engine/cluster/servers.h"

namespace dtx
{

/* Connects to all servers that are not dead in @without and reads their states. If too few answer,
 * usable() throws the error of a server that did not answer. */
class StateQuery
{
  public:
    StateQuery(Servers &servers, const View &without);

    const States &states() const
    {
        return states_;
    }
    /* The view that is in force or can be finished. Throws Error if there is none. */
    View usable(const View &without = {}) const;

  private:
    void keep(std::exception_ptr failure, bool away);

    const Cluster &cluster_;
    States states_;
    std::exception_ptr failure_;
    bool only_away_ = true;
};

/* The view that is in force. Leaves connections open to its live servers. Throws Fenced
 * while the view is being changed. */
View find_view(Servers &servers);

/* Throws Fenced unless all servers whose shards are open still have the view of @servers. */
void confirm_view(Servers &servers);

/* The state of a server whose shards are open. */
ServerState state_of(ServerConnection &connection, const Cluster &cluster);

/* Write @view to the server as the view that is proposed to it, or that it has accepted.
 * @connection has the recoverer's claim. */
void propose(ServerConnection &connection, const Cluster &cluster, const View &view);
void accept(ServerConnection &connection, const Cluster &cluster, const View &view);

} // namespace dtx
#endif
