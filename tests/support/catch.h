// SPDX-License-Identifier: BSD-3-Clause
// catch.h: Catch2 v2 (Debian 12) or v3, by the names of v3.
#ifndef TESTS_SUPPORT_CATCH_H
#define TESTS_SUPPORT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Generators::from_range;
#else
#include <catch2/catch.hpp>
// v2 cannot skip: say so and leave the case.
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        WARN("skipped: " << __VA_ARGS__);                                                          \
        return;                                                                                    \
    } while (0)
#endif

#endif
