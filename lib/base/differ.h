/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * differ.h: where two ranges of bytes first differ.
 *
 * Tests: tests/unit/base/differ_test.cpp
 */
#ifndef RPMI_DIFFER_H
#define RPMI_DIFFER_H

#include <stdint.h>

/* The number of bytes in front of the first one that differs; @len: all are the same. The ranges
 * may overlap. Other CPUs may change them meanwhile: then the result, which is at most @len, is
 * that of a mixture of old and new bytes. */
uint64_t rpmi_differ_at(const void *one, const void *other, uint64_t len);

#endif
