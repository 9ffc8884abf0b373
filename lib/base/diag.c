/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diag.c: the filter and the sink of diagnostic messages.
 *
 * Invariants
 *   a message that is filtered out costs one load and one compare
 *   a message reaches standard error in one write(), so that threads do not mix their lines
 *
 * The environment is read at the first message, not by a constructor: a program that emits no
 * message never pays for it, and a sink that was set before the first message stays set.
 *
 * Tests: tests/unit/base/diag_test.cpp
 */
#include "base/diag.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 512
#define NOT_READ_YET (-1)

static const char *const LEVELS[] = { "none", "error", "warning", "notice", "debug" };

/* Written by rpm_diag_sink(), which is for setup only; the threshold also by the first message. */
static atomic_int threshold = NOT_READ_YET;
static rpm_diag_fn *sink_fn;
static void *sink_context;

static int threshold_from_environment(void);
static void to_stderr(enum rpm_diag_level level, const char *text);

void rpm_diag_sink(rpm_diag_fn *sink, void *context, enum rpm_diag_level level)
{
    sink_fn = sink;
    sink_context = context;
    atomic_store(&threshold, (int)level);
}

void rpmi_diag(enum rpm_diag_level level, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list args;
    int limit = atomic_load_explicit(&threshold, memory_order_relaxed);

    if (limit == NOT_READ_YET)
        limit = threshold_from_environment();
    if ((int)level > limit || level == RPM_DIAG_NONE)
        return;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (sink_fn != NULL)
        sink_fn(sink_context, level, text);
    else
        to_stderr(level, text);
}

/* Two threads may run this at once; both compute the same threshold. */
static int threshold_from_environment(void)
{
    const char *wish = getenv("LIBRPM_DIAG");
    int found = RPM_DIAG_WARNING;
    int expected = NOT_READ_YET;

    for (int i = RPM_DIAG_NONE; wish != NULL && i <= RPM_DIAG_DEBUG; i++)
        if (strcmp(wish, LEVELS[i]) == 0)
            found = i;
    if (atomic_compare_exchange_strong(&threshold, &expected, found))
        return found;
    return expected;
}

static void to_stderr(enum rpm_diag_level level, const char *text)
{
    char line[LINE_BYTES + 32];
    int len = snprintf(line, sizeof(line), "librpm: %s: %s\n", LEVELS[level], text);

    if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* a message that cannot be written is dropped */
}
