/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canaries.h: names of the canaries: rules of the protocol that a test switches off, to see that
 * the checks then fail.
 *
 * Tests: tests/unit/dtx/engine/base/canaries_test.cpp, tests/tools/dtx_bench_test
 */
#ifndef DTX_ENGINE_CANARIES_H
#define DTX_ENGINE_CANARIES_H

#include <dtx/cluster.h>

#include <map>
#include <string>

namespace dtx
{

inline const std::map<std::string, uint32_t> kCanaryNames = {
    { "validate", kCanaryValidate },
    { "lock", kCanaryLock },
    { "version", kCanaryVersion },
    { "log-late", kCanaryLogLate },
    { "phantom", kCanaryPhantom },
    { "skip-log", kCanarySkipLog },
    { "drop-commit", kCanaryDropCommit },
    { "no-redo", kCanaryNoRedo },
    { "vacuum", kCanaryVacuum },
    { "give-up", kCanaryGiveUp },
    { "validate-early", kCanaryValidateEarly },
    { "unlock-early", kCanaryUnlockEarly },
    { "lone-read", kCanaryLoneRead },
    { "no-record", kCanaryNoRecord },
    { "span-primary", kCanarySpanPrimary },
    { "span-unmarked", kCanarySpanUnmarked },
    { "visible", kCanaryVisible },
    { "spare", kCanarySpare },
};

} // namespace dtx
#endif
