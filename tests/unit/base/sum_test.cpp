// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
#include "base/sum.h"
}
#include "support/catch.h"

#include <memory>
#include <vector>

TEST_CASE("sum: is XXH3 as published", "[unit]")
{
    // XXH3_64bits() of no bytes, from the specification's reference vectors.
    REQUIRE(rpmi_sum("", 0) == 0x2d06800538d394c2ull);
}

TEST_CASE("sum: every path gives the same value at every length", "[unit]")
{
    std::vector<unsigned char> data(70000);
    std::vector<size_t> lens;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 3);
    for (unsigned char &byte : data)
        byte = static_cast<unsigned char>(rpmi_rng_next(&rng));
    for (size_t len = 1; len < 2200; len++)
        lens.push_back(len);
    lens.insert(lens.end(), { 4095, 4096, 4097, 65535, 65536, 69999 });
    for (size_t len : lens) {
        // On the heap and exact: a path that reads too far is seen by a sanitizer.
        std::unique_ptr<unsigned char[]> exact(new unsigned char[len]);
        memcpy(exact.get(), data.data() + 1, len);
        uint64_t expected = rpmi_sum_base(exact.get(), len);

        CAPTURE(len);
        REQUIRE(rpmi_sum(exact.get(), len) == expected);
        REQUIRE(rpmi_sum_long(exact.get(), len) == expected);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2"))
            REQUIRE(rpmi_sum_avx2(exact.get(), len) == expected);
        if (__builtin_cpu_supports("avx512f"))
            REQUIRE(rpmi_sum_avx512(exact.get(), len) == expected);
#endif
    }
}

TEST_CASE("sum: one flipped bit changes it", "[unit]")
{
    std::vector<unsigned char> data(1000, 0x5a);

    for (size_t len : { size_t(1), size_t(40), size_t(240), size_t(1000) }) {
        uint64_t before = rpmi_sum(data.data(), len);

        for (size_t bit = 0; bit < 8 * len; bit++) {
            data[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
            if (rpmi_sum(data.data(), len) == before)
                FAIL("bit " << bit << " of " << len << " bytes goes unseen");
            data[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        }
    }
}

TEST_CASE("sum: input in pieces gives the same value as in one", "[unit]")
{
    std::vector<unsigned char> data(5000);
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 9);
    for (unsigned char &byte : data)
        byte = static_cast<unsigned char>(rpmi_rng_next(&rng));
    for (int round = 0; round < 300; round++) {
        size_t len = rpmi_rng_below(&rng, data.size());
        rpmi_sum_stream stream;

        rpmi_sum_begin(&stream);
        for (size_t at = 0; at < len;) {
            size_t piece = 1 + rpmi_rng_below(&rng, len - at);

            rpmi_sum_more(&stream, &data[at], piece);
            at += piece;
        }
        CAPTURE(len);
        REQUIRE(rpmi_sum_end(&stream) == rpmi_sum(data.data(), len));
    }
}
