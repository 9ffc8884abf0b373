/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.c: copies of structs that begin with their size, between two versions of the struct.
 *
 * Invariants
 *   no byte beyond the caller's size is ever read or written
 *   a setting that this library does not know is refused, never ignored
 *
 * Tests: tests/unit/base/opts_test.cpp
 */
#include "base/opts.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>

/* Much larger than any option struct: a greater size is that of an uninitialised struct, and
 * reading that much of the caller's memory, to look for zeros, could fault. */
#define SIZE_MAX_SANE 4096u

static int size_of(const void *theirs, size_t *size);

int rpmi_opts_in(void *ours, size_t ours_size, const void *theirs)
{
    const unsigned char *bytes = theirs;
    size_t theirs_size;
    size_t common;
    int err;

    RPM_ASSERT(ours_size >= sizeof(size_t) && ours_size <= SIZE_MAX_SANE);
    if (theirs == NULL)
        return 0;
    err = size_of(theirs, &theirs_size);
    if (err != 0)
        return err;
    for (size_t i = ours_size; i < theirs_size; i++)
        if (bytes[i] != 0)
            return rpmi_fail(RPM_E_OPTS,
                             "option struct is newer than this library: %zu bytes, %zu known, and "
                             "byte %zu is set",
                             theirs_size, ours_size, i);

    common = theirs_size < ours_size ? theirs_size : ours_size;
    memset(ours, 0, ours_size);
    memcpy(ours, theirs, common);
    memcpy(ours, &ours_size, sizeof(ours_size));
    return 0;
}

int rpmi_opts_out(void *theirs, const void *ours, size_t ours_size)
{
    unsigned char *to = theirs;
    const unsigned char *from = ours;
    size_t theirs_size;
    size_t common;
    int err = size_of(theirs, &theirs_size);

    RPM_ASSERT(ours_size >= sizeof(size_t) && ours_size <= SIZE_MAX_SANE);
    if (err != 0)
        return err;
    common = theirs_size < ours_size ? theirs_size : ours_size;
    memcpy(to + sizeof(size_t), from + sizeof(size_t), common - sizeof(size_t));
    memset(to + common, 0, theirs_size - common);
    return 0;
}

static int size_of(const void *theirs, size_t *size)
{
    RPM_ASSERT(theirs != NULL && size != NULL);
    memcpy(size, theirs, sizeof(*size));
    if (*size < sizeof(size_t) || *size > SIZE_MAX_SANE)
        return rpmi_fail(RPM_E_INVAL,
                         "struct says it has %zu bytes: set its size field with the initialiser",
                         *size);
    return 0;
}
