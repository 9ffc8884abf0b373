/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: the check of a volume that no client writes.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/check.h"

#include "core/check/scan.h"

namespace rfs
{

dtx::Findings check_tables(const OpenVolume &open, uint32_t copy)
{
    ScanOptions options;

    options.copy = copy;
    return Scan(open, options).run().findings();
}

} // namespace rfs
