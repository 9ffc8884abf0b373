/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo_log.cc: read, trim and note, by calls of librpm that block.
 *
 * Tests: tests/unit/dtx/engine/recovery/spares_test.cpp, recover_test.cpp
 */
#include "engine/cluster/redo_log.h"

#include "engine/base/assert.h"
#include "engine/format/redo.h"
#include "engine/format/txn_number.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

/* RPM_E_TRIMMED means that a newer owner of the log has trimmed it: this session is fenced. */
static int read_check(int code)
{
    if (code == RPM_E_TRIMMED)
        throw Fenced(code,
                     "a newer owner of a coordinator's log trimmed it while this session read it");
    return check(code, "reading a coordinator's log");
}

void each_record(rpm_log *log, const std::function<void(const void *, size_t)> &callback)
{
    rpm_reader *reader = nullptr;
    rpm_record record;
    int got;

    read_check(rpm_reader_open(log, nullptr, &reader));
    try {
        while ((got = rpm_reader_next(reader, &record)) == 1)
            callback(record.data, record.len);
    } catch (...) {
        rpm_reader_close(&reader);
        throw;
    }
    rpm_reader_close(&reader);
    read_check(got);
}

void trim_all(rpm_log *log)
{
    struct rpm_log_info info = rpm_log_info_init();

    check(rpm_log_info(log, &info), "reading the state of a coordinator's log");
    check(rpm_log_trim(log, info.tail_lsn), "trimming a coordinator's log");
}

std::optional<std::vector<uint64_t>> append_note(rpm_log *log, uint32_t coordinator,
                                                 std::span<const Spare> spares)
{
    size_t at_once = (rpm_log_record_max(log) - sizeof(RedoHeader)) / sizeof(Spare);
    std::vector<unsigned char> record;
    std::vector<uint64_t> lsns;

    DTX_ASSERT(at_once > 0); /* else the loop would not end */
    for (; !spares.empty(); spares = spares.subspan(std::min(at_once, spares.size()))) {
        uint64_t lsn = 0;

        encode_redo(number_prefix(coordinator, 0, 0), {},
                    spares.first(std::min(at_once, spares.size())), record);

        int err = rpm_log_append(log, record.data(), record.size(), &lsn);

        if (err == RPM_E_FULL || err == RPM_E_BUSY)
            return std::nullopt;
        check(err, "writing a note of spare slots");
        lsns.push_back(lsn);
    }
    return lsns;
}

/* If the log has no room for the note beside the records, they go first. If this is interrupted
 * then, a vacuum finds the slots. */
std::vector<uint64_t> keep_note(rpm_log *log, uint32_t coordinator, std::span<const Spare> spares)
{
    auto lsns = append_note(log, coordinator, spares);

    if (!lsns) {
        trim_all(log);
        lsns = append_note(log, coordinator, spares);
    }
    if (!lsns || lsns->empty()) {
        trim_all(log);
        return {};
    }
    check(rpm_log_trim(log, lsns->front()), "trimming a coordinator's log");
    return *lsns;
}

} // namespace dtx
