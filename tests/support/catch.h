// SPDX-License-Identifier: BSD-3-Clause
// catch.h: the macros of Catch2 version 3, also where version 2 (Debian 12) is installed.
#ifndef TESTS_SUPPORT_CATCH_H
#define TESTS_SUPPORT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Generators::from_range;
#else
#include <catch2/catch.hpp>
// Version 2 has no SKIP: print the reason and return from the test case.
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        WARN("skipped: " << __VA_ARGS__);                                                          \
        return;                                                                                    \
    } while (0)
#endif

#endif
