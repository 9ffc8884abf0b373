// SPDX-License-Identifier: BSD-3-Clause
// region.h: an open region and its bytes at the server.
#ifndef TESTS_UNIT_REGION_REGION_H
#define TESTS_UNIT_REGION_REGION_H

#include "unit/log/kinds.h"

// The user pointer of request @n.
inline void *number(uint64_t n)
{
    return reinterpret_cast<void *>(static_cast<uintptr_t>(n));
}

struct Region {
    rpm_region *region = nullptr;

    Region() = default;
    Region(const Region &) = delete;
    Region(rpm_conn *conn, const char *name, uint64_t bytes, uint32_t slot_bytes = 0,
           uint32_t flags = 0, uint32_t level = 0)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE | flags;
        opts.bytes = bytes;
        opts.slot_bytes = slot_bytes;
        opts.level = level;
        REQUIRE(open(conn, name, &opts) == 0);
    }
    ~Region()
    {
        close();
    }
    int open(rpm_conn *conn, const char *name, const rpm_region_opts *opts)
    {
        return rpm_region_open(conn, name, opts, &region);
    }
    void close()
    {
        rpm_region_close(&region);
    }
    operator rpm_region *() const
    {
        return region;
    }
    int write(uint64_t offset, const std::string &data)
    {
        return rpm_region_write(region, offset, data.data(), data.size());
    }
    std::string read(uint64_t offset, size_t len)
    {
        std::string data(len, '\0');

        REQUIRE(rpm_region_read(region, offset, &data[0], len) == 0);
        return data;
    }
    std::vector<rpm_completion> reap(size_t n, uint32_t polls = 1000)
    {
        std::vector<rpm_completion> all;

        for (uint32_t i = 0; i < polls && all.size() < n; i++) {
            rpm_completion done[8];
            int count = rpm_region_poll(region, done, 8);

            REQUIRE(count >= 0);
            all.insert(all.end(), done, done + count);
        }
        return all;
    }
};

#endif
