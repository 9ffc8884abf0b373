// SPDX-License-Identifier: BSD-3-Clause
// file.h: a history file for a test: writes, reads and changes it, with valid checksums.
#ifndef TESTS_UNIT_DTX_HISTORY_FILE_H
#define TESTS_UNIT_DTX_HISTORY_FILE_H

#include "history/checksum.h"
#include "history/reader.h"
#include "history/writer.h"
#include "story.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace story
{

class TempFile
{
  public:
    TempFile()
    {
        int fd = mkstemp(name_);

        REQUIRE(fd >= 0);
        close(fd);
    }

    ~TempFile()
    {
        unlink(name_);
    }

    TempFile(const TempFile &) = delete;
    TempFile &operator=(const TempFile &) = delete;

    std::string name() const
    {
        return name_;
    }

    std::string text() const
    {
        std::ifstream in(name_, std::ios::binary);
        std::stringstream all;

        all << in.rdbuf();
        return all.str();
    }

    void write(const std::string &text) const
    {
        std::ofstream(name_, std::ios::binary) << text;
    }

  private:
    char name_[32] = "/tmp/librpm-history-XXXXXX";
};

inline Entry entry_of(const Line &line)
{
    return { line.txn,    line.session, line.begin_ns, line.end_ns,
             line.status, line.reads,   line.writes };
}

// Records the lines of each session by that session, as a run does.
inline void record(const Story &story, const std::string &path, size_t buffer_bytes = 4096)
{
    Header header{ "a \"story\"", 7, story.fresh };
    auto recorder = dtx::history::Recorder::open(path, header, { 8, buffer_bytes });

    for (const Line &line : story.lines)
        recorder->record(entry_of(line));
    recorder->final_state(story.final_state);
    recorder->close();
}

inline std::string hex(uint64_t value, unsigned digits)
{
    std::string text(digits, '0');

    dtx::history::put_hex(text.data(), value, digits);
    return text;
}

// Appends the checksum to a line without one.
inline std::string sealed(const std::string &line)
{
    return line + ",\"sum\":\"" + hex(dtx::history::line_sum(line), 8) + "\"}\n";
}

// Appends an end line to whole lines.
inline std::string ended(const std::string &lines)
{
    dtx::history::FileSum sum;

    sum.add(lines);
    return lines + "{\"what\":\"end\",\"lines\":" +
           std::to_string(std::count(lines.begin(), lines.end(), '\n')) + ",\"checksum\":\"" +
           hex(sum.value(), 16) + "\"}\n";
}

inline std::string header_line()
{
    return sealed("{\"dtx\":1,\"what\":\"header\",\"workload\":\"w\",\"seed\":1,\"fresh\":true");
}

} // namespace story
#endif
