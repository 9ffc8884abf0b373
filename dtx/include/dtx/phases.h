/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.h: who carries out each phase of a transaction: one-sided operations, or the servers'
 * CPUs.
 *
 * Source: DrTM+H (OSDI 2018) compares the two phase by phase. Tests:
 * tests/unit/dtx/engine/phases_test.cpp
 */
#ifndef DTX_PHASES_H
#define DTX_PHASES_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

enum class Via : uint8_t {
    fewest,    /* by call where that spares round trips, over links; else one-sided */
    one_sided, /* operations on far memory; where that is mapped, this CPU's own */
    call       /* the server's CPU, asked by one message for all that it is to do */
};

/* What does not go into a message, as rows of 4 KiB, is one-sided all the same. */
struct Phases {
    Via execute = Via::fewest;
    Via lock = Via::fewest;
    Via validate = Via::fewest;
    Via log = Via::fewest;    /* call: servers copy the record, but where memory is mapped */
    Via commit = Via::fewest; /* rows, then locks */

    /* "fewest", "one-sided", "call", "hybrid" (locks and commits by call), or phases that are by
     * call, the others one-sided: "lock,validate". Throws Error. */
    static Phases parse(const std::string &text);

    /* All that parse() knows. */
    static std::vector<std::string> words();

    bool operator==(const Phases &) const = default;
};

} // namespace dtx
#endif
