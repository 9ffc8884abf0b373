/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region_async.h: operations on a region that are submitted now and complete later. Each ends in
 * exactly one completion, in the order of submission. On a link that completes on post an operation
 * has completed when its submission returns; on other links an event loop learns of completions by
 * rpm_conn_fd().
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
 *           @len is more than 512 KiB and the link needs a copy.
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait.
 */
RPM_MUST_CHECK int rpm_region_write_async(struct rpm_region *region, uint64_t offset,
                                          const void *data, size_t len, void *context);

/**
 * rpm_region_writev_async: submit several writes that share their flushes; exactly one completion
 * follows, and its lsn is the offset of the first.
 *
 * @region   Borrowed.
 * @patches  1..n pieces, applied in order, as rpm_region_writev() takes them. Borrowed until
 *           return, with what they point to.
 * @n        1..inflight_max; up to 32 pieces always fit into one post.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  nothing until the completion says 0, then all pieces are at the region's level; before
 *           that, any subset may be, but no piece marked RPM_PATCH_AFTER without all the pieces
 *           before it. On an error no completion follows.
 * Errors:   as rpm_region_writev(), RPM_E_BUSY as rpm_region_write_async(), RPM_E_TOOBIG when
 *           pieces and flushes do not fit into one post, or the link needs a copy and the pieces,
 *           each rounded up to a multiple of 64 bytes, are more than 512 KiB. Nothing is sent then.
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait.
 * Source:   as rpm_region_writev().
 */
RPM_MUST_CHECK int rpm_region_writev_async(struct rpm_region *region,
                                           const struct rpm_patch *patches, uint32_t n,
                                           void *context);

/**
 * rpm_region_read_async: submit a read; exactly one completion follows.
 *
 * The read sees every operation that completed before the read was submitted. Of an operation that
 * was submitted earlier and has not completed it may see all, a part or nothing.
 *
 * @region   Borrowed.
 * @offset   bytes from the start of the region.
 * @data     out, @len bytes, valid when the completion has been polled with status 0; do not read
 *           them before. Borrowed until then, or until rpm_region_close().
 * @len      bytes, at least 1.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  as rpm_region_read(). On an error no completion follows.
 * Errors:   as rpm_region_read(), RPM_E_BUSY and RPM_E_TOOBIG as rpm_region_write_async().
 * Threads:  one per conn.
 * Cost:     one copy, on a link that completes on post none; no allocation; does not wait.
 */
RPM_MUST_CHECK int rpm_region_read_async(struct rpm_region *region, uint64_t offset, void *data,
                                         size_t len, void *context);

/**
 * rpm_region_cas_async: submit a compare-and-swap; exactly one completion follows.
 *
 * @region   opened with RPM_REGION_DRAM. Borrowed.
 * @offset   bytes, multiple of 8.
 * @expect   value the word must have.
 * @desired  new value of the word if it equals @expect.
 * @found    out: the value it had, valid when the completion has been polled with status 0.
 *           Borrowed until then, or until rpm_region_close().
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  never. On an error no completion follows.
 * Errors:   as rpm_region_cas(), RPM_E_BUSY as rpm_region_write_async().
 * Threads:  one per conn; atomic against every other client of this server.
 * Cost:     no allocation; does not wait.
 * Source:   H8; lib/plan/rule_lock.c.
 */
RPM_MUST_CHECK int rpm_region_cas_async(struct rpm_region *region, uint64_t offset, uint64_t expect,
                                        uint64_t desired, uint64_t *found, void *context);

/**
 * rpm_region_faa_async: submit a fetch-and-add; exactly one completion follows.
 *
 * @region   opened with RPM_REGION_DRAM. Borrowed.
 * @offset   bytes, multiple of 8.
 * @add      added modulo 2^64.
 * @found    out: the value before, as in rpm_region_cas_async().
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  never. On an error no completion follows.
 * Errors:   as rpm_region_cas_async().
 * Threads:  one per conn; atomic against every other client of this server.
 * Cost:     no allocation; does not wait.
 * Source:   H8.
 */
RPM_MUST_CHECK int rpm_region_faa_async(struct rpm_region *region, uint64_t offset, uint64_t add,
                                        uint64_t *found, void *context);

/**
 * rpm_region_poll: reap completions, oldest first.
 *
 * The lsn of a completion is the offset of its operation; of a list of steps it is the number of
 * steps that succeeded. An operation whose completion has an error status may have happened wholly,
 * in part or not at all (rpm_steps_async() says when a list has not), and the value or bytes it was
 * to fetch are undefined. Only writes, atomics and lists with one of these end in RPM_E_FENCED.
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
