/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * span.h: spans: plain bytes beside the tables of a shard, for data that is too large for rows.
 *
 * A span has the same number of bytes in each shard, on all copies of it. A program writes bytes
 * that no committed row refers to yet, and then commits a row that refers to them, or reads a row
 * and the bytes that it refers to. The bytes have no version, lock or checksum, and their writes no
 * redo record: see Txn::write_span() for what that means.
 *
 * A span is divided into slabs. Each slab has a mark on all copies, which says that it has been
 * written: Cluster::restore() copies only marked slabs.
 *
 * Tests: tests/unit/dtx/engine/store/spans_test.cpp
 */
#ifndef DTX_SPAN_H
#define DTX_SPAN_H

#include <cstddef>
#include <cstdint>

namespace dtx
{

/* A span of a schema. */
struct Span {
    uint32_t number = 0;
    uint32_t slab_bytes = 0;
    uint64_t slabs = 0; /* in each shard */

    /* In each shard. */
    uint64_t bytes() const
    {
        return slab_bytes * slabs;
    }
};

/* Bytes to write from memory to a span. */
struct SpanWrite {
    Span span;
    uint32_t shard;
    uint64_t offset;  /* bytes from the start of the span in that shard */
    const void *data; /* borrowed until the write has been awaited */
    size_t bytes;
};

/* Bytes to read from a span into memory. */
struct SpanRead {
    Span span;
    uint32_t shard;
    uint64_t offset; /* bytes from the start of the span in that shard */
    void *into;      /* out; borrowed until the read has been awaited */
    size_t bytes;
    uint32_t copy = 0; /* 0: the primary; less than Txn::copies() of the shard */
};

/* A range of a span whose checksum is wanted. */
struct SpanSum {
    Span span;
    uint32_t shard;
    uint64_t offset; /* bytes from the start of the span in that shard */
    size_t bytes;    /* 1 .. kSumBytesMax */
    uint64_t seed;
    uint64_t *sum;     /* out: XXH3_64bits_withSeed() of libxxhash; borrowed until it has been
                          awaited */
    uint32_t copy = 0; /* 0: the primary; less than Txn::copies() of the shard */
};

inline constexpr size_t kSumBytesMax = 1 << 20;

} // namespace dtx
#endif
