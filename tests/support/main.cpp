// SPDX-License-Identifier: BSD-3-Clause
// main.cpp: the test programs' main(), Catch2's own.
#define CATCH_CONFIG_MAIN
#include "support/catch.h"
