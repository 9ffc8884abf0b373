/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h: carry out one CAS or FAA and wait for its result, for regions and locks.
 *
 * Tests: tests/unit/region/atomic_test.cpp
 */
#ifndef RPMI_ATOMIC_H
#define RPMI_ATOMIC_H

#include "conn/conn.h"

/* Post @op, a CAS or FAA of which this function sets len and into, and wait until it has completed.
 * @found: the value that the word had before; set only on 0. */
int rpmi_atomic(struct rpm_conn *conn, struct rpmi_op *op, uint64_t *found);

#endif
