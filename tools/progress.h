/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h: show a program's progress on one line of the terminal, after two seconds. It prints
 * nothing if standard error is not a terminal.
 *
 * Tests: tests/tools/progress_test
 */
#ifndef RPM_TOOLS_PROGRESS_H
#define RPM_TOOLS_PROGRESS_H

#include <chrono>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace cli
{

class Progress
{
  public:
    explicit Progress(bool wanted = true)
        : shown_(wanted && isatty(STDERR_FILENO) != 0), next_(Clock::now() + kSilence)
    {
    }
    ~Progress()
    {
        clear();
    }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    /* Print the result of @text(), at most twice a second; otherwise @text is not called. */
    template <typename Text> void show(Text text)
    {
        if (!shown_ || Clock::now() < next_)
            return;
        next_ = Clock::now() + kInterval;
        fprintf(stderr, "\r%s\033[K", std::string(text()).c_str());
        fflush(stderr);
        drawn_ = true;
    }

    /* Clear the line, before other output is printed. */
    void clear()
    {
        if (drawn_)
            fprintf(stderr, "\r\033[K");
        drawn_ = false;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kSilence{ 2000 };
    static constexpr std::chrono::milliseconds kInterval{ 500 };

    bool shown_;
    bool drawn_ = false;
    Clock::time_point next_;
};

} // namespace cli
#endif
