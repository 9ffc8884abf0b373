// SPDX-License-Identifier: BSD-3-Clause
// readers.h: an open reader of a log.
#ifndef TESTS_UNIT_LOG_READERS_H
#define TESTS_UNIT_LOG_READERS_H

#include "unit/log/kinds.h"

struct Reader {
    rpm_reader *reader = nullptr;

    Reader() = default;
    Reader(const Reader &) = delete;
    explicit Reader(rpm_log *log, uint64_t from = 0, uint32_t level = 0)
    {
        REQUIRE(open(log, from, level) == 0);
    }
    ~Reader()
    {
        rpm_reader_close(&reader);
    }
    int open(rpm_log *log, uint64_t from = 0, uint32_t level = 0)
    {
        rpm_reader_opts opts = rpm_reader_opts_init();

        opts.from_lsn = from;
        opts.level = level;
        return rpm_reader_open(log, &opts, &reader);
    }
    // The payload of the next record; "" at the tail, the name of the error on an error.
    std::string next()
    {
        rpm_record record;
        int found = rpm_reader_next(reader, &record);

        if (found == 1)
            return std::string(static_cast<const char *>(record.data), record.len);
        return found == 0 ? "" : rpm_error_name(found);
    }
};

#endif
