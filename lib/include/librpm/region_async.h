/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region_async.h: operations on a region that are submitted now and complete later. Each ends in
 * exactly one completion, in the order of submission.
 */
#ifndef LIBRPM_REGION_ASYNC_H
#define LIBRPM_REGION_ASYNC_H

#include <librpm/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpm_region_write_async: submit a write; exactly one completion follows.
 *
 * @region   Borrowed.
 * @offset   bytes from the start of the region.
 * @data     Borrowed until return.
 * @len      bytes, at least 1.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  nothing until the completion says 0. On an error no completion follows.
 * Errors:   as rpm_region_write(), RPM_E_BUSY when inflight_max are outstanding, RPM_E_TOOBIG when
 *           it is more than 512 KiB and the link needs a copy.
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait.
 */
RPM_MUST_CHECK int rpm_region_write_async(struct rpm_region *region, uint64_t offset,
                                          const void *data, size_t len, void *context);

/**
 * rpm_region_poll: reap completions of asynchronous writes, oldest first; lsn holds the offset.
 *
 * @region  Borrowed.
 * @done    out, room for @n.
 * @n       at most this many.
 *
 * Returns the number of completions, 0 when none is ready.
 * Errors:   RPM_E_INVAL.
 * Threads:  one per conn.
 * Cost:     does not block; no allocation.
 */
RPM_MUST_CHECK int rpm_region_poll(struct rpm_region *region, struct rpm_completion *done,
                                   uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
