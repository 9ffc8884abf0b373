/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elle.h: write a history in the list-append form that Elle reads. FORMAT.md describes the
 * conversion.
 *
 * Tests: tests/unit/dtx/history/elle_test.cpp
 */
#ifndef DTX_HISTORY_ELLE_H
#define DTX_HISTORY_ELLE_H

#include "history/history.h"

#include <cstdint>
#include <string>

namespace dtx::history
{

struct ElleResult {
    uint64_t operations = 0;
    uint64_t partial_objects =
        0;                       /* with versions from before the history, which their lists lack */
    uint64_t absent_writers = 0; /* not in the history; written with an unknown outcome */
};

/* Throws Failure. */
ElleResult write_elle(const History &history, bool partial, const std::string &path);

} // namespace dtx::history
#endif
