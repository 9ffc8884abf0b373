/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * footprint.h: attempts of a trace as scripts of the performance model.
 *
 * Phases are those of the engine (engine/txn/commit.h): rows are read one after another; all locks
 * in one round and what they protect in the next; what was only read in two more; the redo record
 * on all log servers; the rows on all copies; the locks. By call, a phase is one message to each
 * server; the primary stores a row and frees its lock by one message, after the other copies have
 * stored the row; a transaction that reads one row alone reads its lock in the same message, and
 * does not validate it; and locks that the traced run took by the message that read the row are
 * taken so.
 *
 * The effects of hints come from the library's planner; nothing here decides about them.
 *
 * Tests: tests/unit/dtx/model/footprint_test.cpp
 */
#ifndef DTX_MODEL_FOOTPRINT_H
#define DTX_MODEL_FOOTPRINT_H

#include "model/trace.h"

#include <librpm.h>

namespace dtx::model
{

/* Which phases are carried out by calls to the server CPU. */
struct Phases {
    bool execute = false;
    bool lock = false;
    bool validate = false;
    bool log = false;
    bool commit = false;
};

/* one-sided, call, or hybrid: commits by call, all else one-sided. Throws std::runtime_error. */
Phases parse_phases(const std::string &text);

struct Setting {
    uint32_t hints = RPM_HINTS_ALL;
    Phases phases;
    bool durable = true;
    bool conflicts = false; /* attempts fail at locked or changed objects; one-sided phases only */
};

/* How hints change the platform, and the operations on it. */
struct HintEffects {
    bool other_socket; /* the memory is on another socket than the NIC */
    uint32_t ddio;     /* enum rpm_answer; 0: as the preset says */
    uint32_t writers_max;
    uint32_t pad;   /* lengths of rows and records are rounded up to this; 1: not rounded */
    uint32_t large; /* records over 256 bytes start at multiples of this and are rounded up to it */
    bool chained;   /* a write and its flush take one round trip */
    bool streams;   /* cores write with non-temporal stores */
    uint32_t locks; /* memory that has the locks, enum rpm_load_memory */
};

HintEffects effects_of(const rpm_facts &facts, const Setting &setting);

using Script = std::vector<rpm_script_op>;

/* The script of an attempt, with server s replaced by (s + @rotation) % servers. Empty if the
 * attempt accessed no server. */
Script script_of(const Attempt &attempt, const Trace &trace, const Setting &setting,
                 const HintEffects &effects, uint32_t rotation);

} // namespace dtx::model
#endif
