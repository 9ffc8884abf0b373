// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace crash
{

static constexpr unsigned kSecondsMax = 60;

[[noreturn]] static void run(const std::function<std::string()> &act, int to)
{
    std::string text;

    alarm(kSecondsMax);
    try {
        text = act();
    } catch (const std::exception &error) {
        text = std::string("half: ") + error.what() + "\n";
    }
    for (size_t at = 0; at < text.size();) {
        ssize_t wrote = write(to, text.data() + at, text.size() - at);

        if (wrote <= 0)
            _exit(1);
        at += static_cast<size_t>(wrote);
    }
    _exit(0);
}

std::string in_child(const std::function<std::string()> &act)
{
    int ends[2];
    int status = 0;
    std::string text;
    char bytes[4096];

    fflush(stdout);
    if (pipe(ends) != 0)
        throw std::runtime_error("no pipe");

    pid_t child = fork();

    if (child < 0)
        throw std::runtime_error("no process");
    if (child == 0)
        run(act, ends[1]);
    close(ends[1]);
    for (ssize_t got;
         (got = read(ends[0], bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR);)
        text.append(bytes, got > 0 ? static_cast<size_t>(got) : 0);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0)
        text += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                    ? "stuck: the run does not end\n"
                    : "half: the run ended with status " + std::to_string(status) + "\n";
    return text;
}

} // namespace crash
