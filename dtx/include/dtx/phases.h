/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.h: who carries out each phase of a transaction: one-sided operations, or the servers'
 * CPUs.
 *
 * Source: DrTM+H (OSDI 2018) compares the two phase by phase. Tests:
 * tests/unit/dtx/engine/base/phases_test.cpp
 */
#ifndef DTX_PHASES_H
#define DTX_PHASES_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

enum class Via : uint8_t {
    fewest,    /* over a link, call where that saves round trips; else one_sided */
    one_sided, /* operations on remote memory; where that is mapped, this CPU's own */
    call       /* the server's CPU, asked by one message for all that it is to do */
};

/* What does not go into a message, as rows of 4 KiB, is one-sided all the same. */
struct Phases {
    Via execute = Via::fewest;
    Via lock = Via::fewest;
    Via validate = Via::fewest;
    Via log = Via::fewest;    /* call: servers copy the record, but where memory is mapped */
    Via commit = Via::fewest; /* rows, then locks */

    /* "fewest", "one-sided", "call", "hybrid" (lock and commit by call), or the phases that are by
     * call, such as "lock,validate": the others are one-sided then. Throws Error. */
    static Phases parse(const std::string &text);

    /* All words that parse() accepts. */
    static std::vector<std::string> words();

    bool operator==(const Phases &) const = default;
};

} // namespace dtx
#endif
