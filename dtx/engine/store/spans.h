/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spans.h: a session's reads, sums and writes of spans.
 *
 * A write sets the marks of its slabs in the same round trip, unless this session has set them
 * since it joined. A session must not rely on a mark that it finds: its writer may have died before
 * the mark was on all copies, and a later restore from such a copy would leave the slab out.
 *
 * Tests: tests/unit/dtx/engine/store/spans_test.cpp
 */
#ifndef DTX_ENGINE_SPANS_H
#define DTX_ENGINE_SPANS_H

#include "engine/cluster/servers.h"
#include <dtx/span.h>
#include <dtx/task.h>

#include <cstdint>
#include <span>
#include <vector>

namespace dtx
{

/* A mark of a slab that has been written; 0: it has not. */
inline constexpr uint64_t kSlabMark = 0x3142414c53585444; /* "DTXSLAB1" */

class Spans
{
  public:
    explicit Spans(Servers &servers) : servers_(servers) {}
    Spans(const Spans &) = delete;
    Spans &operator=(const Spans &) = delete;

    /* Awaited: the pieces are on all copies, durable. Throws Fenced, Error. */
    Task<> write(std::span<const SpanWrite> pieces);
    /* Awaited: the pieces have been read. Throws Fenced, Error. */
    Task<> read(std::span<const SpanRead> pieces);
    /* Awaited: the pieces have been summed. Throws Fenced; Error, RPM_E_NOCAP if a server is too
     * old. */
    Task<> sum(std::span<const SpanSum> pieces);

  private:
    struct Slab {
        uint32_t span;
        uint64_t number; /* of all shards: those of shard 0 first */
    };

    void forget_old_marks();
    void expect_inside(const Span &span, uint32_t shard, uint64_t offset, size_t bytes) const;
    void expect_copy(uint32_t shard, uint32_t copy) const;
    void add_marks(const SpanWrite &piece, std::vector<rpm_patch> &patches,
                   std::vector<Slab> &fresh) const;

    Servers &servers_;
    uint64_t joined_ = 0;                   /* when marked_ was begun */
    std::vector<std::vector<bool>> marked_; /* by span: slabs that this session has marked */
};

} // namespace dtx
#endif
