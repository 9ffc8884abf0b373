/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held_locks.cc: remember who may have locks.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/held_locks.h"

#include "core/base/assert.h"

#include <algorithm>

namespace rfs
{

HeldLocks::Taken::~Taken()
{
    if (locks_ == nullptr)
        return;
    for (const Held &each : held_)
        locks_->add(ino_, each.handle, each.owner);

    auto found = locks_->files_.find(ino_);

    RFS_ASSERT(found != locks_->files_.end() && found->second.busy > 0);
    found->second.busy--;
    if (found->second.busy == 0 && found->second.held.empty())
        locks_->files_.erase(found);
}

void HeldLocks::add(uint32_t ino, uint64_t handle, uint64_t owner)
{
    std::vector<Taken::Held> &held = files_[ino].held;
    bool known = std::any_of(held.begin(), held.end(), [&](const Taken::Held &each) {
        return each.handle == handle && each.owner == owner;
    });

    if (!known)
        held.push_back({ handle, owner });
}

std::shared_ptr<bool> HeldLocks::watch(uint64_t handle)
{
    std::shared_ptr<bool> &lost = lost_[handle];

    if (lost == nullptr)
        lost = std::make_shared<bool>(false);
    return lost;
}

void HeldLocks::end(uint64_t handle)
{
    auto found = lost_.find(handle);

    if (found == lost_.end())
        return;
    watched_.forget(found->second.get());
    lost_.erase(found);
}

template <class Which> HeldLocks::Taken HeldLocks::take(uint32_t ino, Which which)
{
    auto found = files_.find(ino);

    if (found == files_.end())
        return Taken(nullptr, ino, {});

    std::vector<Taken::Held> taken;
    std::vector<Taken::Held> &held = found->second.held;
    auto rest = std::stable_partition(held.begin(), held.end(),
                                      [&](const Taken::Held &each) { return !which(each); });

    if (rest == held.end())
        return Taken(nullptr, ino, {});
    taken.assign(rest, held.end());
    held.erase(rest, held.end());
    found->second.busy++;
    return Taken(this, ino, std::move(taken));
}

HeldLocks::Taken HeldLocks::take_owner(uint32_t ino, uint64_t owner)
{
    return take(ino, [owner](const Taken::Held &each) { return each.owner == owner; });
}

HeldLocks::Taken HeldLocks::take_handle(uint32_t ino, uint64_t handle)
{
    return take(ino, [handle](const Taken::Held &each) { return each.handle == handle; });
}

} // namespace rfs
