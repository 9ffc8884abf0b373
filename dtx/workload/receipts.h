/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receipts.h: the outcomes that a run reported to its users, in a file that outlives it: a line
 * before each transaction that writes, and another when its outcome is reported. The run continues
 * only after a line is written, so the file has the line even if the run is killed.
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

/* The file of a run, written by any number of threads. */
class Receipts
{
  public:
    /* Opens the file for appending. Throws Error. */
    explicit Receipts(const std::string &path);
    ~Receipts();
    Receipts(const Receipts &) = delete;
    Receipts &operator=(const Receipts &) = delete;

    /* Returns the number of the transaction. This and end() throw Error: a run must not report an
     * outcome that it could not write. */
    uint64_t begin(const std::string &what);
    void end(uint64_t number, Status status, const std::string &what);

  private:
    void put(const std::string &line);

    std::string path_;
    int fd_;
    uint64_t run_;
    std::atomic<uint64_t> next_ = 1;
};

/* The lines of one transaction. */
struct Receipt {
    uint64_t line = 0; /* number of its begin line */
    std::vector<std::string> begun;
    bool ended = false;
    Status status = Status::unknown;
    std::vector<std::string> reported;

    /* Was no outcome reported, or "unknown"? */
    bool open() const
    {
        return !ended || status == Status::unknown;
    }
};

/* Reads all receipts of a file, in the order of their begin lines. Ignores an incomplete last line,
 * which a killed run may leave. Throws Error that names any other malformed line. */
std::vector<Receipt> read_receipts(const std::string &path);

} // namespace dtx
#endif
