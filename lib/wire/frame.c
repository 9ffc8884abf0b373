/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.c: compile-time checks of the frame's layout. The code is inline in frame.h.
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/wire/frame_test.cpp
 */
#include "wire/frame.h"

_Static_assert(RPMI_FRAME_HEADER_BYTES == 3 * sizeof(uint64_t), "three words");
_Static_assert(RPMI_RECORD_MAX <= RPMI_FRAME_LEN_MAX, "a record's length fits its field");
/* A pad frame in front of a record skips fewer bytes than the record takes. */
_Static_assert(RPMI_RECORD_MAX + RPMI_FRAME_HEADER_BYTES + RPMI_XPLINE_BYTES <= RPMI_FRAME_LEN_MAX,
               "a pad's length fits its field");
_Static_assert((RPMI_FRAME_TAG & RPMI_FRAME_FLAGS) == 0, "flags have bits of their own");
_Static_assert((RPMI_FRAME_TAG & RPMI_FRAME_TAG_MASK) != 0, "zeros are no frame");
_Static_assert((RPMI_FRAME_LAG_MAX << RPMI_FRAME_LAG_SHIFT | RPMI_FRAME_TAG_MASK |
                RPMI_FRAME_FLAGS) == 0xff,
               "every bit of the tag has its place");
_Static_assert((RPMI_FRAME_PAD | RPMI_FRAME_XPLINE) == RPMI_FRAME_FLAGS, "every flag is known");
_Static_assert(RPMI_LINE_BYTES - RPMI_FRAME_HEADER_BYTES == 40, "40 bytes make one line");
