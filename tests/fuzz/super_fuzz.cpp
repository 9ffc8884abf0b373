// SPDX-License-Identifier: BSD-3-Clause
// super_fuzz.cpp: 8 bytes of pool size, then a superblock, as it is and with its checksum repaired.
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/super.h"
}
#include "fuzz.h"

static void check(const uint8_t *block, uint64_t pool_bytes)
{
    rpmi_super super;
    auto again = fuzz_copy(nullptr, 0, RPMI_SUPER_BYTES);
    int err = rpmi_super_get(block, pool_bytes, &super);

    FUZZ_CHECK(err == 0 || err == RPM_E_FOREIGN || err == RPM_E_VERSION || err == RPM_E_CORRUPT ||
               err == RPM_E_NOENT);
    if (err != 0)
        return;
    FUZZ_CHECK(super.pool_bytes <= pool_bytes);
    FUZZ_CHECK(
        rpmi_in_bounds(super.dir_offset, RPMI_POOL_ENTRIES * RPMI_DIRENT_BYTES, super.data_offset));
    FUZZ_CHECK(super.data_offset <= super.pool_bytes);
    rpmi_store64(again.get(), rpmi_super_put(again.get(), &super));
    FUZZ_CHECK(memcmp(again.get(), block, RPMI_SUPER_BYTES) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    uint64_t pool_bytes = rpmi_load64(data);
    auto block = fuzz_copy(data + 8, size - 8, RPMI_SUPER_BYTES);

    check(block.get(), pool_bytes);
    rpmi_store64(block.get() + 4088, rpmi_sum(block.get() + 8, 4080));
    check(block.get(), pool_bytes);
    return 0;
}
