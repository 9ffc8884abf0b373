// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/wait_set.h"

#include "support/catch.h"
#include "unit/dtx/engine/pipe.h"
#include <dtx/scheduler.h>

#include <memory>

namespace
{

// Can it be read within so many milliseconds? -1: wait without end.
bool readable(const dtx::WaitSet &set, int ms)
{
    pollfd fd{ set.fd(), POLLIN, 0 };

    return poll(&fd, 1, ms) == 1;
}

pollfd of(const Pipe &pipe)
{
    return { pipe.end(), POLLIN, 0 };
}

} // namespace

TEST_CASE("dtx: one descriptor can be read when one of others can", "[unit]")
{
    dtx::WaitSet set;
    Pipe pipes[2];

    CHECK(!readable(set, 0));
    set.arm({ of(pipes[0]), of(pipes[1]) }, UINT64_MAX);
    CHECK(!readable(set, 0));
    pipes[1].put('x');
    CHECK(readable(set, -1));
    set.arm({ of(pipes[0]) }, UINT64_MAX); // the other does not count any more
    CHECK(!readable(set, 0));
    set.arm({ of(pipes[0]), of(pipes[1]) }, UINT64_MAX);
    CHECK(readable(set, -1));
    (void)pipes[1].take();
    CHECK(!readable(set, 0));
}

TEST_CASE("dtx: a descriptor can be read from a time on", "[unit]")
{
    dtx::WaitSet set;
    uint64_t until = dtx::now_ns() + 20000000;

    set.arm({}, until);
    CHECK(readable(set, -1));
    CHECK(dtx::now_ns() >= until);
    set.arm({}, UINT64_MAX);
    CHECK(!readable(set, 0));
    set.arm({}, 1); // long ago
    CHECK(readable(set, -1));
}

TEST_CASE("dtx: a descriptor that was closed is forgotten, and its number used again", "[unit]")
{
    dtx::WaitSet set;
    auto first = std::make_unique<Pipe>();

    set.arm({ of(*first) }, UINT64_MAX);
    first->put('x');
    first.reset();

    Pipe second; // has the same number

    set.arm({ of(second) }, UINT64_MAX);
    CHECK(!readable(set, 0));
    second.put('x');
    CHECK(readable(set, -1));
}
