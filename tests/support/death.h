// SPDX-License-Identifier: BSD-3-Clause
// death.h: run code in a child process and see whether an assertion of librpm aborts it.
#ifndef TESTS_SUPPORT_DEATH_H
#define TESTS_SUPPORT_DEATH_H

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// What the child wrote to standard error before it aborted; "" if it did not abort.
template <typename Body> std::string death_of(Body body)
{
    int ends[2];
    std::string said;
    char chunk[256];
    int status = 0;

    if (pipe(ends) != 0)
        return "";
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = { 0, 0 };

        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); // not Catch2's handler, which would report the case twice
        dup2(ends[1], STDERR_FILENO);
        alarm(20);
        body();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], chunk, sizeof(chunk))) > 0;)
        said.append(chunk, static_cast<size_t>(got));
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return "";
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? said : "";
}

#endif
