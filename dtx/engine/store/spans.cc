/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spans.cc: make one batch of operations from the pieces of a read or write.
 *
 * Tests: tests/unit/dtx/engine/store/spans_test.cpp
 */
#include "engine/store/spans.h"

#include "engine/base/assert.h"
#include "engine/store/operation_batch.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr uint64_t kPieceMax = 256 << 10; /* fits into one operation on any link */
static constexpr size_t kPatchesAtOnce = 32;     /* fit into one call of librpm on any link */

/* The database that a session joins again may have been made again, on empty servers. */
void Spans::forget_old_marks()
{
    const std::vector<SpanSpec> &specs = servers_.cluster().schema().spans();

    if (joined_ == servers_.joined())
        return;
    joined_ = servers_.joined();
    marked_.clear();
    for (const SpanSpec &spec : specs)
        marked_.emplace_back(spec.slabs * servers_.cluster().shards());
}

void Spans::expect_inside(const Span &span, uint32_t shard, uint64_t offset, size_t bytes) const
{
    const std::vector<SpanSpec> &specs = servers_.cluster().schema().spans();
    uint32_t shards = servers_.cluster().shards();

    if (span.number >= specs.size() || span.slab_bytes != specs[span.number].slab_bytes ||
        span.slabs != specs[span.number].slabs)
        throw Error(RPM_E_INVAL, "span " + std::to_string(span.number) + " of " +
                                     std::to_string(span.slabs) + " slabs of " +
                                     std::to_string(span.slab_bytes) +
                                     " bytes is not in the schema of this session's database; use "
                                     "what Schema::span() returned");
    if (shard >= shards)
        throw Error(RPM_E_INVAL, "shard " + std::to_string(shard) + " of span '" +
                                     specs[span.number].name + "', expected 0 to " +
                                     std::to_string(shards - 1));
    if (offset > span.bytes() || bytes > span.bytes() - offset)
        throw Error(RPM_E_RANGE, std::to_string(bytes) + " bytes at offset " +
                                     std::to_string(offset) + " of span '" +
                                     specs[span.number].name + "' end behind its " +
                                     std::to_string(span.bytes()) + " bytes");
}

void Spans::expect_copy(uint32_t shard, uint32_t copy) const
{
    if (copy >= servers_.copies(shard).size())
        throw Error(RPM_E_INVAL, "copy " + std::to_string(copy) + " of shard " +
                                     std::to_string(shard) + ", which has " +
                                     std::to_string(servers_.copies(shard).size()) +
                                     " copies on live servers");
}

/* Appends the marks of the slabs that the piece is in and that this session has not marked. */
void Spans::add_marks(const SpanWrite &piece, std::vector<rpm_patch> &patches,
                      std::vector<Slab> &fresh) const
{
    const SpanLayout &there = servers_.layout().span(piece.span.number);
    uint64_t first = piece.offset / there.slab_bytes;
    uint64_t last = (piece.offset + piece.bytes - 1) / there.slab_bytes;

    for (uint64_t slab = first; slab <= last; slab++) {
        uint64_t number = piece.shard * there.slabs + slab;

        DTX_ASSERT(slab < there.slabs);
        if (marked_[piece.span.number][number])
            continue;
        patches.push_back({ there.mark_offset(slab), &kSlabMark, sizeof(kSlabMark), 0 });
        fresh.push_back({ piece.span.number, number });
    }
}

/* Marks and bytes may reach a server in any order: no row refers to the bytes before this returns,
 * and then both are on all copies. */
Task<> Spans::write(std::span<const SpanWrite> pieces)
{
    OperationBatch batch(servers_, Via::one_sided);
    std::vector<std::vector<rpm_patch>> patches(servers_.cluster().shards());
    std::vector<Slab> fresh;
    uint64_t joined = servers_.joined();

    for (const SpanWrite &piece : pieces)
        expect_inside(piece.span, piece.shard, piece.offset, piece.bytes);
    forget_old_marks();
    for (const SpanWrite &piece : pieces) {
        uint64_t begin = servers_.layout().span(piece.span.number).offset + piece.offset;
        const unsigned char *data = static_cast<const unsigned char *>(piece.data);

        for (size_t at = 0; at < piece.bytes; at += kPieceMax)
            patches[piece.shard].push_back(
                { begin + at, data + at, std::min<size_t>(kPieceMax, piece.bytes - at), 0 });
        if (piece.bytes > 0 && !servers_.canary(kCanarySpanUnmarked))
            add_marks(piece, patches[piece.shard], fresh);
    }
    for (uint32_t shard = 0; shard < patches.size(); shard++) {
        std::span<const rpm_patch> all = patches[shard];
        size_t copies = servers_.canary(kCanarySpanPrimary) ? 1 : servers_.copies(shard).size();

        for (uint32_t copy = 0; copy < copies; copy++)
            for (size_t i = 0; i < all.size(); i += kPatchesAtOnce)
                batch.write(shard, copy, all.subspan(i, std::min(kPatchesAtOnce, all.size() - i)));
    }
    co_await batch.run();
    /* Another coroutine may have had the session join again since the last operation ended. */
    for (const Slab &slab : fresh)
        if (joined == servers_.joined())
            marked_[slab.span][slab.number] = true;
}

Task<> Spans::read(std::span<const SpanRead> pieces)
{
    OperationBatch batch(servers_, Via::one_sided);

    for (const SpanRead &piece : pieces) {
        expect_inside(piece.span, piece.shard, piece.offset, piece.bytes);
        expect_copy(piece.shard, piece.copy);
    }
    for (const SpanRead &piece : pieces) {
        uint64_t begin = servers_.layout().span(piece.span.number).offset + piece.offset;
        unsigned char *into = static_cast<unsigned char *>(piece.into);

        for (size_t at = 0; at < piece.bytes; at += kPieceMax)
            batch.read_copy(piece.shard, piece.copy, begin + at, into + at,
                            std::min<size_t>(kPieceMax, piece.bytes - at));
    }
    co_await batch.run();
}

Task<> Spans::sum(std::span<const SpanSum> pieces)
{
    OperationBatch batch(servers_, Via::call);

    for (const SpanSum &piece : pieces) {
        expect_inside(piece.span, piece.shard, piece.offset, piece.bytes);
        expect_copy(piece.shard, piece.copy);
        if (piece.bytes == 0 || piece.bytes > kSumBytesMax)
            throw Error(RPM_E_INVAL, "a sum of " + std::to_string(piece.bytes) +
                                         " bytes, expected 1 to " + std::to_string(kSumBytesMax));
    }
    for (const SpanSum &piece : pieces)
        batch.sum_copy(piece.shard, piece.copy,
                       servers_.layout().span(piece.span.number).offset + piece.offset, piece.bytes,
                       piece.seed, piece.sum);
    co_await batch.run();
}

} // namespace dtx
