/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h: records from a file descriptor: lines, newline included, or pieces of a fixed size. A
 * file comes back byte for byte when its records are joined.
 *
 * Tests: tests/tools/log_test
 */
#ifndef RPM_TOOLS_LOG_INPUT_H
#define RPM_TOOLS_LOG_INPUT_H

#include <cstdint>
#include <string>
#include <vector>

namespace logtool
{

class Input
{
  public:
    /* @path "-": standard input. @record_bytes 0: lines. */
    Input(const std::string &path, uint64_t record_bytes);
    ~Input();
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;

    /* Read the next record of at most @max bytes; a longer line is a failure. False at the end, or
     * if the user asked to stop. */
    bool next(std::string &record, uint64_t max);

    /* Would next() return without waiting? */
    bool ready();

    /* Is the input a terminal, where progress output would mix with the user's text? */
    bool is_terminal() const;

    /* The number of records returned so far. */
    uint64_t index() const
    {
        return index_;
    }

  private:
    bool fill();
    bool readable(int timeout_ms) const;
    size_t find_end() const;

    int fd_;
    bool owned_;
    bool eof_ = false;
    uint64_t record_bytes_;
    uint64_t index_ = 0;
    std::vector<char> buffer_;
    size_t begin_ = 0; /* first byte of the next record */
    size_t end_ = 0;
};

} // namespace logtool
#endif
