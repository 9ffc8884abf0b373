/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain.h: a cycle as text: the class of anomaly, and for each hop the objects, versions or
 * times.
 *
 * Tests: tests/unit/dtx/history/directed_test.cpp
 */
#ifndef DTX_HISTORY_EXPLAIN_H
#define DTX_HISTORY_EXPLAIN_H

#include "history/cycles.h"
#include "history/history.h"
#include "history/versions.h"
#include "history/violation.h"

#include <span>

namespace dtx::history
{

/* @component: number of transactions in the component of the cycle. */
Violation explain_cycle(const History &history, const Versions &versions,
                        std::span<const Hop> cycle, uint64_t component);

} // namespace dtx::history
#endif
