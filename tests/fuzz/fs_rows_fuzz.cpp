// SPDX-License-Identifier: BSD-3-Clause
// fs_rows_fuzz.cpp: rows of a volume of fs, as a damaged or malicious server may return them. The
// first byte selects a decoder. What it accepts is within the bounds on which calls rely, and of
// pointers, streams and sizes it is what the encoder makes of the decoded values.
#include "fuzz.h"

#include "core/format/keys.h"
#include "core/format/pointer.h"
#include "core/format/rows.h"
#include "core/format/sizes.h"
#include "core/format/xattr_stream.h"
#include <dtx/error.h>

#include <algorithm>
#include <librpm.h>
#include <string>
#include <sys/stat.h>

template <class Row> static Row row_of(const uint8_t *data, size_t size)
{
    Row row{};

    if (size > 0)
        memcpy(&row, data, std::min(size, sizeof(row)));
    return row;
}

static void inode(const uint8_t *data, size_t size)
{
    auto row = row_of<rfs::InodeRow>(data, size);
    const char *fault = rfs::fault_of(row);
    uint64_t end = (row.size + rfs::kBlockBytes - 1) / rfs::kBlockBytes;

    if (fault != nullptr) {
        FUZZ_CHECK(fault[0] != '\0');
        return;
    }
    FUZZ_CHECK(rfs::is_mode(row.mode) && row.mode <= 0177777);
    FUZZ_CHECK(S_ISDIR(row.mode) == (row.parent != 0));
    FUZZ_CHECK(rfs::xattr_pieces(row.xattr_bytes) <= rfs::kFirstTargetPiece);
    if (S_ISREG(row.mode)) {
        FUZZ_CHECK(row.size <= rfs::kFileMax && end <= rfs::kFileBlocks);
        FUZZ_CHECK(row.blocks <= rfs::kFileBlocks);
        FUZZ_CHECK(row.cut == rfs::kNoCut || row.cut < rfs::kFileBlocks);
        FUZZ_CHECK(row.links == 0 || row.cut >= end);
    } else {
        FUZZ_CHECK(row.blocks == 0 && row.cut == rfs::kNoCut);
        FUZZ_CHECK(S_ISDIR(row.mode) || row.size <= rfs::kLinkTargetMax);
        FUZZ_CHECK(!S_ISLNK(row.mode) || row.size != 0);
    }
}

static void name(const uint8_t *data, size_t size)
{
    size_t first = std::min(size, sizeof(rfs::NameRow));
    auto row = row_of<rfs::NameRow>(data, first);
    auto rest = row_of<rfs::LongNameRow>(data + first, size - first);
    rfs::NameRow again{};
    rfs::LongNameRow rest_again{};

    if (rfs::fault_of(row) != nullptr)
        return;

    std::string found = rfs::name_in(row, rest);
    uint64_t key = rfs::first_name_key(row.ino, found, static_cast<uint8_t>(rest.tail[0]));

    FUZZ_CHECK(row.ino != 0 && found.size() == row.length);
    FUZZ_CHECK(rfs::upper_half(key) == row.ino && key % rfs::kCollisions == 0);
    rfs::put_name(found, again, rest_again);
    FUZZ_CHECK(rfs::name_in(again, rest_again) == found);
    FUZZ_CHECK(memcmp(again.head, row.head, std::min<size_t>(found.size(), rfs::kHeadBytes)) == 0);
    if (rfs::is_name(found))
        FUZZ_CHECK(found.find('/') == found.npos && strlen(found.c_str()) == found.size());
}

static void pointer(const uint8_t *data, size_t size)
{
    auto found = row_of<rfs::Pointer>(data, size);
    uint32_t shards = size > 16 ? data[16] + 1u : 1;
    uint64_t blocks = size > 17 ? 1ull << data[17] % 41 : 512;

    if (!rfs::is_sound(found, shards, blocks))
        return;
    if (found.is_hole()) {
        FUZZ_CHECK(found.sum == 0);
        return;
    }

    rfs::Pointer again = rfs::point_to(found.shard(), found.block(),
                                       found.is_unwritten() ? rfs::Pointer::kUnwritten : 0);

    FUZZ_CHECK(again.place == found.place);
    FUZZ_CHECK(found.shard() < shards && found.block() < blocks);
    FUZZ_CHECK(!found.is_unwritten() || found.sum == 0);
}

static void xattrs(const uint8_t *data, size_t size)
{
    size = std::min(size, rfs::kXattrsMax);

    auto bytes = fuzz_copy(data, size, size); // so that a read behind it is found
    std::string_view stream(reinterpret_cast<const char *>(bytes.get()), size);
    auto attributes = rfs::decode_xattrs(stream);

    if (attributes)
        FUZZ_CHECK(rfs::encode_xattrs(*attributes) == stream);
}

static void sizes(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);

    try {
        rfs::Sizes found = rfs::Sizes::of_text("fuzzed", text);

        FUZZ_CHECK(found.text() == text && found.fit());
        FUZZ_CHECK(found.blocks() - 1 <= rfs::Pointer::kBlockMost);
    } catch (const dtx::Error &error) {
        FUZZ_CHECK(error.code() == RPM_E_FOREIGN);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(const uint8_t *, size_t) = { inode, name, pointer, xattrs,
                                                                 sizes };

    if (size > 0)
        decoders[data[0] % std::size(decoders)](data + 1, size - 1);
    return 0;
}
