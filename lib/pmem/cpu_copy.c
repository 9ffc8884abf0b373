/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_copy.c: copies by plain stores, and the parts of lines at the edges of any copy.
 *
 * A part of a line is stored plainly and flushed: a non-temporal store of less than a line costs a
 * read-modify-write in the memory controller, and a flush of one line is cheaper than that.
 *
 * Invariant: no byte outside [dst, dst + len) is written.
 *
 * Tests: tests/unit/pmem/cpu_copy_test.cpp
 */
#include "pmem/cpu_copy.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "pmem/cpu_lines.h"

/* The next @n bytes of head, body and zeros; advances the source. */
static void gather_take(struct rpmi_gather *from, unsigned char *to, size_t n)
{
    size_t head = from->head_bytes < n ? from->head_bytes : n;
    size_t body = from->body_bytes < n - head ? from->body_bytes : n - head;

    if (head != 0) {
        memcpy(to, from->head, head);
        from->head += head;
        from->head_bytes -= head;
    }
    if (body != 0) {
        memcpy(to + head, from->body, body);
        from->body += body;
        from->body_bytes -= body;
    }
    if (n > head + body)
        memset(to + head + body, 0, n - head - body);
}

static void edge_write(unsigned char *dst, struct rpmi_gather *from, size_t n)
{
    gather_take(from, dst, n);
    rpmi_cpu_flush(dst, n);
}

void rpmi_edges_write(void *dst, const struct rpmi_gather *source, size_t len, rpmi_lines_fn *lines)
{
    unsigned char *at = dst;
    struct rpmi_gather from = *source;
    size_t first = (size_t)(-(uintptr_t)at & (RPMI_LINE_BYTES - 1));
    size_t middle;

    RPM_ASSERT(source->head_bytes <= RPMI_LINE_BYTES);
    RPM_ASSERT(source->head_bytes + source->body_bytes <= len);
    if (first > len)
        first = len;
    if (first != 0)
        edge_write(at, &from, first);
    at += first;
    len -= first;
    middle = len & ~(size_t)(RPMI_LINE_BYTES - 1);
    if (middle != 0) {
        struct rpmi_gather part = from;
        size_t room = middle - part.head_bytes;

        if (part.body_bytes > room)
            part.body_bytes = room;
        lines(at, &part, middle);
        from.head_bytes = 0;
        if (part.body_bytes != 0)
            from.body += part.body_bytes;
        from.body_bytes -= part.body_bytes;
        at += middle;
        len -= middle;
    }
    if (len != 0)
        edge_write(at, &from, len);
}

void rpmi_store_write(void *dst, const struct rpmi_gather *source, size_t len)
{
    struct rpmi_gather from = *source;

    RPM_ASSERT(source->head_bytes + source->body_bytes <= len);
    edge_write(dst, &from, len);
}

void rpmi_plain_write(void *dst, const void *head, size_t head_bytes, const void *body,
                      size_t body_bytes, size_t len)
{
    struct rpmi_gather from = { head, head_bytes, body, body_bytes };

    RPM_ASSERT(head_bytes + body_bytes <= len);
    gather_take(&from, dst, len);
}

void rpmi_flushed_write(void *dst, const void *head, size_t head_bytes, const void *body,
                        size_t body_bytes, size_t len)
{
    struct rpmi_gather from = { head, head_bytes, body, body_bytes };

    rpmi_store_write(dst, &from, len);
}

void rpmi_plain_frame(void *dst, const uint64_t head[3], const void *body, size_t body_bytes,
                      size_t len)
{
    rpmi_plain_write(dst, head, 3 * sizeof(head[0]), body, body_bytes, len);
}

void rpmi_back_frame(void *dst, const uint64_t head[3], const void *body, size_t body_bytes,
                     size_t len)
{
    rpmi_cpu.back_write(dst, head, 3 * sizeof(head[0]), body, body_bytes, len);
}
