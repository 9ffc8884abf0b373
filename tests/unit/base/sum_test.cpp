// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
#include "base/sum.h"
}
#include "sum_path.h"

#include <vector>

TEST_CASE("sum: is XXH3 as published", "[unit]")
{
    // XXH3_64bits() of no bytes, from the specification's reference vectors.
    REQUIRE(rpmi_sum("", 0) == 0x2d06800538d394c2ull);
    REQUIRE(rpmi_sum_seeded("", 0, 0) == 0x2d06800538d394c2ull);
    REQUIRE(rpmi_sum_seeded("", 0, 0x9e3779b185ebca8dull) == 0xa8a6b918b2f0364aull);
}

TEST_CASE("sum: the chosen path gives the common path's value at every length", "[unit]")
{
    check_sum_path(rpmi_sum_long);
    check_sum_path(rpmi_sum);
    check_seeded_path(rpmi_sum_seeded);
    check_seeded_path([](const void *data, size_t len, uint64_t seed) {
        rpmi_sum_stream stream;

        rpmi_sum_begin_seeded(&stream, seed);
        rpmi_sum_more(&stream, data, len / 3);
        rpmi_sum_more(&stream, static_cast<const char *>(data) + len / 3, len - len / 3);
        return rpmi_sum_end(&stream);
    });
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

TEST_CASE("sum: input in pieces gives the same value as in one, on every path", "[unit]")
{
    std::vector<unsigned char> data(5000);
    std::vector<void (*)(XXH3_state_t *, const void *, size_t)> paths = { rpmi_sum_update,
                                                                          rpmi_sum_update_base };
    std::vector<void (*)(XXH3_state_t *)> resets = { rpmi_sum_reset, rpmi_sum_reset_base };
    rpmi_rng rng;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        paths.push_back(rpmi_sum_update_avx2);
        resets.push_back(rpmi_sum_reset_avx2);
    }
    if (__builtin_cpu_supports("avx512f")) {
        paths.push_back(rpmi_sum_update_avx512);
        resets.push_back(rpmi_sum_reset_avx512);
    }
#endif

    rpmi_rng_seed(&rng, 9);
    for (unsigned char &byte : data)
        byte = static_cast<unsigned char>(rpmi_rng_next(&rng));
    for (int round = 0; round < 300; round++) {
        size_t len = rpmi_rng_below(&rng, data.size());
        rpmi_sum_stream stream;

        rpmi_sum_begin(&stream);
        if (round % 2 != 0)
            resets[rpmi_rng_below(&rng, resets.size())](&stream.state);
        for (size_t at = 0; at < len;) {
            size_t piece = 1 + rpmi_rng_below(&rng, len - at);

            paths[static_cast<size_t>(round) % paths.size()](&stream.state, &data[at], piece);
            at += piece;
        }
        CAPTURE(len);
        REQUIRE(rpmi_sum_end(&stream) == rpmi_sum(data.data(), len));
    }
}
