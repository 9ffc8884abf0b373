/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.cc: one name after another, with what is left of the path.
 *
 * Tests: tests/unit/fs/tree/path_test.cpp
 */
#include "core/tree/path.h"

#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/permission.h"

#include <cerrno>
#include <sys/stat.h>

namespace rfs
{

/* Takes the first name from a path. */
static std::string take_name(std::string &path)
{
    size_t begin = path.find_first_not_of('/');
    size_t end = begin == path.npos ? path.npos : path.find('/', begin);
    std::string name = begin == path.npos ? "" : path.substr(begin, end - begin);

    path = end == path.npos ? "" : path.substr(end);
    return name;
}

/* Awaited: the file that a name in a directory leads to. ino 0: none. */
static dtx::Task<Node> step(Call &call, const Node &directory, std::string_view name)
{
    Node node;

    if (name == ".") {
        node = directory;
    } else if (name == "..") {
        uint32_t parent = directory.ino == kRootIno ? kRootIno : directory.row.parent;

        node = co_await held_inode(call, parent);
    } else {
        Place place = co_await find_name(call, directory.ino, name);

        if (place.is_taken())
            node = co_await named_inode(call, place.ino);
    }
    co_return node;
}

dtx::Task<Last> walk(Call &call, uint32_t from, std::string_view path, Follow follow)
{
    std::string left(path);
    Last last{ path.starts_with('/') ? kRootIno : from, "", false };

    expect(!path.empty(), ENOENT);
    expect(path.size() < kPathMax, ENAMETOOLONG);
    for (uint32_t links = 0;;) {
        last.name = take_name(left);
        last.wants_directory = !left.empty();

        bool is_last = left.find_first_not_of('/') == left.npos;

        if (last.name.empty())
            co_return last;

        Node directory = co_await held_directory(call, last.directory, kMayExecute);

        check_name(last.name);
        if (is_last &&
            (follow == Follow::never || (follow == Follow::without_slash && last.wants_directory)))
            co_return last;

        Node next = co_await step(call, directory, last.name);

        if (next.ino != 0 && S_ISLNK(next.row.mode)) {
            expect(++links <= kSymlinksMax, ELOOP);
            std::string target = co_await read_link(call, next.ino);

            if (target.starts_with('/'))
                last.directory = kRootIno;
            left = target + left;
            continue;
        }
        if (is_last)
            co_return last;
        expect(next.ino != 0, ENOENT);
        expect(S_ISDIR(next.row.mode), ENOTDIR);
        last.directory = next.ino;
    }
}

dtx::Task<Node> resolve(Call &call, uint32_t from, std::string_view path, bool follows)
{
    bool always = follows || path.ends_with('/');
    Last last = co_await walk(call, from, path, always ? Follow::always : Follow::never);

    if (last.name.empty()) {
        Node root = co_await held_directory(call, last.directory, 0);

        co_return root;
    }
    Node directory = co_await held_directory(call, last.directory, kMayExecute);
    Node node = co_await step(call, directory, last.name);

    expect(node.ino != 0, ENOENT);
    expect(!last.wants_directory || S_ISDIR(node.row.mode), ENOTDIR);
    co_return node;
}

} // namespace rfs
