/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membership.h: asks servers for their views, and tells them.
 *
 * Who has made himself a port to a server with the recoverer's claim may tell; the claim guards
 * that. Everybody may ask.
 *
 * Tests: tests/unit/dtx/engine/promote_test.cpp
 */
#ifndef DTX_ENGINE_MEMBERSHIP_H
#define DTX_ENGINE_MEMBERSHIP_H

#include "engine/store.h"

namespace dtx
{

/* What all servers that are not dead in @without say, over ports that are then connected. What
 * kept the others from it is thrown by usable(). */
class Answers
{
  public:
    Answers(Store &store, const View &without);

    const States &states() const
    {
        return states_;
    }
    /* The view to go on with. Throws Error if there is none. */
    View usable(const View &without = {}) const;

  private:
    void keep(std::exception_ptr failure, bool away);

    States states_;
    std::exception_ptr failure_;
    bool only_away_ = true;
};

/* The view that is in force; the ports of those that live in it are connected. Throws Fenced while
 * it is being changed. */
View find_view(Store &store);

/* Is that still so, for those whose ports are open? Throws Fenced if not. Returns the largest
 * number of a view, accepted or not, that one of them has heard of. */
uint64_t confirm_view(Store &store);

/* What the server of an open port says now. */
ServerState state_of(Port &port, const Cluster &cluster);

/* Tell it. The port has the recoverer's claim. */
void propose(Port &port, const Cluster &cluster, const View &view);
void accept(Port &port, const Cluster &cluster, const View &view);

} // namespace dtx
#endif
