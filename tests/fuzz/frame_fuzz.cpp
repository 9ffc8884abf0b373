// SPDX-License-Identifier: BSD-3-Clause
// frame_fuzz.cpp: 8 bytes of LSN, then a piece of a ring. A frame that is judged valid lies within
// the piece, and encoding it again gives the input.
extern "C" {
#include "wire/frame.h"
}
#include "fuzz.h"

static const uint64_t LOG_ID = 0xfedcba9876543210ull;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rpmi_frame frame;
    uint8_t header[RPMI_FRAME_HEADER_BYTES];

    if (size < 8)
        return 0;
    uint64_t lsn = rpmi_align_down(rpmi_load64(data), RPMI_LINE_BYTES);
    size_t room = size - 8;
    auto ring = fuzz_copy(data + 8, room, room);

    if (rpmi_frame_get(ring.get(), lsn, room, &frame) != RPMI_FRAME_VALID)
        return 0;
    const uint8_t *payload = ring.get() + RPMI_FRAME_HEADER_BYTES;
    bool pad = (frame.flags & RPMI_FRAME_PAD) != 0;
    uint64_t stride = rpmi_frame_stride(frame.len, frame.flags);

    FUZZ_CHECK(frame.lsn == lsn);
    FUZZ_CHECK(stride <= room && stride % RPMI_LINE_BYTES == 0 && stride > 0);
    FUZZ_CHECK(frame.len + RPMI_FRAME_HEADER_BYTES <= stride);
    rpmi_frame_put(header, &frame, LOG_ID, pad ? nullptr : payload);
    FUZZ_CHECK(memcmp(header, ring.get(), 16) == 0);
    bool same = memcmp(header + 16, ring.get() + 16, 8) == 0;
    FUZZ_CHECK(same == (rpmi_frame_check(&frame, LOG_ID, payload) == RPMI_FRAME_VALID));

    // Repairs the checksum, so that mutations reach the checks behind it, and judges again.
    memcpy(ring.get(), header, sizeof(header));
    FUZZ_CHECK(rpmi_frame_get(ring.get(), lsn, room, &frame) == RPMI_FRAME_VALID);
    FUZZ_CHECK(rpmi_frame_check(&frame, LOG_ID, payload) == RPMI_FRAME_VALID);
    FUZZ_CHECK(rpmi_frame_check(&frame, LOG_ID + 1, payload) == RPMI_FRAME_BROKEN);
    return 0;
}
