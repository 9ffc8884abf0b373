/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.h: how each phase of a transaction is carried out: by one-sided operations, or by the
 * servers' CPUs.
 *
 * Source: DrTM+H (OSDI 2018) compares the two phase by phase.
 *
 * Tests: tests/unit/dtx/engine/base/phases_test.cpp
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
    one_sided, /* the client's NIC; where memory is mapped, the client's CPU */
    call       /* the server's CPU, by one message with all operations */
};

/* By call too, an operation that does not fit into a message, such as a write of a row of 4 KiB, is
 * one-sided. */
struct Phases {
    Via execute = Via::fewest;
    Via lock = Via::fewest;
    Via validate = Via::fewest;
    Via log = Via::fewest;    /* call: the servers' CPUs copy the record, unless it is mapped */
    Via commit = Via::fewest; /* installs rows, then frees locks */

    /* "fewest", "one-sided", "call", "hybrid" (lock and commit by call), or the phases that are by
     * call, such as "lock,validate": the others are one-sided then. Throws Error. */
    static Phases parse(const std::string &text);

    /* All words that parse() accepts. */
    static std::vector<std::string> words();

    bool operator==(const Phases &) const = default;
};

} // namespace dtx
#endif
