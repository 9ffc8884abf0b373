// SPDX-License-Identifier: BSD-3-Clause
// head_fuzz.cpp: four head slots back to back, as they are and with their checksums repaired.
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

static void check_slots(const uint8_t *slots)
{
    rpmi_head head;
    rpmi_head one;
    uint32_t lacking = 99;
    unsigned whole = 0;
    int err = rpmi_head_pick(slots, &head, &lacking);

    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++)
        check_slot(slots + i * RPMI_HEAD_SLOT_STRIDE);
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return;
    // Each slot of the turn's parity holds the picked head, unless @lacking names it; any other
    // slot that is valid and of its own parity has a lower turn.
    FUZZ_CHECK(lacking < 1u << RPMI_HEAD_SLOTS);
    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++) {
        bool own = i % 2 == head.turn % 2;

        FUZZ_CHECK(own || (lacking & 1u << i) == 0);
        err = rpmi_head_get(slots + i * RPMI_HEAD_SLOT_STRIDE, &one);
        if (own && (lacking & 1u << i) == 0) {
            FUZZ_CHECK(err == 0 && one.turn == head.turn && one.epoch == head.epoch &&
                       one.trim_lsn == head.trim_lsn && one.base_lsn == head.base_lsn);
            whole++;
        } else if (err == 0 && one.turn % 2 == i % 2) {
            FUZZ_CHECK(one.turn < head.turn && one.log_id == head.log_id);
        }
    }
    FUZZ_CHECK(whole > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // The last slot ends the block: a sanitizer detects a read beyond it.
    auto slots =
        fuzz_copy(nullptr, 0, (RPMI_HEAD_SLOTS - 1) * RPMI_HEAD_SLOT_STRIDE + RPMI_HEAD_BYTES);

    for (unsigned i = 0; i < RPMI_HEAD_SLOTS && size > 0; i++) {
        size_t len = size < RPMI_HEAD_BYTES ? size : RPMI_HEAD_BYTES;

        memcpy(slots.get() + i * RPMI_HEAD_SLOT_STRIDE, data, len);
        data += len;
        size -= len;
    }
    check_slots(slots.get());
    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++) {
        uint8_t *slot = slots.get() + i * RPMI_HEAD_SLOT_STRIDE;

        rpmi_store64(slot + 56, rpmi_sum(slot, 56));
    }
    check_slots(slots.get());
    return 0;
}
