// SPDX-License-Identifier: BSD-3-Clause
// catch.cpp: catch.h alone, which rpm_catch_header compiles once for all tests.
#include "support/catch.h"
