// SPDX-License-Identifier: BSD-3-Clause
// pipe.h: a pipe for coroutines that wait for a descriptor.
#ifndef TESTS_UNIT_DTX_ENGINE_PIPE_H
#define TESTS_UNIT_DTX_ENGINE_PIPE_H

#include "support/catch.h"

#include <fcntl.h>
#include <unistd.h>
#include <utility>

struct Pipe {
    Pipe()
    {
        REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
    }
    Pipe(const Pipe &) = delete;
    ~Pipe()
    {
        close(fds[0]);
        finish();
    }
    int end() const // to wait for and to read from
    {
        return fds[0];
    }
    void put(char c) const
    {
        if (write(fds[1], &c, 1) != 1)
            abort();
    }
    char take() const
    {
        char c = 0;

        return read(fds[0], &c, 1) == 1 ? c : '\0';
    }
    void finish()
    {
        if (fds[1] >= 0)
            close(std::exchange(fds[1], -1));
    }
    int fds[2];
};

#endif
