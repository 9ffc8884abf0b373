// SPDX-License-Identifier: BSD-3-Clause
// main.cpp: main() of the test programs, from Catch2.
#define CATCH_CONFIG_MAIN
#include "support/catch.h"
