/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canary.c: which rule is taken away now; none, unless a test says so.
 *
 * Tests: tests/crash/canary_test.cpp
 */
#include "base/canary.h"

#ifdef RPMI_TESTING
enum rpmi_canary rpmi_canary_now = RPMI_CANARY_NONE;
#else
_Static_assert(RPMI_CANARY_NONE == 0, "nothing to define in the shipped library");
#endif
