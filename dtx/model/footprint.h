/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * footprint.h: attempts of a trace as scripts of the device model.
 *
 * Phases are those of the engine (engine/txn/commit.h): rows are read one after another; all locks
 * in one round and what they protect in the next; what was only read in two more; the redo record
 * on all log servers; the rows on all copies; the locks. By call, a phase is one message to each
 * server; the primary stores a row and frees its lock by one message, after the other copies have
 * stored the row; a transaction that reads one row alone reads its lock in the same message, and
 * does not validate it; and what the traced run locked by the message that read it is locked so.
 *
 * What hints make of it is asked of the library's planner, never decided here.
 *
 * Tests: tests/unit/dtx/model/footprint_test.cpp
 */
#ifndef DTX_MODEL_FOOTPRINT_H
#define DTX_MODEL_FOOTPRINT_H

#include "model/trace.h"

#include <librpm.h>

namespace dtx::model
{

/* Which phases ask the server CPU. */
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
    bool conflicts = false; /* objects are words that attempts fail at; one-sided phases only */
};

/* What hints make of a platform and of what is done there. */
struct Carried {
    bool far;
    uint32_t ddio; /* enum rpm_answer; 0: as it is */
    uint32_t writers_max;
    uint32_t pad;   /* rows and records: lengths are rounded up to this; 1: as they are */
    uint32_t large; /* records over 256 bytes start at and fill this */
    bool chained;   /* writes and what persists them in one round trip */
    bool streams;   /* cores copy past their caches */
    uint32_t locks; /* enum rpm_load_memory */
};

Carried carry(const rpm_facts &facts, const Setting &setting);

using Script = std::vector<rpm_script_op>;

/* An attempt, all servers turned by @turn. Empty: it went nowhere. */
Script script_of(const Attempt &attempt, const Trace &trace, const Setting &setting,
                 const Carried &carried, uint32_t turn);

} // namespace dtx::model
#endif
