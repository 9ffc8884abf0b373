/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spares.cc: read the slots that logs name, many at once where they lie side by side.
 *
 * Tests: tests/unit/dtx/engine/recovery/spares_test.cpp
 */
#include "engine/recovery/spares.h"

#include "engine/base/assert.h"
#include <dtx/object.h>

#include <algorithm>
#include <span>

namespace dtx
{

static constexpr uint64_t kReadAtOnce = 64 << 10;

void Spares::take(const Spare &spare)
{
    uint64_t &version = versions_[spare.address.word];

    version = std::max(version, spare.version);
}

/* Appends those of @run, spare slots of one table, that have the version that the logs name. */
static void read_run(Servers &servers, std::span<const Spare> run, std::vector<Spare> &unused)
{
    DTX_ASSERT(!run.empty());

    Address first = run.front().address;
    uint64_t bytes = servers.layout().table(first.table()).slot_bytes;
    std::vector<unsigned char> images((run.back().address.slot() - first.slot() + 1) * bytes);

    servers.primary(first.shard())
        .read(first.shard(), servers.layout().row_offset(first), images.data(), images.size());
    for (const Spare &spare : run) {
        DTX_ASSERT(spare.address.slot() >= first.slot()); /* versions_ is in the order of slots */
        DTX_ASSERT(spare.address.slot() <= run.back().address.slot());

        const unsigned char *image = &images[(spare.address.slot() - first.slot()) * bytes];
        bool written = header_of(image).version != spare.version;

        if (!written || servers.canary(kCanarySpare))
            unused.push_back(spare);
    }
}

std::vector<Spare> Spares::unused(Servers &servers) const
{
    std::vector<Spare> run;
    std::vector<Spare> unused;

    for (const auto &[word, version] : versions_) {
        Address address{ word };
        uint64_t bytes = servers.layout().table(address.table()).slot_bytes;
        bool near = !run.empty() && run.front().address.shard() == address.shard() &&
                    run.front().address.table() == address.table() &&
                    (address.slot() - run.front().address.slot() + 1) * bytes <= kReadAtOnce;

        if (!run.empty() && !near) {
            read_run(servers, run, unused);
            run.clear();
        }
        run.push_back({ address, version });
    }
    if (!run.empty())
        read_run(servers, run, unused);
    return unused;
}

} // namespace dtx
