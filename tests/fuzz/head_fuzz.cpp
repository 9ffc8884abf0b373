// SPDX-License-Identifier: BSD-3-Clause
// head_fuzz.cpp: two head slots back to back, as they are and with their checksums repaired.
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/sum.h"
#include "wire/head.h"
}
#include "fuzz.h"

// Encoding what was decoded gives the same bytes.
static void check_slot(const uint8_t *slot)
{
    rpmi_head head;
    uint8_t again[RPMI_HEAD_BYTES];
    int err = rpmi_head_get(slot, &head);

    FUZZ_CHECK(err == 0 || err == RPM_E_TORN);
    if (err != 0)
        return;
    rpmi_head_put(again, &head);
    FUZZ_CHECK(memcmp(again, slot, sizeof(again)) == 0);
}

static void check_pair(const uint8_t *slots)
{
    rpmi_head head;
    rpmi_head one;
    uint32_t next = 9;
    int err = rpmi_head_pick(slots, &head, &next);

    check_slot(slots);
    check_slot(slots + RPMI_HEAD_SLOT_STRIDE);
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return;
    // The one that is kept is valid, and no valid one is newer.
    FUZZ_CHECK(next <= 1);
    FUZZ_CHECK(rpmi_head_get(slots + (1 - next) * RPMI_HEAD_SLOT_STRIDE, &one) == 0);
    FUZZ_CHECK(one.turn == head.turn && one.epoch == head.epoch && one.trim_lsn == head.trim_lsn);
    if (rpmi_head_get(slots + next * RPMI_HEAD_SLOT_STRIDE, &one) == 0)
        FUZZ_CHECK(one.turn <= head.turn && one.log_id == head.log_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t first = size < RPMI_HEAD_BYTES ? size : RPMI_HEAD_BYTES;
    size_t second = size - first < RPMI_HEAD_BYTES ? size - first : RPMI_HEAD_BYTES;
    // The second slot ends the block: a sanitizer sees a read behind it.
    auto slots = fuzz_copy(data, first, RPMI_HEAD_SLOT_STRIDE + RPMI_HEAD_BYTES);

    if (second > 0)
        memcpy(slots.get() + RPMI_HEAD_SLOT_STRIDE, data + first, second);
    check_pair(slots.get());
    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++) {
        uint8_t *slot = slots.get() + i * RPMI_HEAD_SLOT_STRIDE;

        rpmi_store64(slot + 56, rpmi_sum(slot, 56));
    }
    check_pair(slots.get());
    return 0;
}
