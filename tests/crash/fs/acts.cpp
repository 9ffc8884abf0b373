// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/acts.h"

#include "core/client/files.h"
#include "core/client/locks.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/path.h"
#include "core/tree/remove.h"
#include "core/tree/rename.h"
#include "core/tree/xattrs.h"

#include <sys/stat.h>
#include <utility>

using rfs::Call;
using rfs::Client;
using rfs::kSelf;

namespace crash
{

rfs::Node node_at(Client &client, const std::string &path)
{
    return client.call_now(
        kSelf, [&](Call &call) { return rfs::resolve(call, rfs::kRootIno, path, false); });
}

uint32_t at(Client &client, const std::string &path)
{
    return node_at(client, path).ino;
}

// A path's directory, and the name in it.
static std::pair<uint32_t, std::string> place_of(Client &client, const std::string &path)
{
    size_t slash = path.rfind('/');

    return { at(client, slash == 0 ? "/" : path.substr(0, slash)), path.substr(slash + 1) };
}

static void make(Client &client, const std::string &path, rfs::Wanted wanted)
{
    auto [directory, name] = place_of(client, path);

    client.call_now(kSelf, [&, &in = directory, &as = name](Call &call) {
        return rfs::create(call, in, as, wanted);
    });
}

void make_file(Client &client, const std::string &path)
{
    make(client, path, { S_IFREG | 0644, 0, {} });
}

void make_directory(Client &client, const std::string &path)
{
    make(client, path, { S_IFDIR | 0755, 0, {} });
}

void make_link(Client &client, const std::string &path, const std::string &target)
{
    make(client, path, { S_IFLNK | 0777, 0, target });
}

void add_name(Client &client, const std::string &path, const std::string &more)
{
    uint32_t ino = at(client, path);
    auto [directory, name] = place_of(client, more);

    client.call_now(kSelf, [&, &in = directory, &as = name](Call &call) {
        return rfs::link(call, ino, in, as);
    });
}

static void free_if_gone(Client &client, const rfs::Node &node)
{
    if (node.row.links == 0)
        client.finish(rfs::free_file(client, node.ino));
}

void remove(Client &client, const std::string &path)
{
    auto [directory, name] = place_of(client, path);

    free_if_gone(client, client.call_now(kSelf, [&, &in = directory, &as = name](Call &call) {
        return rfs::remove_file(call, in, as);
    }));
}

void remove_directory(Client &client, const std::string &path)
{
    auto [directory, name] = place_of(client, path);

    free_if_gone(client, client.call_now(kSelf, [&, &in = directory, &as = name](Call &call) {
        return rfs::remove_directory(call, in, as);
    }));
}

void move(Client &client, const std::string &from, const std::string &to, uint32_t flags)
{
    auto source = place_of(client, from);
    auto target = place_of(client, to);
    auto replaced = client.call_now(kSelf, [&](Call &call) {
        return rfs::rename(call, { source.first, source.second }, { target.first, target.second },
                           flags);
    });

    if (replaced)
        free_if_gone(client, *replaced);
}

std::string text_for(const std::string &path, uint64_t offset, size_t size)
{
    std::string text;

    while (text.size() < size)
        text += path + std::to_string(offset + text.size()) + "." + std::to_string(size) + " ";
    text.resize(size);
    return text;
}

void write_to(Client &client, uint32_t ino, uint64_t offset, const std::string &text)
{
    bool append = offset == kAppend;

    (void)client.finish(rfs::write_file(client, kSelf, ino,
                                        { append ? 0 : offset, text.data(), text.size(), append }));
}

void write_to(Client &client, const std::string &path, uint64_t offset, size_t size)
{
    write_to(client, at(client, path), offset, text_for(path, offset, size));
}

std::string read_from(Client &client, uint32_t ino)
{
    rfs::Node node = client.call_now(kSelf, [&](Call &call) { return rfs::held_inode(call, ino); });
    std::string bytes(node.row.size, '?');

    for (uint64_t offset = 0; offset < bytes.size(); offset += rfs::kCallBytesMax)
        (void)client.call_now(kSelf, [&](Call &call) {
            return rfs::read(call, ino, offset, bytes.data() + offset,
                             std::min<size_t>(rfs::kCallBytesMax, bytes.size() - offset));
        });
    return bytes;
}

void cut_to(Client &client, const std::string &path, uint64_t size)
{
    (void)client.finish(rfs::resize_file(client, kSelf, at(client, path), size));
}

void allocate(Client &client, const std::string &path, int mode, uint64_t offset, uint64_t length)
{
    (void)client.finish(rfs::allocate_file(client, kSelf, at(client, path), mode, offset, length));
}

static void change(Client &client, const std::string &path, const rfs::Changes &changes)
{
    uint32_t ino = at(client, path);

    (void)client.call_now(kSelf, [&](Call &call) { return rfs::change(call, ino, changes); });
}

void change_mode(Client &client, const std::string &path, uint32_t mode)
{
    change(client, path, { .mode = mode });
}

void change_owner(Client &client, const std::string &path, uint32_t uid, uint32_t gid)
{
    change(client, path, { .uid = uid, .gid = gid });
}

void set_attribute(Client &client, const std::string &path, const std::string &name, size_t bytes)
{
    uint32_t ino = at(client, path);
    std::string value = text_for(path + name, 0, bytes);

    (void)client.call_now(kSelf,
                          [&](Call &call) { return rfs::set_xattr(call, ino, name, value, 0); });
}

void remove_attribute(Client &client, const std::string &path, const std::string &name)
{
    uint32_t ino = at(client, path);

    (void)client.call_now(kSelf, [&](Call &call) { return rfs::remove_xattr(call, ino, name); });
}

void lock(Client &client, const std::string &path, const Wish &wish)
{
    rfs::LockRow wanted{};

    wanted.start = wish.from;
    wanted.end = wish.to;
    wanted.owner = wish.owner;
    wanted.kind = wish.kind;
    wanted.type = wish.type;
    client.finish(rfs::lock_file(client, at(client, path), wanted, false, [] { return false; }));
}

void unlock_all(Client &client, const std::string &path, uint64_t owner)
{
    client.finish(rfs::drop_owner(client, at(client, path), owner));
}

} // namespace crash
