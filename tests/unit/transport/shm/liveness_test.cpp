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
#include "transport/shm/liveness.h"
#include <librpm/error.h>
}

namespace
{

struct Page {
    rpmi_liveness *liveness = nullptr;
    int fd = -1;
    const rpmi_liveness *seen = nullptr;

    Page()
    {
        REQUIRE(rpmi_liveness_open(&liveness, &fd) == 0);
        REQUIRE(rpmi_liveness_map(fd, &seen) == 0);
    }
    ~Page()
    {
        rpmi_liveness_unmap(seen);
        rpmi_liveness_close(liveness, fd);
    }
    bool lives_within(uint64_t ns, bool wanted) const
    {
        uint64_t until = rpmi_clock_ns() + ns;

        while (rpmi_liveness_alive(seen) != wanted && rpmi_clock_ns() < until)
            rpmi_clock_sleep_ns(100000);
        return rpmi_liveness_alive(seen);
    }
};

const uint64_t kSecond = 1000000000;

} // namespace

TEST_CASE("liveness: the server is alive from begin to end", "[unit]")
{
    Page page;

    CHECK_FALSE(rpmi_liveness_alive(page.seen));
    rpmi_liveness_begin(page.liveness);
    CHECK(rpmi_liveness_alive(page.seen));
    rpmi_liveness_end(page.liveness);
    CHECK_FALSE(rpmi_liveness_alive(page.seen));
    CHECK((rpmi_liveness_word(page.seen) & FUTEX_OWNER_DIED) == 0);
}

TEST_CASE("liveness: the server is dead when its thread ends without a message", "[unit]")
{
    Page page;
    std::thread thread([&] { rpmi_liveness_begin(page.liveness); });

    thread.join();
    CHECK_FALSE(page.lives_within(kSecond, false));
    CHECK((rpmi_liveness_word(page.seen) & FUTEX_OWNER_DIED) != 0);
    rpmi_liveness_begin(page.liveness); // another thread can take over
    CHECK(rpmi_liveness_alive(page.seen));
    rpmi_liveness_end(page.liveness);
}

TEST_CASE("liveness: the server is dead when the process is killed", "[unit]")
{
    Page page;
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        rpmi_liveness_begin(page.liveness);
        for (;;)
            pause();
    }
    CHECK(page.lives_within(10 * kSecond, true));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CHECK_FALSE(page.lives_within(kSecond, false));
    CHECK((rpmi_liveness_word(page.seen) & FUTEX_OWNER_DIED) != 0);
}

TEST_CASE("liveness: a client cannot write to the page", "[unit]")
{
    Page page;
    char byte = 1;

    CHECK(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page.fd, 0) == MAP_FAILED);
    CHECK(pwrite(page.fd, &byte, 1, 0) < 0);
    CHECK(ftruncate(page.fd, 0) != 0);
}

TEST_CASE("liveness: a page of another size is refused", "[unit]")
{
    const rpmi_liveness *liveness = nullptr;
    int fd = memfd_create("x", MFD_CLOEXEC);

    CHECK(rpmi_liveness_map(fd, &liveness) == RPM_E_PROTO);
    close(fd);
}
