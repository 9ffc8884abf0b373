// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <csignal>
#include <ctime>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern "C" {
#include "base/clock.h"
#include "transport/shm/pulse.h"
#include <librpm/error.h>
}

namespace
{

struct Page {
    rpmi_pulse *pulse = nullptr;
    int fd = -1;
    const rpmi_pulse *seen = nullptr;

    Page()
    {
        REQUIRE(rpmi_pulse_open(&pulse, &fd) == 0);
        REQUIRE(rpmi_pulse_map(fd, &seen) == 0);
    }
    ~Page()
    {
        rpmi_pulse_unmap(seen);
        rpmi_pulse_close(pulse, fd);
    }
    bool lives_within(uint64_t ns, bool wanted) const
    {
        uint64_t until = rpmi_clock_ns() + ns;

        while (rpmi_pulse_lives(seen) != wanted && rpmi_clock_ns() < until)
            rpmi_clock_sleep_ns(100000);
        return rpmi_pulse_lives(seen);
    }
};

const uint64_t kSecond = 1000000000;

} // namespace

TEST_CASE("pulse: beats from begin to end", "[unit]")
{
    Page page;

    CHECK_FALSE(rpmi_pulse_lives(page.seen));
    rpmi_pulse_begin(page.pulse);
    CHECK(rpmi_pulse_lives(page.seen));
    rpmi_pulse_end(page.pulse);
    CHECK_FALSE(rpmi_pulse_lives(page.seen));
    CHECK((rpmi_pulse_word(page.seen) & FUTEX_OWNER_DIED) == 0);
}

TEST_CASE("pulse: stops when the thread ends without a word", "[unit]")
{
    Page page;
    std::thread thread([&] { rpmi_pulse_begin(page.pulse); });

    thread.join();
    CHECK_FALSE(page.lives_within(kSecond, false));
    CHECK((rpmi_pulse_word(page.seen) & FUTEX_OWNER_DIED) != 0);
    rpmi_pulse_begin(page.pulse); // another thread can take over
    CHECK(rpmi_pulse_lives(page.seen));
    rpmi_pulse_end(page.pulse);
}

TEST_CASE("pulse: stops when the process is killed", "[unit]")
{
    Page page;
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        rpmi_pulse_begin(page.pulse);
        for (;;)
            pause();
    }
    CHECK(page.lives_within(10 * kSecond, true));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CHECK_FALSE(page.lives_within(kSecond, false));
    CHECK((rpmi_pulse_word(page.seen) & FUTEX_OWNER_DIED) != 0);
}

TEST_CASE("pulse: whoever it is handed to cannot write to it", "[unit]")
{
    Page page;
    char byte = 1;

    CHECK(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page.fd, 0) == MAP_FAILED);
    CHECK(pwrite(page.fd, &byte, 1, 0) < 0);
    CHECK(ftruncate(page.fd, 0) != 0);
}

TEST_CASE("pulse: a page of another size is not one", "[unit]")
{
    const rpmi_pulse *pulse = nullptr;
    int fd = memfd_create("x", MFD_CLOEXEC);

    CHECK(rpmi_pulse_map(fd, &pulse) == RPM_E_PROTO);
    close(fd);
}
