/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.cc: the stream of a file's extended attributes in its rows of the table blobs. A change
 * decodes the stream, encodes it anew, and writes the rows that differ.
 *
 * Tests: tests/unit/fs/tree/xattrs_test.cpp
 */
#include "core/tree/xattrs.h"

#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace rfs
{

static constexpr std::string_view kUser = "user.";
static constexpr std::string_view kTrusted = "trusted.";
static constexpr std::string_view kSecurity = "security.";
static constexpr std::string_view kSystem = "system.";

/* May the caller get, or with @writes set or remove, the attribute? In the order of Linux, which
 * asks for permissions first. */
static void expect_access(const Credentials &who, const InodeRow &row, std::string_view name,
                          bool writes)
{
    bool is_root = who.uid == 0;
    bool is_user = name.starts_with(kUser);
    bool is_sticky = S_ISDIR(row.mode) && (row.mode & S_ISVTX) != 0;

    if (name.starts_with(kTrusted)) {
        expect(is_root, writes ? EPERM : ENODATA);
    } else if (name.starts_with(kSecurity)) {
        expect(is_root || !writes, EPERM);
    } else if (!name.starts_with(kSystem)) {
        expect(!is_user || S_ISREG(row.mode) || S_ISDIR(row.mode), writes ? EPERM : ENODATA);
        expect(!is_user || !writes || !is_sticky || owns(who, row), EPERM);
        expect(may(who, row, writes ? kMayWrite : kMayRead), EACCES);
    }
    for (std::string_view stored : { kUser, kTrusted, kSecurity }) {
        if (!name.starts_with(stored))
            continue;
        expect(name.size() > stored.size() && name.find('\0') == name.npos, EINVAL);
        return;
    }
    throw Failure{ EOPNOTSUPP };
}

static void check_xattr_name(std::string_view name)
{
    expect(!name.empty() && name.size() <= kNameMax, ERANGE);
}

/* Awaited: the stream of a file's attributes. */
static dtx::Task<std::string> read_stream(Call &call, const Node &node)
{
    size_t bytes = node.row.xattr_bytes;
    uint32_t pieces = xattr_pieces(bytes);
    uint32_t piece = 0;
    std::string stream;

    if (bytes == 0)
        co_return stream;
    auto rows = co_await call.txn.scan(call.tables().blobs, key_of(node.ino, 0),
                                       key_of(node.ino, pieces - 1));

    need(rows.size() == pieces, file_row(node.ino), "a part of its extended attributes is missing");
    for (const auto &[key, row] : rows) {
        need(key == key_of(node.ino, piece), { "blobs", key }, "it was read twice");
        stream.append(row.bytes, std::min<size_t>(kPieceBytes, bytes - stream.size()));
        piece++;
    }
    co_return stream;
}

/* The attributes of a stream. Borrowed from it. */
static std::vector<Xattr> xattrs_in(uint32_t ino, std::string_view stream)
{
    return need(decode_xattrs(stream), { "blobs", key_of(ino, 0) },
                "a name or a length in these extended attributes is out of bounds");
}

/* Where an attribute is among others, or would be. */
static std::vector<Xattr>::iterator place_of(std::vector<Xattr> &all, std::string_view name)
{
    return std::lower_bound(
        all.begin(), all.end(), name,
        [](const Xattr &each, std::string_view wanted) { return each.name < wanted; });
}

static bool is_at(const std::vector<Xattr> &all, std::vector<Xattr>::const_iterator place,
                  std::string_view name)
{
    return place != all.end() && place->name == name;
}

static BlobRow piece_of(std::string_view stream, uint32_t piece)
{
    BlobRow row{};

    (void)stream.substr(size_t{ piece } * kPieceBytes).copy(row.bytes, kPieceBytes);
    return row;
}

/* Awaited: replaces the stream of a file's attributes, and writes its inode. */
static dtx::Task<> write_stream(Call &call, Node &node, std::string_view old,
                                std::string_view stream)
{
    uint32_t had = xattr_pieces(old.size());
    uint32_t pieces = xattr_pieces(stream.size());
    dtx::Table<BlobRow> blobs = call.tables().blobs;

    for (uint32_t piece = 0; piece < pieces; piece++) {
        BlobRow row = piece_of(stream, piece);
        bool differs = piece >= had ||
                       std::memcmp(piece_of(old, piece).bytes, row.bytes, sizeof(row.bytes)) != 0;
        bool done = true;

        if (piece >= had)
            done = co_await add_row(call, blobs, key_of(node.ino, piece), row);
        else if (differs)
            done = co_await call.txn.write(blobs, key_of(node.ino, piece), row);
        need(done, { "blobs", key_of(node.ino, piece) },
             "it does not fit the number of bytes of extended attributes in the inode");
    }
    for (uint32_t piece = pieces; piece < had; piece++) {
        bool erased = co_await call.txn.erase(blobs, key_of(node.ino, piece));

        need(erased, { "blobs", key_of(node.ino, piece) }, "it was read, but is missing now");
    }
    node.row.xattr_bytes = static_cast<uint32_t>(stream.size());
    touch_inode(call, node.row);
    co_await put(call, node);
}

dtx::Task<Node> set_xattr(Call &call, uint32_t ino, std::string_view name, std::string_view value,
                          int flags)
{
    expect((flags & ~(XATTR_CREATE | XATTR_REPLACE)) == 0, EINVAL);
    check_xattr_name(name);
    expect(value.size() <= kXattrsMax, E2BIG);

    Node node = co_await held_inode(call, ino);

    expect_access(call.who, node.row, name, true);

    std::string old = co_await read_stream(call, node);
    std::vector<Xattr> all = xattrs_in(ino, old);
    auto place = place_of(all, name);
    bool exists = is_at(all, place, name);

    expect(!exists || (flags & XATTR_CREATE) == 0, EEXIST);
    expect(exists || (flags & XATTR_REPLACE) == 0, ENODATA);
    if (exists)
        place->value = value;
    else
        all.insert(place, { name, value });
    expect(stream_bytes(all) <= kXattrsMax, ENOSPC);

    std::string stream = encode_xattrs(all);

    co_await write_stream(call, node, old, stream);
    co_return node;
}

dtx::Task<std::string> get_xattr(Call &call, uint32_t ino, std::string_view name)
{
    check_xattr_name(name);

    Node node = co_await held_inode(call, ino);

    expect_access(call.who, node.row, name, false);

    std::string stream = co_await read_stream(call, node);
    std::vector<Xattr> all = xattrs_in(ino, stream);
    auto place = place_of(all, name);

    expect(is_at(all, place, name), ENODATA);
    co_return std::string(place->value);
}

dtx::Task<std::string> list_xattrs(Call &call, uint32_t ino)
{
    Node node = co_await held_inode(call, ino);
    std::string stream = co_await read_stream(call, node);
    std::string names;

    for (const Xattr &each : xattrs_in(ino, stream)) {
        if (each.name.starts_with(kTrusted) && call.who.uid != 0)
            continue;
        names += each.name;
        names += '\0';
    }
    co_return names;
}

dtx::Task<Node> remove_xattr(Call &call, uint32_t ino, std::string_view name)
{
    check_xattr_name(name);

    Node node = co_await held_inode(call, ino);

    expect_access(call.who, node.row, name, true);

    std::string old = co_await read_stream(call, node);
    std::vector<Xattr> all = xattrs_in(ino, old);
    auto place = place_of(all, name);

    expect(is_at(all, place, name), ENODATA);
    all.erase(place);

    std::string stream = encode_xattrs(all);

    co_await write_stream(call, node, old, stream);
    co_return node;
}

} // namespace rfs
