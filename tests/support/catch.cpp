// SPDX-License-Identifier: BSD-3-Clause
// catch.cpp: catch.h alone, for whoever compiles it once for all.
#include "support/catch.h"
