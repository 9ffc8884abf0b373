/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h: one atomic op and its result, for regions and locks.
 *
 * Tests: tests/unit/region/atomic_test.cpp
 */
#ifndef RPMI_ATOMIC_H
#define RPMI_ATOMIC_H

#include "conn/conn.h"

/* Post @op, a CAS or FAA but for len and into, and wait. @found: the word before. */
int rpmi_atomic(struct rpm_conn *conn, struct rpmi_op *op, uint64_t *found);

#endif
