/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * styx.cc: functions of the kernel that touch the bytes of pages, carried out by the SoC (STYX, Ji
 * et al., USENIX ATC 2023). A thread of the host describes the page in a message and sleeps; a
 * thread of the SoC, which an interrupt wakes, fetches the page by RDMA, sleeps until it is there,
 * works on it, and answers; an interrupt wakes the thread of the host. The phases are those that
 * the paper tells apart: submission, until the message is posted; remote execution, until the SoC
 * answers; completion. That the host's thread goes to sleep takes time of its core, but delays
 * nothing.
 */
#include "chains.h"

namespace paths
{

namespace
{

const char kPreset[] = "styx";

constexpr uint64_t kPage = 4096;
constexpr uint64_t kDescriptor = 64;
constexpr uint32_t kCopy = RPM_PATH_COPY_NIC;

/* A page that is compressed to half: "2:1" is what zswap's allocator, zbud, makes of it at best. */
constexpr uint64_t kCompressed = kPage / 2;

struct Function {
    const char *name;
    const char *work;  /* number of the preset */
    uint64_t fetched;  /* bytes */
    uint64_t returned; /* a small result, or a page */
};

/* A comparison fetches both pages, one behind the other without a wait between them. */
const Function kFunctions[] = {
    { "compare", "soc_compare", 2 * kPage, 8 },
    { "checksum", "soc_checksum", kPage, 8 },
    { "compress", "soc_compress", kPage, kCompressed },
    { "decompress", "soc_decompress", kCompressed, kPage },
};

double number(const char *name)
{
    return param_ns(kPreset, name);
}

/* A message may describe several pages. */
Steps offloaded(const Function &function, uint64_t pages)
{
    return {
        in_phase(work_of(0, number("store_line")), 0),
        in_phase(step_of(RPM_CHAIN_CALL, kCopy, kDescriptor), 1),
        in_phase(wait_of(number("soc_wake")), 1),
        in_phase(step_of(RPM_CHAIN_READ, kCopy, pages * function.fetched), 1),
        in_phase(wait_of(number("soc_wake")), 1),
        in_phase(work_of(RPM_PATH_SOC, static_cast<double>(pages) * number(function.work)), 1),
        in_phase(step_of(RPM_CHAIN_REPLY, kCopy, pages * function.returned), 2),
        in_phase(work_of(0, number("host_wake")), 2),
    };
}

rpm_chain_cost cost_of(const Function &function, uint64_t pages, uint64_t seed)
{
    Group group;

    group.ways = { offloaded(function, pages) };
    group.ops = 200;
    return run_groups(kPreset, { group }, seed)[0];
}

/* The step of the message begins with its post, which is a part of the submission. */
double phase_ns(const Function &function, uint32_t phase, uint64_t seed)
{
    double post_ns = phase == 0 ? number("nic_post") : phase == 1 ? -number("nic_post") : 0;

    return ns(cost_of(function, 1, seed).phase_ps[phase]) + post_ns;
}

/* ksm by one kernel thread: it scans pages, then sleeps. */
struct Ksm {
    double scan_ns; /* of a page */
    double busy_ns; /* of a page: what a core of the host is busy with */
};

/* Sleep and pages of a scan: STYX's settings, 20 ms and 64 to 1250 pages. ksmtuned raises the
 * number to the maximum where memory is short, as it is in the experiment. */
double share_of(const Ksm &ksm)
{
    constexpr double kSleep_ns = 20e6;
    constexpr double kPages = 1250;

    return kPages * ksm.busy_ns / (kPages * ksm.scan_ns + kSleep_ns);
}

/* Lines of a page come from memory, then a core works on them. */
double from_memory_ns(const char *work, double pages)
{
    return number(work) + pages * static_cast<double>(kPage) / 64 * number("read_line");
}

/* On the host a page's checksum is 19.5 % of ksm's time, and comparisons are 36.9 % (STYX, slides).
 * So the checksum's time, which is a number of the model, gives the time of the rest, which stays
 * on the host, and how many comparisons there are. */
constexpr double kChecksumPart = 0.195;
constexpr double kComparePart = 0.369;

double host_page_ns()
{
    return from_memory_ns("page_checksum", 1) / kChecksumPart;
}

/* Of a page that ksm scans while the SoC has the bytes. */
struct Offloaded {
    double rest_ns;
    double compares_ns;
    double checksum_ns;
    double busy_ns; /* a core of the host */
};

Offloaded offloaded_ksm(uint64_t seed)
{
    rpm_chain_cost compare = cost_of(kFunctions[0], 1, seed);
    rpm_chain_cost checksum = cost_of(kFunctions[1], 1, seed);
    double rest_ns = host_page_ns() * (1 - kChecksumPart - kComparePart);
    double compares = host_page_ns() * kComparePart / from_memory_ns("page_compare", 2);
    double sleeps_ns = (1 + compares) * number("host_sleep");

    return { rest_ns, compares * ns(compare.all.mean_ps), ns(checksum.all.mean_ps),
             rest_ns + ns(checksum.thread_ps) + compares * ns(compare.thread_ps) + sleeps_ns };
}

} // namespace

double ksm_host(uint64_t)
{
    return share_of({ host_page_ns(), host_page_ns() });
}

double ksm_offloaded(uint64_t seed)
{
    Offloaded ksm = offloaded_ksm(seed);

    return share_of({ ksm.rest_ns + ksm.compares_ns + ksm.checksum_ns, ksm.busy_ns });
}

double ksm_compare_part(uint64_t seed)
{
    Offloaded ksm = offloaded_ksm(seed);

    return ksm.compares_ns / (ksm.rest_ns + ksm.compares_ns + ksm.checksum_ns);
}

double ksm_checksum_part(uint64_t seed)
{
    Offloaded ksm = offloaded_ksm(seed);

    return ksm.checksum_ns / (ksm.rest_ns + ksm.compares_ns + ksm.checksum_ns);
}

double styx_alone(uint64_t seed)
{
    return ns(cost_of(kFunctions[1], 1, seed).all.mean_ps);
}

double styx_of_eight(uint64_t seed)
{
    return ns(cost_of(kFunctions[1], 8, seed).all.mean_ps) / 8;
}

void add_styx_phases(std::vector<Number> *all)
{
    const char *const phases[] = { "submission", "execution", "completion" };

    for (const Function &function : kFunctions)
        for (uint32_t phase = 0; phase < 3; phase++)
            all->push_back({ std::string("styx/") + function.name + "/" + phases[phase],
                             [&function, phase](uint64_t seed) {
                                 return phase_ns(function, phase, seed) * 1e-3;
                             } });
}

} // namespace paths
