// SPDX-License-Identifier: BSD-3-Clause
// sum_path.h: compares one compiled path of the checksum with the common one.
#ifndef TESTS_UNIT_BASE_SUM_PATH_H
#define TESTS_UNIT_BASE_SUM_PATH_H

extern "C" {
#include "base/rng.h"
#include "base/sum.h"
}
#include "support/catch.h"

#include <cstring>
#include <memory>
#include <vector>

inline void check_sum_path(uint64_t (*path)(const void *, size_t))
{
    std::vector<size_t> lens = { 4095, 4096, 4097, 65535, 65536, 69999 };
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 3);
    for (size_t len = 1; len < 2200; len++)
        lens.push_back(len);
    for (size_t len : lens) {
        // A heap block of exactly this size: a sanitizer detects a path that reads too far.
        std::unique_ptr<unsigned char[]> exact(new unsigned char[len]);

        for (size_t i = 0; i < len; i++)
            exact[i] = static_cast<unsigned char>(rpmi_rng_next(&rng));
        CAPTURE(len);
        REQUIRE(path(exact.get(), len) == rpmi_sum_base(exact.get(), len));
    }
}

// With a seed, and with 0, which gives the value without one.
inline void check_seeded_path(uint64_t (*path)(const void *, size_t, uint64_t))
{
    std::vector<unsigned char> data(70000);
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 4);
    for (unsigned char &byte : data)
        byte = static_cast<unsigned char>(rpmi_rng_next(&rng));
    for (size_t len : { 1, 8, 9, 128, 240, 241, 1023, 1024, 1025, 4096, 69999 }) {
        std::unique_ptr<unsigned char[]> exact(new unsigned char[len]);

        memcpy(exact.get(), data.data(), len);
        CAPTURE(len);
        REQUIRE(path(exact.get(), len, 0) == rpmi_sum_base(exact.get(), len));
        for (uint64_t seed : { uint64_t{ 1 }, uint64_t{ 5 } << 32 | 7, UINT64_MAX }) {
            REQUIRE(path(exact.get(), len, seed) == rpmi_sum_seeded_base(exact.get(), len, seed));
            REQUIRE(path(exact.get(), len, seed) != rpmi_sum_base(exact.get(), len));
        }
    }
}

#endif
