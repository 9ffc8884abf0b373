/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits.h: the maxima and fixed sizes of the library; relations between them are asserted.
 */
#ifndef RPMI_LIMITS_H
#define RPMI_LIMITS_H

#include "base/assert.h"

#define RPMI_ERRNO_MAX 4095    /* no system has a higher errno; statuses in messages are 0..-this */
#define RPMI_LINE_BYTES 64u    /* CPU cache line, PCIe data word, unit of a frame */
#define RPMI_XPLINE_BYTES 256u /* media line of 3D XPoint */
#define RPMI_PAGE_BYTES 4096u

#define RPMI_FRAME_HEADER_BYTES 24u
#define RPMI_RECORD_MAX ((1u << 24) - 1024u) /* length field is 24 bits wide */

#define RPMI_POOL_BYTES_MIN (64u * 1024u)
/* Objects that a new pool has room for: one for each PER_ENTRY bytes, within the limits. */
#define RPMI_POOL_BYTES_PER_ENTRY (64u * 1024u)
#define RPMI_POOL_ENTRIES_MIN 128u
#define RPMI_POOL_ENTRIES_MAX 4096u
#define RPMI_DRAM_ENTRIES 64u        /* DRAM regions and lock tables of one server */
#define RPMI_LOG_HEADER_BYTES 4096u  /* in front of a log's ring */
#define RPMI_LOG_GUARDED_BYTES 4032u /* of these, only the server writes */
#define RPMI_LOG_CAPACITY_MIN 4096u
#define RPMI_COPIES_MAX 16u /* members of a set of logs */
/* A log created without a size gets this share of the pool, at most DEFAULT_MAX, halved until it
 * fits into a free gap, but not below DEFAULT_MIN. */
#define RPMI_LOG_DEFAULT_SHARE 8u
#define RPMI_LOG_DEFAULT_MAX (64u << 20)
#define RPMI_LOG_DEFAULT_MIN (64u << 10)

#define RPMI_CLIENTS_MAX 1024u
#define RPMI_KEYS_MAX 256u   /* keys granted to one client at once */
#define RPMI_OWNERS_MAX 255u /* logs and regions open on one connection */

#define RPMI_DEPTH_DEFAULT 256u /* ops outstanding on one link */
#define RPMI_DEPTH_MAX 4096u
#define RPMI_INFLIGHT_DEFAULT 256u /* appends outstanding on one log */
#define RPMI_INFLIGHT_MAX 65536u
#define RPMI_PLAN_OPS_MAX 6u   /* ops that one append can turn into */
#define RPMI_BATCH_OPS_MAX 64u /* ops posted at once */

#define RPMI_BACKING_MAX 32u   /* devices below a pool's file, at all levels together */
#define RPMI_BACKING_PATH 512u /* longest path that is read to find them */

#define RPMI_TIMEOUT_DEFAULT_US 5000000u
#define RPMI_SPIN_NS 50000u /* busy wait before sleeping; see lib/transport/README.md */

_Static_assert(RPMI_RECORD_MAX + RPMI_FRAME_HEADER_BYTES < (1u << 24), "length field");
_Static_assert(RPMI_XPLINE_BYTES % RPMI_LINE_BYTES == 0, "lines nest");
_Static_assert(RPMI_PLAN_OPS_MAX <= RPMI_BATCH_OPS_MAX, "a plan fits one post");
_Static_assert(RPMI_BATCH_OPS_MAX <= RPMI_DEPTH_DEFAULT, "a post fits the queue");

#endif
