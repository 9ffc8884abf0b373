/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receipts.h: the outcomes that a run reported to its users, in a file that outlives it: a line
 * before each transaction that writes, and another when its outcome is reported. Each is written
 * before the run continues, so the file has it even if the run is killed.
 *
 * The lines of several runs stand in one file:
 *
 *   RUN.NUMBER begin WHAT...
 *   RUN.NUMBER end committed|aborted|unknown WHAT...
 *
 * Tests: tests/unit/dtx/workload/receipts_test.cpp
 */
#ifndef DTX_WORKLOAD_RECEIPTS_H
#define DTX_WORKLOAD_RECEIPTS_H

#include <dtx/session.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

/* Written by any number of threads. */
class Receipts
{
  public:
    /* Adds to the file. Throws Error. */
    explicit Receipts(const std::string &path);
    ~Receipts();
    Receipts(const Receipts &) = delete;
    Receipts &operator=(const Receipts &) = delete;

    /* Returns its number. This and end() throw Error: an outcome that cannot be written must not be
     * reported. */
    uint64_t begin(const std::string &what);
    void end(uint64_t number, Status status, const std::string &what);

  private:
    void put(const std::string &line);

    std::string path_;
    int fd_;
    uint64_t run_;
    std::atomic<uint64_t> next_ = 1;
};

/* One transaction, as a file has it. */
struct Receipt {
    uint64_t line = 0; /* of its begin */
    std::vector<std::string> begun;
    bool ended = false;
    Status status = Status::unknown;
    std::vector<std::string> told;

    /* No caller was told its outcome. */
    bool open() const
    {
        return !ended || status == Status::unknown;
    }
};

/* All of a file, in the order of their begins. A last line that is cut short was not written to its
 * end by a run that was killed. Throws Error that names any other line that is none. */
std::vector<Receipt> read_receipts(const std::string &path);

} // namespace dtx
#endif
