// SPDX-License-Identifier: BSD-3-Clause
// The instructions of the arm64 flush. An instruction that cleans a line of a page without access
// rights faults, so a signal handler that skips it can record each instruction and its address.
#if defined(__aarch64__)
#include "support/catch.h"

extern "C" {
#include "pmem/cpu_lines.h"
}
#include <asm/hwcap.h>
#include <csignal>
#include <cstring>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace
{

// Restores the flush that the library chose when a case ends.
struct RestoreChoice {
    ~RestoreChoice()
    {
        rpmi_cpu_choose(RPMI_COPY_KINDS);
    }
};

constexpr uint32_t kCvap = 0xd50b7c20;
constexpr uint32_t kCvadp = 0xd50b7d20;
constexpr uint32_t kDsbSy = 0xd5033f9f;
constexpr uint32_t kRet = 0xd65f03c0;
constexpr size_t kMost = 4096;

struct Clean {
    uint32_t instruction; // without its register
    uintptr_t address;
};
Clean cleans[kMost];
volatile size_t cleans_n;

void step_over(int, siginfo_t *info, void *raw)
{
    ucontext_t *context = static_cast<ucontext_t *>(raw);
    uint32_t instruction;

    memcpy(&instruction, reinterpret_cast<void *>(context->uc_mcontext.pc), sizeof(instruction));
    if (cleans_n == kMost || ((instruction & ~31u) != kCvap && (instruction & ~31u) != kCvadp))
        _exit(3); // another fault: the test cannot continue
    cleans[cleans_n] = { instruction & ~31u, reinterpret_cast<uintptr_t>(info->si_addr) };
    cleans_n = cleans_n + 1;
    context->uc_mcontext.pc += sizeof(instruction);
}

// Pages without access rights.
class Forbidden
{
  public:
    Forbidden()
        : base(static_cast<unsigned char *>(
              mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        struct sigaction action = {};

        REQUIRE(base != MAP_FAILED);
        action.sa_sigaction = step_over;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &before_);
        cleans_n = 0;
    }
    ~Forbidden()
    {
        sigaction(SIGSEGV, &before_, nullptr);
        munmap(base, kBytes);
    }
    static constexpr size_t kBytes = 16 * 4096;
    unsigned char *const base;

  private:
    struct sigaction before_;
};

uintptr_t clean_bytes()
{
    uint64_t ctr;

    __asm__("mrs %0, ctr_el0" : "=r"(ctr));
    return uintptr_t{ 4 } << ((ctr >> 16) & 15);
}

// Checks that one kind of instruction cleaned every line of [ptr, ptr + len), once and in order.
void check_cleans(const unsigned char *ptr, size_t len, uint32_t instruction)
{
    uintptr_t step = clean_bytes();
    uintptr_t at = reinterpret_cast<uintptr_t>(ptr) & ~(step - 1);
    uintptr_t end = reinterpret_cast<uintptr_t>(ptr) + len;

    for (size_t i = 0; i < cleans_n; i++, at += step) {
        REQUIRE(at < end);
        REQUIRE(cleans[i].instruction == instruction);
        REQUIRE(cleans[i].address == at);
    }
    REQUIRE(at >= end);
}

} // namespace

TEST_CASE("cpu_arm64: the HWCAP flags of the kernel select the flush", "[unit]")
{
    RestoreChoice restore;

    CHECK_FALSE(rpmi_cpu_flush_arm64(0, 0));
    CHECK_FALSE(rpmi_cpu.can_flush);
    CHECK_FALSE(rpmi_cpu_flush_arm64(~static_cast<unsigned long>(HWCAP_DCPOP),
                                     ~static_cast<unsigned long>(HWCAP2_DCPODP)));
    CHECK(rpmi_cpu_flush_arm64(HWCAP_DCPOP, 0));
    CHECK(std::string(rpmi_cpu.flush_name) == "dc cvap");
    CHECK(rpmi_cpu_flush_arm64(HWCAP_DCPOP, HWCAP2_DCPODP));
    CHECK(std::string(rpmi_cpu.flush_name) == "dc cvadp");
    rpmi_cpu_choose(RPMI_COPY_KINDS);
    CHECK(rpmi_cpu.can_flush == ((getauxval(AT_HWCAP) & HWCAP_DCPOP) != 0));
    CHECK((rpmi_cpu.can_flush || std::string(rpmi_cpu.flush_name) == "none"));
}

TEST_CASE("cpu_arm64: a flush cleans every line of its range once, and no other", "[unit]")
{
    static const struct {
        unsigned long hwcap, hwcap2;
        uint32_t instruction;
    } kinds[] = { { HWCAP_DCPOP, 0, kCvap }, { HWCAP_DCPOP, HWCAP2_DCPODP, kCvadp } };
    RestoreChoice restore;

    for (const auto &kind : kinds) {
        if ((getauxval(AT_HWCAP) & kind.hwcap) != kind.hwcap ||
            (getauxval(AT_HWCAP2) & kind.hwcap2) != kind.hwcap2) {
            WARN("this CPU has not both of DC CVAP and DC CVADP");
            continue;
        }
        REQUIRE(rpmi_cpu_flush_arm64(kind.hwcap, kind.hwcap2));
        for (size_t skew : { 0, 1, 8, 63, 64, 4090 })
            for (size_t len : { 1, 8, 63, 64, 65, 128, 4096, 20000 }) {
                CAPTURE(skew, len);
                Forbidden pages;

                rpmi_cpu_flush(pages.base + skew, len);
                check_cleans(pages.base + skew, len, kind.instruction);
            }
    }
}

TEST_CASE("cpu_arm64: a fence is a DSB, which completes what was cleaned", "[unit]")
{
    const uint32_t *code = reinterpret_cast<const uint32_t *>(&rpmi_cpu_fence);
    bool found = false;

    for (size_t i = 0; i < 16 && code[i] != kRet; i++)
        found = found || code[i] == kDsbSy;
    CHECK(found);
}
#endif
