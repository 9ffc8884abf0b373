/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * experiment.cc: the list of experiments, and their basic loads.
 */
#include "experiment.h"

#include <algorithm>

namespace hints
{

const std::vector<const Experiment *> &experiments()
{
    static const std::vector<const Experiment *> all = {
        &kNuma,    &kSpread, &kDdio,  &kCopy,   &kXpline, &kWordNic,
        &kWordCpu, &kLock,   &kChain, &kAblate, &kPoints, &kOctopus,
    };

    return all;
}

const Experiment *find_experiment(const std::string &run)
{
    for (const Experiment *experiment : experiments())
        if (run == experiment->run)
            return experiment;
    return nullptr;
}

uint64_t ops_for(uint64_t bytes, bool reduced)
{
    uint64_t ops = bytes <= 256 ? 20000 : std::max<uint64_t>(20000 * 256 / bytes, 1000);

    return reduced ? std::max<uint64_t>(ops * 2 / 5, 1000) : ops;
}

Point clients(uint32_t op, uint64_t bytes)
{
    Point point;

    point.load.by = RPM_BY_NIC;
    point.load.op = op;
    point.load.bytes = bytes;
    point.load.threads = 30;
    point.load.depth = 8;
    return point;
}

Point cores(uint32_t op, uint64_t bytes, uint32_t threads)
{
    Point point;

    point.load.by = RPM_BY_CORE;
    point.load.op = op;
    point.load.bytes = bytes;
    point.load.threads = threads;
    return point;
}

Point callers(uint32_t op, uint64_t bytes)
{
    Point point = clients(op, bytes);

    point.load.by = RPM_BY_CALL;
    point.load.cores = 10;
    return point;
}

uint32_t with(uint32_t hints, int k, bool on)
{
    return on ? hints | RPM_HINT(k) : hints & ~RPM_HINT(k);
}

} // namespace hints
