// SPDX-License-Identifier: BSD-3-Clause
// packed.h: bytes to compress, and what the bytes of a segment give.
#ifndef TESTS_UNIT_TIER_PACKED_H
#define TESTS_UNIT_TIER_PACKED_H

#include "support/catch.h"

extern "C" {
#include "tier/codec.h"
}

#include <memory>
#include <string>
#include <vector>

inline const std::vector<const rpmi_codec *> ALL = { &rpmi_codec_lz4, &rpmi_codec_zstd };

inline std::vector<const rpmi_codec *> that_are(bool built)
{
    std::vector<const rpmi_codec *> some;

    for (const rpmi_codec *codec : ALL)
        if ((codec->lacks == nullptr) == built)
            some.push_back(codec);
    return some;
}

inline const std::vector<const rpmi_codec *> BUILT = that_are(true);
inline const std::vector<const rpmi_codec *> LACKING = that_are(false);

inline std::string last_error()
{
    return rpm_last_error();
}

inline std::string random_bytes(size_t bytes)
{
    std::string some(bytes, 0);
    uint32_t state = 1;

    for (char &byte : some) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<char>(state >> 24);
    }
    return some;
}

// Random bytes, with others that repeat between them.
inline std::string compressible(size_t bytes)
{
    std::string some = random_bytes(bytes);

    for (size_t i = 0; i < bytes; i++)
        if (i % 64 >= 8)
            some[i] = 'x';
    return some;
}

inline rpmi_segment segment_of(uint32_t codec, size_t raw, size_t stored)
{
    rpmi_segment segment = {};

    segment.codec = codec;
    segment.raw_bytes = raw;
    segment.stored_bytes = stored;
    return segment;
}

// The frames of a segment that has @stored; "": it is refused. Both lie in blocks of their size, so
// that a sanitizer detects a byte read or written behind one.
inline std::string unpacked(rpmi_segment segment, const std::vector<char> &stored)
{
    std::unique_ptr<char[]> from(new char[stored.size()]);
    std::unique_ptr<char[]> raw(new char[segment.raw_bytes]);

    std::copy(stored.begin(), stored.end(), from.get());
    segment.stored_bytes = stored.size();
    int err = rpmi_codec_unpack(&segment, from.get(), raw.get());
    CHECK((err == 0 || err == RPM_E_CORRUPT));
    return err == 0 ? std::string(raw.get(), segment.raw_bytes) : "";
}

#endif
