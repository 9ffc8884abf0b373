/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.h: stores a damaged object again, as it is on another copy.
 *
 * Tests: tests/unit/dtx/engine/store/mend_test.cpp
 */
#ifndef DTX_ENGINE_MEND_H
#define DTX_ENGINE_MEND_H

#include "engine/cluster/servers.h"
#include <dtx/read_write_set.h>
#include <dtx/task.h>

namespace dtx
{

/* Awaited: writes an object to each of its copies whose checksum is wrong, from the newest copy
 * whose checksum is right. This transaction holds the object's lock. Throws Error, RPM_E_CORRUPT:
 * no copy is whole. */
Task<> mend(Servers &servers, const Access &locked);

} // namespace dtx
#endif
