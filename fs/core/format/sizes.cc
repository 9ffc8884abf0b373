/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sizes.cc: sizes to text and back.
 *
 * Tests: tests/unit/fs/format/tables_test.cpp, tests/fuzz/fs_rows_fuzz.cpp
 */
#include "core/format/sizes.h"

#include <dtx/error.h>

#include <librpm.h>

#include <cinttypes>
#include <cstdio>

namespace rfs
{

std::string Sizes::text() const
{
    return std::string(kVolumeMark) + "inodes=" + std::to_string(inodes) +
           " slabs=" + std::to_string(slabs);
}

Sizes Sizes::of_text(const std::string &volume, const std::string &text)
{
    Sizes sizes;
    int end = 0;

    if (sscanf(text.c_str(), "rpmfs inodes=%" SCNu64 " slabs=%" SCNu64 "%n", &sizes.inodes,
               &sizes.slabs, &end) != 2 ||
        text.substr(static_cast<size_t>(end)) != "" || sizes.text() != text || !sizes.fit())
        throw dtx::Error(RPM_E_FOREIGN,
                         "the database '" + volume + "' is not a volume: its comment is \"" + text +
                             "\", expected \"rpmfs inodes=NUMBER slabs=NUMBER\"; name another one, "
                             "or make a volume with rpm-fs mkfs");
    return sizes;
}

} // namespace rfs
