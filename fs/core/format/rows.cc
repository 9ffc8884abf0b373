/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.cc: judge rows that were read.
 *
 * Tests: tests/unit/fs/format/rows_test.cpp
 */
#include "core/format/rows.h"

#include "core/base/assert.h"
#include "core/format/xattr_stream.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace rfs
{

bool is_mode(uint32_t mode)
{
    bool typed = S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISCHR(mode) ||
                 S_ISBLK(mode) || S_ISFIFO(mode) || S_ISSOCK(mode);

    return typed && (mode & ~(uint32_t{ S_IFMT } | 07777)) == 0;
}

static const char *fault_of_size(const InodeRow &row)
{
    if (S_ISREG(row.mode))
        return row.size > kFileMax ? "it is larger than a file can be" : nullptr;
    if (S_ISDIR(row.mode))
        return nullptr;
    if (S_ISLNK(row.mode))
        return row.size == 0 || row.size > kLinkTargetMax ? "its target has not 1 to 4095 bytes"
                                                          : nullptr;
    return row.size != 0 ? "its size is not 0, but its type has none" : nullptr;
}

static const char *fault_of_blocks(const InodeRow &row)
{
    bool cut = row.cut != kNoCut;

    if (!S_ISREG(row.mode))
        return cut || row.blocks != 0 ? "it has blocks or a cut, but is no regular file" : nullptr;
    if (row.blocks > kFileBlocks)
        return "it counts more blocks than a file can have";
    if (cut && row.cut >= kFileBlocks)
        return "its cut lies behind the last block that a file can have";
    return cut && row.links != 0 && row.cut < (row.size + kBlockBytes - 1) / kBlockBytes
               ? "its cut lies before the end that its size gives"
               : nullptr;
}

const char *fault_of(const InodeRow &row)
{
    const char *fault = nullptr;

    if (!is_mode(row.mode))
        return "its mode has no type, or has bits that no mode has";
    if (S_ISDIR(row.mode) != (row.parent != 0))
        return "it is a directory without a parent, or another file with one";
    if (row.xattr_bytes > kXattrsMax)
        return "it has more bytes of extended attributes than a file can have";
    fault = fault_of_size(row);
    return fault != nullptr ? fault : fault_of_blocks(row);
}

static size_t head_bytes(size_t length)
{
    return std::min<size_t>(length, kHeadBytes);
}

void put_name(std::string_view name, NameRow &row, LongNameRow &rest)
{
    size_t head = head_bytes(name.size());

    RFS_ASSERT(!name.empty() && name.size() <= kNameMax);
    row.length = static_cast<uint8_t>(name.size());
    std::memcpy(row.head, name.data(), head);
    std::memcpy(rest.tail, name.data() + head, name.size() - head);
}

std::string name_in(const NameRow &row, const LongNameRow &rest)
{
    size_t head = head_bytes(row.length);

    return std::string(row.head, head).append(rest.tail, row.length - head);
}

bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= kNameMax && name.find('/') == name.npos &&
           name.find('\0') == name.npos && name != "." && name != "..";
}

const char *fault_of(const NameRow &row)
{
    if (row.ino == 0)
        return "it leads to file 0, which no file has as its number";
    if (row.type > 15 || !is_mode(uint32_t{ row.type } << 12))
        return "its type is not that of a file";
    return row.length == 0 ? "its length is 0" : nullptr;
}

} // namespace rfs
