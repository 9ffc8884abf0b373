/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canary.c: the rule that a test has removed; none, unless a test removes one.
 *
 * Tests: tests/crash/canary_test.cpp
 */
#include "base/canary.h"

#ifdef RPMI_TESTING
enum rpmi_canary rpmi_canary_now = RPMI_CANARY_NONE;
#else
_Static_assert(RPMI_CANARY_NONE == 0, "nothing to define in the shipped library");
#endif
