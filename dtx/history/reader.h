/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h: read a history from its file, a line at a time.
 *
 * The reader accepts exactly the form of FORMAT.md, so it reports a changed line with its number:
 * by the form, the checksum of the line, or that of the end line. Memory: one block of the file.
 *
 * Tests: tests/unit/dtx/history/reader_test.cpp
 */
#ifndef DTX_HISTORY_READER_H
#define DTX_HISTORY_READER_H

#include "history/entry.h"

#include <string>

namespace dtx::history
{

/* Receives the lines that were read. A function refuses a line by returning a text that says why.
 */
class Sink
{
  public:
    virtual ~Sink() = default;
    virtual void header(const Header &header) = 0;
    virtual std::string entry(const Entry &entry) = 0;
    virtual std::string final_state(std::span<const Access> objects) = 0;
};

struct ReadResult {
    uint64_t lines = 0;
    uint64_t bytes = 0;
    bool ended = false; /* the file has its end line; false only if @partial */
};

/* Read @path into @sink. @partial: a run that was killed, without an end line and perhaps with a
 * piece of a last line, which is ignored. Throws Failure, "PATH:LINE: what is wrong". */
ReadResult read_history(const std::string &path, bool partial, Sink &sink);

} // namespace dtx::history
#endif
