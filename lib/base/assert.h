/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.h: three kinds of assertion.
 *
 * RPM_ASSERT: invariants of the library and bugs of its caller. On in release. RPM_ASSERT_SLOW:
 * costs more than the code around it. On in the testing library only. _Static_assert: sizes of
 * every struct on the wire or on media, and relations between limits. Bytes from the network or
 * from remote memory are never asserted: the code checks and refuses them.
 */
#ifndef RPMI_ASSERT_H
#define RPMI_ASSERT_H

#if defined(__GNUC__)
#define RPMI_LIKELY(x) __builtin_expect(!!(x), 1)
#define RPMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define RPMI_LIKELY(x) (x)
#define RPMI_UNLIKELY(x) (x)
#endif

/* Internal headers are read by tests in C++, where the keyword has its other name. */
#ifdef __cplusplus
#define _Static_assert static_assert
#endif

/* Print the expression, its file and its line, then abort. */
__attribute__((noreturn, cold)) void rpmi_assert_failed(const char *expr, const char *file,
                                                        int line);

#define RPM_ASSERT(expr)                                                                           \
    (RPMI_LIKELY(expr) ? (void)0 : rpmi_assert_failed(#expr, __FILE__, __LINE__))

#ifdef RPMI_TESTING
#define RPM_ASSERT_SLOW(expr) RPM_ASSERT(expr)
#else
#define RPM_ASSERT_SLOW(expr) ((void)sizeof(expr))
#endif

#endif
