// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "transport/shm/mapping.h"
}
#include "support/catch.h"

#include <librpm/error.h>
#include <librpm/facts.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static constexpr uint64_t kBytes = 1 << 20;

namespace
{

struct File {
    explicit File(uint64_t bytes = kBytes) : fd(memfd_create("lent", MFD_CLOEXEC))
    {
        REQUIRE(ftruncate(fd, static_cast<off_t>(bytes)) == 0);
    }
    ~File()
    {
        close(fd);
    }
    rpmi_mapping *get(uint64_t bytes = kBytes) const
    {
        rpmi_mapping *mapping = nullptr;

        REQUIRE(rpmi_mapping_get(fd, bytes, RPM_MEDIUM_DRAM, &mapping) == 0);
        return mapping;
    }

    int fd;
};

} // namespace

static bool is_mapped(unsigned char *base)
{
    unsigned char in_core;

    return mincore(base, 4096, &in_core) == 0;
}

TEST_CASE("mapping: connections to one server share a mapping until the last one ends", "[unit]")
{
    File file;
    rpmi_mapping *one = file.get();
    int again = dup(file.fd); // a descriptor of each connection's own
    rpmi_mapping *other = nullptr;
    unsigned char *base = rpmi_mapping_base(one);

    REQUIRE(rpmi_mapping_get(again, kBytes, RPM_MEDIUM_DRAM, &other) == 0);
    close(again);
    CHECK((other == one) == RPMI_SHARES_MAPPINGS);
    base[kBytes - 1] = 7;
    rpmi_mapping_put(one);
    CHECK(rpmi_mapping_base(other)[kBytes - 1] == 7);
    rpmi_mapping_put(other);
    CHECK_FALSE(is_mapped(base));
    rpmi_mapping_put(nullptr);
}

TEST_CASE("mapping: another file, or another length of a file, is mapped by itself", "[unit]")
{
    File file;
    File second;
    rpmi_mapping *whole = file.get();
    rpmi_mapping *half = file.get(kBytes / 2);
    rpmi_mapping *of_second = second.get();

    CHECK(half != whole);
    CHECK(of_second != whole);
    rpmi_mapping_base(whole)[0] = 1;
    CHECK(rpmi_mapping_base(half)[0] == 1);
    CHECK(rpmi_mapping_base(of_second)[0] == 0);
    rpmi_mapping_put(whole);
    CHECK(rpmi_mapping_base(half)[0] == 1);
    rpmi_mapping_put(half);
    rpmi_mapping_put(of_second);
}

TEST_CASE("mapping: a file that is shorter than the server says is refused", "[unit]")
{
    File file;
    rpmi_mapping *mapping = nullptr;

    CHECK(rpmi_mapping_get(file.fd, kBytes + 1, RPM_MEDIUM_DRAM, &mapping) == RPM_E_PROTO);
    CHECK(std::string(rpm_last_error()).find("1048576 bytes, expected are at least 1048577") !=
          std::string::npos);
    CHECK(rpmi_mapping_get(file.fd, 0, RPM_MEDIUM_DRAM, &mapping) == RPM_E_PROTO);
    CHECK(rpmi_mapping_get(-1, kBytes, RPM_MEDIUM_DRAM, &mapping) == RPM_E_PROTO);
}

// How many page faults a write to each page of some memory takes. A sanitizer would add those of
// its own memory.
__attribute__((no_sanitize("address", "thread", "undefined"))) static long
faults_of(unsigned char *base, uint64_t bytes)
{
    rusage before;
    rusage after;

    getrusage(RUSAGE_THREAD, &before);
    for (uint64_t at = 0; at < bytes; at += 4096)
        const_cast<volatile unsigned char *>(base)[at] = 1;
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
}

TEST_CASE("mapping: populated memory is written without page faults", "[unit]")
{
    constexpr uint64_t kOdd = 3 * kBytes + 8192; // its last chunk is a part of one
    File file(kOdd);
    rpmi_mapping *mapping = file.get(kOdd);
    unsigned char *base = rpmi_mapping_base(mapping);

    rpmi_mapping_populate(mapping, kBytes, kBytes);
    rpmi_mapping_populate(mapping, 2 * kBytes + 100, kOdd - 2 * kBytes - 100);
    CHECK(faults_of(base + kBytes, kOdd - kBytes) <= 8);
    CHECK(faults_of(base, kBytes) > 8);
    rpmi_mapping_put(mapping);
}
