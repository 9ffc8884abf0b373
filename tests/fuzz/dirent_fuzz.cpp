// SPDX-License-Identifier: BSD-3-Clause
// dirent_fuzz.cpp: 8 bytes of pool size, then a directory entry, as it is and with its checksum
// repaired.
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/sum.h"
#include "wire/super.h"
}
#include "fuzz.h"

static void check(const uint8_t *slot, uint64_t pool_bytes)
{
    rpmi_dirent entry;
    auto again = fuzz_copy(nullptr, 0, RPMI_DIRENT_BYTES);
    int used = rpmi_dirent_get(slot, pool_bytes, &entry);

    FUZZ_CHECK(used == 0 || used == RPMI_DIRENT_USED || used == RPMI_DIRENT_HALF ||
               used == RPM_E_CORRUPT);
    FUZZ_CHECK((used == 0) == (rpmi_load64(slot) == rpmi_dirent_free() &&
                               rpmi_load64(slot + RPMI_DIRENT_STATE_2) == rpmi_dirent_free()));
    if (used <= 0)
        return;
    FUZZ_CHECK(rpmi_in_bounds(entry.offset, entry.bytes, pool_bytes));
    FUZZ_CHECK(rpmi_name_check(entry.name) == 0);
    rpmi_dirent_put(again.get(), &entry);
    rpmi_store64(again.get(), rpmi_dirent_used());
    if (used == RPMI_DIRENT_USED)
        rpmi_store64(again.get() + RPMI_DIRENT_STATE_2, rpmi_dirent_used());
    FUZZ_CHECK(memcmp(again.get(), slot, RPMI_DIRENT_BYTES) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    uint64_t pool_bytes = rpmi_load64(data);
    auto slot = fuzz_copy(data + 8, size - 8, RPMI_DIRENT_BYTES);

    check(slot.get(), pool_bytes);
    rpmi_store64(slot.get() + 248, rpmi_sum(slot.get() + 8, 232));
    check(slot.get(), pool_bytes);
    return 0;
}
