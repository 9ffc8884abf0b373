// SPDX-License-Identifier: BSD-3-Clause
// payload.h: the content of records, which names their writer, and the messages from a writer's
// pipe.
#ifndef TESTS_KILL_PAYLOAD_H
#define TESTS_KILL_PAYLOAD_H

#include <cstdint>
#include <cstring>
#include <string>

namespace kill_suite
{

// SplitMix64 (public domain, S. Vigna): one step.
inline uint64_t mix(uint64_t &state)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

const uint64_t kTag = 0x44524f4345524c4bu;
const size_t kPayloadMax = 4096;

// Each byte of a record follows from the number of its writer (life) and its number within that.
struct PayloadHead {
    uint64_t tag;
    uint32_t life;
    uint32_t seq;
    uint64_t len;
};

inline size_t payload_size(uint32_t life, uint32_t seq)
{
    uint64_t state = uint64_t{ life } << 32 | seq;
    uint64_t roll = mix(state);
    size_t most = roll % 20 == 0 ? kPayloadMax : roll % 4 == 0 ? 600 : 120;

    return sizeof(PayloadHead) + mix(state) % (most - sizeof(PayloadHead));
}

inline size_t payload_make(uint32_t life, uint32_t seq, unsigned char *to)
{
    PayloadHead head = { kTag, life, seq, payload_size(life, seq) };
    uint64_t state = uint64_t{ seq } << 32 | life;

    memcpy(to, &head, sizeof(head));
    for (size_t at = sizeof(head); at < head.len; at += 8) {
        uint64_t word = mix(state);
        memcpy(to + at, &word, head.len - at < 8 ? head.len - at : 8);
    }
    return head.len;
}

// Whether the bytes are exactly those of that writer's record.
inline bool payload_check(const void *data, size_t len, PayloadHead *head)
{
    unsigned char want[kPayloadMax];

    if (len < sizeof(*head) || len > kPayloadMax)
        return false;
    memcpy(head, data, sizeof(*head));
    return head->tag == kTag && head->len == len &&
           payload_make(head->life, head->seq, want) == len && memcmp(want, data, len) == 0;
}

enum MessageKind : uint32_t {
    kReady = 1, // lsn: where the first record goes
    kAck = 2,   // seq and lsn of a record that was acknowledged
    kTrim = 3,  // lsn: about to trim everything before it
    kResumed = 4
};

struct Message {
    uint32_t kind;
    uint32_t seq;
    uint64_t lsn;
};

// The exit codes of a worker.
enum Exit { kDone = 0, kUsage = 2, kViolation = 3, kFenced = 4, kGaveUp = 5 };

} // namespace kill_suite

#endif
