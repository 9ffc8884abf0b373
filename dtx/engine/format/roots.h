/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roots.h: the objects that a shard has from its creation on: allocator heads, home buckets and the
 * roots of trees. Sessions read them by their place; they come to every other object by a root or
 * by an object that was committed. So whichever object a session reads has been written, and zeros
 * in its slot are damage.
 *
 * Tests: tests/unit/dtx/engine/format/roots_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_ROOTS_H
#define DTX_ENGINE_FORMAT_ROOTS_H

#include <dtx/layout.h>
#include <dtx/object.h>

#include <functional>
#include <vector>

namespace dtx
{

bool is_root(const Schema &schema, Address address);

/* Has no commit written this slot? Then it is all zeros or, if it is a root, as it was created. */
bool is_unused(const Schema &schema, Address address, const ObjectHeader &header);

/* Is the slot whole, and, if it is a root, not zeros? */
bool is_intact(const Schema &schema, Address address, const unsigned char *image, uint32_t bytes);

/* Calls @take(offset, images) for all roots of a shard as they are created, with those that lie
 * beside each other together, up to about a megabyte; @offset is that of the first in the shard. */
void each_root(
    const Schema &schema, const Layout &layout,
    const std::function<void(uint64_t offset, const std::vector<unsigned char> &images)> &take);

} // namespace dtx
#endif
