/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h: write a history while transactions run.
 *
 * Each session has a buffer of its own and is used by one thread at a time, so recording takes no
 * lock; a full buffer goes to the file under a mutex, in whole lines. Lines in buffers are lost if
 * the process is killed: for a run that will be killed, set buffers of 0 bytes, and record()
 * returns only after it has passed the line to the kernel.
 *
 * Tests: tests/unit/dtx/history/writer_test.cpp
 */
#ifndef DTX_HISTORY_WRITER_H
#define DTX_HISTORY_WRITER_H

#include "history/checksum.h"
#include "history/entry.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dtx::history
{

class Recorder
{
  public:
    struct Options {
        uint32_t sessions = 1;
        size_t buffer_bytes = 64 << 10; /* of each session; 0: write each line at once */
    };

    /* Creates or truncates the file. Throws Failure. */
    static std::unique_ptr<Recorder> open(const std::string &path, const Header &header,
                                          const Options &options);
    /* Without close() the file has no end line, as after a killed run. */
    ~Recorder();

    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    /* Records one attempt; only one thread at a time may use entry.session. close() reports write
     * errors. */
    void record(const Entry &entry);

    /* Records versions that were read after the run. Any thread, any number of times. */
    void final_state(std::span<const Access> objects);

    /* Write what is buffered and the end line; no session may record any more. Throws Failure if
     * anything could not be written. */
    void close();

    /* Number of lines in the file. */
    uint64_t lines() const
    {
        return lines_;
    }

  private:
    struct alignas(64) Session {
        std::string buffer;
        uint64_t lines = 0;
    };

    Recorder(int fd, std::string path, const Options &options);
    void flush(Session &session);
    void write_out(std::string_view bytes, uint64_t lines);

    int fd_;
    std::string path_;
    size_t buffer_bytes_;
    std::vector<Session> sessions_;
    std::mutex mutex_; /* protects all members below */
    FileSum sum_;
    std::atomic<uint64_t> lines_ = 0;
    int error_ = 0;
};

} // namespace dtx::history
#endif
