// SPDX-License-Identifier: BSD-3-Clause
// loop_fast_path.cpp: see loop.h. The fast path past the queue of a link that completes on post.
#include "support/loop.h"

extern "C" {
#include "base/bytes.h"
#include "transport/transport.h"
}

#include <cstring>

namespace loop
{

// Entering counts as an op, so that the link can be lost there.
static int fast_enter(rpmi_link *base, uint32_t key, uint64_t bytes, bool, bool cached)
{
    Link *link = link_of(base);
    rpmi_span span = {};

    REQUIRE(link->fast_bytes == 0);
    if (!link->broken && due(link->faults.lose_op))
        link->drop();
    if (link->broken)
        return RPM_E_LOST;
    // A writer has no right to the header of a log.
    for (uint64_t first : { uint64_t(0), uint64_t(RPMI_LOG_HEADER_BYTES) }) {
        int err = first >= bytes
                      ? int(RPM_E_RANGE)
                      : rpmi_service_access(link->server->service, base->client, key, first,
                                            bytes - first, RPMI_RIGHT_WRITE, &span);

        if (err == 0) {
            link->fast_at = span.offset - first;
            link->fast_first = first;
            link->fast_bytes = bytes;
            break;
        }
        if (first != 0)
            return err;
    }
    link->fast_calls++;
    link->fast_cached = cached;
    return 0;
}

static void fast_put(rpmi_link *base, uint64_t offset, const std::vector<unsigned char> &bytes)
{
    Link *link = link_of(base);

    REQUIRE(offset >= link->fast_first);
    REQUIRE(offset + bytes.size() <= link->fast_bytes);
    memcpy(&link->server->pool.bytes[link->fast_at + offset], bytes.data(), bytes.size());
    link->dirty.emplace_back(link->fast_at + offset, bytes.size());
}

static void fast_frame(rpmi_link *base, uint64_t offset, const uint64_t head[3], const void *body,
                       uint64_t body_bytes, uint64_t len)
{
    const size_t head_bytes = 3 * sizeof(head[0]);
    std::vector<unsigned char> bytes(len);

    REQUIRE(head_bytes + body_bytes <= len);
    memcpy(bytes.data(), head, head_bytes);
    if (body_bytes != 0)
        memcpy(bytes.data() + head_bytes, body, body_bytes);
    fast_put(base, offset, bytes);
}

static void fast_body(rpmi_link *base, uint64_t offset, const void *body, uint64_t body_bytes,
                      uint64_t len)
{
    std::vector<unsigned char> bytes(len);

    REQUIRE(body_bytes <= len);
    memcpy(bytes.data(), body, body_bytes);
    fast_put(base, offset, bytes);
}

static void fast_leave(rpmi_link *base)
{
    Link *link = link_of(base);

    REQUIRE(link->fast_bytes != 0);
    link->fast_bytes = 0;
    keep_dirty(link);
}

static void fast_follow(rpmi_link *base, uint32_t)
{
    link_of(base)->follows++;
}

// Carries out one op as if it had been posted.
static int fast_op(rpmi_link *base, const rpmi_op &op)
{
    link_of(base)->fast_calls++;
    return post_synchronous(link_of(base), &op, 1) == 1 ? 0 : int(RPM_E_LOST);
}

static int fast_read(rpmi_link *base, uint32_t key, uint64_t offset, void *into, uint64_t len)
{
    rpmi_op op = {};

    op.kind = RPMI_OP_READ;
    op.key = key;
    op.offset = offset;
    op.into = into;
    op.len = len;
    return fast_op(base, op);
}

static int fast_swap(rpmi_link *base, uint32_t key, uint64_t offset, uint64_t expect,
                     uint64_t desired, uint64_t *found)
{
    rpmi_op op = {};

    op.kind = RPMI_OP_CAS;
    op.key = key;
    op.offset = offset;
    op.into = found;
    op.len = sizeof(*found);
    op.expect = expect;
    op.operand = desired;
    return fast_op(base, op);
}

static const rpmi_fast_path FAST_PATH = { fast_enter,  fast_frame, fast_body, fast_leave,
                                          fast_follow, fast_read,  fast_swap };

const rpmi_fast_path *fast_table()
{
    return &FAST_PATH;
}

} // namespace loop
