/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spares.h: the spare slots that the logs of a coordinator name: slots that it took or freed, and
 * perhaps used or returned since.
 *
 * Tests: tests/unit/dtx/engine/recovery/spares_test.cpp
 */
#ifndef DTX_ENGINE_SPARES_H
#define DTX_ENGINE_SPARES_H

#include "engine/cluster/servers.h"
#include <dtx/read_write_set.h>

#include <cstdint>
#include <map>
#include <vector>

namespace dtx
{

class Spares
{
  public:
    void take(const Spare &spare);

    /* Those that were neither used nor returned since, in the order of their addresses: no
     * transaction has written them. To be called when the rows of the logs are installed. Blocks
     * the thread for one round trip for each 64 KiB between two of them. */
    std::vector<Spare> unused(Servers &servers) const;

  private:
    std::map<uint64_t, uint64_t> versions_; /* the highest one of each address */
};

} // namespace dtx
#endif
