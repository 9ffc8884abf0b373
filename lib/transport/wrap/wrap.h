/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrap.h: a wrapper, a link around another link. A wrapper has a complete table of operations;
 * those that it does not change call the inner link, so wrappers stack in any order on any
 * provider.
 *
 * Invariants
 *   the outer link's facts, flags, depth, client and epoch are the inner one's
 *   closing the outer link closes the inner one
 *
 * Tests: tests/unit/transport/, tests/conform/transport_test.cpp
 */
#ifndef RPMI_WRAP_H
#define RPMI_WRAP_H

#include "transport/transport.h"

#define RPMI_WRAPS_MAX 8u

/* Embedded first in every wrapper's own struct. */
struct rpmi_wrap {
    struct rpmi_link link;
    struct rpmi_link *inner;
};

struct rpmi_wrapper {
    const char *name;
    const char *const *keys; /* URL options of its own, NULL at the end */

    /* Put it around @inner. The outer link owns @inner from then on; on failure the caller does. */
    int (*open)(const struct rpmi_url *url, struct rpmi_link *inner, struct rpmi_link **outer);
};

extern const struct rpmi_wrapper rpmi_wrap_trace; /* trace.c */
extern const struct rpmi_wrapper rpmi_wrap_count; /* count.c */
extern const struct rpmi_wrapper rpmi_wrap_fault; /* fault.c */
extern const struct rpmi_wrapper rpmi_wrap_delay; /* delay.c */

/* Add the wrappers of the URL's "wrap" option to an open link. On failure @link is the link with
 * the wrappers added so far, which the caller must close. */
int rpmi_link_wrap(const struct rpmi_url *url, struct rpmi_link **link);

/* Fill in the outer link. @ops must be complete. */
void rpmi_wrap_init(struct rpmi_wrap *wrap, const struct rpmi_transport_ops *ops,
                    struct rpmi_link *inner);

/* Copy the fields that may have changed (lost, facts, client, counts) from the inner to the outer
 * link. */
void rpmi_wrap_sync(struct rpmi_wrap *wrap);
void rpmi_wrap_sync_stats(struct rpmi_wrap *wrap);

/* An option that is a number, or @fallback. RPM_E_INVAL. */
int rpmi_wrap_number(const struct rpmi_url *url, const char *key, uint64_t fallback,
                     uint64_t *value);

const char *rpmi_op_name(uint8_t kind);

/* Operations that only call the inner link, for a wrapper's table. */
int rpmi_wrap_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link);
int rpmi_wrap_reconnect(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_wrap_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
int rpmi_wrap_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_wrap_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_wrap_watch(struct rpmi_link *link, int epoll_fd);
int rpmi_wrap_arm(struct rpmi_link *link, uint64_t *by_ns);
int rpmi_wrap_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                   uint64_t deadline_ns);
void *rpmi_wrap_stage(struct rpmi_link *link, uint64_t bytes);
void rpmi_wrap_unstage(struct rpmi_link *link, void *ptr);
const void *rpmi_wrap_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len);
uint64_t rpmi_wrap_now_ns(struct rpmi_link *link);
void rpmi_wrap_pause(struct rpmi_link *link, uint64_t ns);
void rpmi_wrap_close(struct rpmi_link *link); /* also frees the wrapper itself */

#endif
