/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elle.h: a history in the list-append form that Elle takes. FORMAT.md says how one becomes the
 * other.
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
    uint64_t based = 0; /* objects that had versions before the history, which their lists lack */
    uint64_t strangers =
        0; /* writers that are not in the history, exported as of unknown outcome */
};

/* Throws Failure. */
ElleResult write_elle(const History &history, bool partial, const std::string &path);

} // namespace dtx::history
#endif
