/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo_log.h: the records of a coordinator's log on one server, and notes: records that name the
 * coordinator's spare slots, which stay when the others are trimmed.
 *
 * Tests: tests/unit/dtx/engine/recovery/spares_test.cpp, recover_test.cpp
 */
#ifndef DTX_ENGINE_REDO_LOG_H
#define DTX_ENGINE_REDO_LOG_H

#include <dtx/read_write_set.h>

#include <librpm.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace dtx
{

/* All records of a log that was claimed, oldest first. Throws Fenced if a newer owner has trimmed
 * it meanwhile. */
void each_record(rpm_log *log, const std::function<void(const void *, size_t)> &callback);
void trim_all(rpm_log *log);
/* Append a note, one or several records, of the spare slots of a coordinator. Returns their places;
 * nullopt: the log has no room. */
std::optional<std::vector<uint64_t>> append_note(rpm_log *log, uint32_t coordinator,
                                                 std::span<const Spare> spares);
/* Leave nothing in the log but a new note. Returns the places of its records. */
std::vector<uint64_t> keep_note(rpm_log *log, uint32_t coordinator, std::span<const Spare> spares);

} // namespace dtx
#endif
