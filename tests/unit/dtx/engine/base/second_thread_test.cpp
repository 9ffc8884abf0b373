// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/second_thread.h"

#include "support/catch.h"
#include "support/descriptors.h"
#include <dtx/error.h>
#include <dtx/scheduler.h>

#include <librpm.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <thread>

using dtx::SecondThread;

namespace
{

// The signals that the calling thread blocks.
uint64_t blocked()
{
    std::ifstream status("/proc/thread-self/status");
    std::string word;

    while (status >> word && word != "SigBlk:")
        ;
    status >> word;
    return std::stoull(word, nullptr, 16);
}

bool has(uint64_t mask, int signal)
{
    return (mask >> (signal - 1) & 1) != 0;
}

bool is_readable(int fd, int wait_ms)
{
    pollfd entry = { fd, POLLIN, 0 };

    return poll(&entry, 1, wait_ms) == 1;
}

} // namespace

TEST_CASE("second thread: its destructor waits for the end and leaves no descriptor", "[unit]")
{
    int before = open_descriptors();
    bool ended = false;

    {
        SecondThread thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ended = true;
        });
    }
    CHECK(ended);
    CHECK(open_descriptors() == before);
}

TEST_CASE("second thread: its descriptor is readable at the end, and finish() throws what it threw",
          "[unit]")
{
    bool throws = GENERATE(false, true);
    std::atomic<bool> may_end = false;
    std::thread::id ran_on;
    SecondThread thread([&] {
        ran_on = std::this_thread::get_id();
        while (!may_end)
            std::this_thread::yield();
        if (throws)
            throw dtx::Fenced(RPM_E_OWNED, "as it wants");
    });
    int code = 0;

    CHECK(!is_readable(thread.fd(), 50));
    may_end = true;
    CHECK(is_readable(thread.fd(), 20000));
    try {
        thread.finish();
    } catch (const dtx::Fenced &fenced) {
        code = fenced.code();
    }
    CHECK(code == (throws ? RPM_E_OWNED : 0));
    CHECK(ran_on != std::this_thread::get_id());
    CHECK(ran_on != std::thread::id());
}

TEST_CASE("second thread: it gets no signals, and the caller gets as many as before", "[unit]")
{
    uint64_t own = blocked();
    uint64_t there = 0;
    SecondThread thread([&] { there = blocked(); });

    CHECK(blocked() == own);
    thread.finish();
    CHECK(!has(own, SIGUSR1));
    CHECK(has(there, SIGUSR1));
    CHECK(has(there, SIGTERM));
    CHECK(!has(there, SIGSEGV)); // of its own faults
}

TEST_CASE("second thread: without a free descriptor it throws an error that says so", "[unit]")
{
    rlimit before;
    rlimit none;
    std::exception_ptr thrown;

    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    try {
        SecondThread thread([] {});
    } catch (...) {
        thrown = std::current_exception(); // a sanitizer needs descriptors to look at it
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(thrown);
    try {
        std::rethrow_exception(thrown);
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_NOMEM);
        CHECK(std::string(error.what()).find("no free descriptor") != std::string::npos);
    }
}
