/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * final.h: reads the final state of a database, for the end of a history.
 *
 * Tests: tests/tools/dtx_bench_test
 */
#ifndef DTX_WORKLOAD_FINAL_H
#define DTX_WORKLOAD_FINAL_H

#include <dtx/cluster.h>
#include <dtx/object.h>

#include <cstddef>
#include <vector>

namespace dtx
{

/* Passes version and writer of each written object for which @wanted(address) is true, on every
 * copy, to @recorder.final_state(), many at a time. */
template <class Access, class Recorder, class Wanted>
void record_final(Recorder &recorder, const Cluster &cluster, Wanted wanted)
{
    constexpr size_t kAtOnce = 256;
    Cluster::Reading reading(cluster);
    std::vector<Access> found;
    auto flush = [&] {
        recorder.final_state(found);
        found.clear();
    };

    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++)
        for (uint32_t table = 0; table < cluster.layout().tables(); table++)
            cluster.each_object(
                table, copy, [&](Address address, const unsigned char *image, uint32_t) {
                    const ObjectHeader &header = header_of(image);

                    if (header.version == 0 || !wanted(address))
                        return;
                    found.push_back({ address.word, header.version, header.writer });
                    if (found.size() == kAtOnce)
                        flush();
                });
    if (!found.empty())
        flush();
}

} // namespace dtx
#endif
