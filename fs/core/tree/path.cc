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
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace rfs
{

/* Takes the first name from a path. */
static std::string_view take_name(std::string_view &path)
{
    size_t begin = path.find_first_not_of('/');
    size_t end = begin == path.npos ? path.npos : path.find('/', begin);
    std::string_view name = begin == path.npos ? "" : path.substr(begin, end - begin);

    path = end == path.npos ? "" : path.substr(end);
    return name;
}

namespace
{

/* From a directory to the file that a name in it leads to. */
struct Step {
    std::optional<Node> now()
    {
        if (name == "." || name == "..")
            return std::nullopt;
        auto finding = find_name(call, directory.ino, name);

        if (!finding.await_ready())
            return std::nullopt;

        Place place = finding.await_resume();

        if (!place.is_taken())
            return Node{};

        auto reading = named_inode(call, place.ino);

        if (!reading.await_ready())
            return std::nullopt;
        return reading.await_resume();
    }
    dtx::Task<Node> later()
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
    Call &call;
    const Node &directory;
    std::string_view name;
};

} // namespace

/* Awaited: the file that a name in a directory leads to. ino 0: none. Both are borrowed until this
 * has been awaited. */
static auto step(Call &call, const Node &directory, std::string_view name)
{
    return dtx::AtOnce(Step{ call, directory, name });
}

dtx::Task<Last> walk(Call &call, uint32_t from, std::string_view path, Follow follow)
{
    std::string_view left = path;
    std::string unfolded; /* what is left, once a symbolic link was followed */
    Last last{ path.starts_with('/') ? kRootIno : from, "", false };
    Node next; /* what the last name leads to */

    expect(!path.empty(), ENOENT);
    expect(path.size() < kPathMax, ENAMETOOLONG);
    for (uint32_t links = 0;;) {
        last.name = take_name(left);
        last.wants_directory = !left.empty();

        bool is_last = left.find_first_not_of('/') == left.npos;

        if (last.name.empty())
            co_return last;

        if (next.ino == last.directory) {
            last.parent = next;
            expect_directory(call, next, kMayExecute);
        } else {
            last.parent = co_await held_directory(call, last.directory, kMayExecute);
        }
        check_name(last.name);
        if (is_last &&
            (follow == Follow::never || (follow == Follow::without_slash && last.wants_directory)))
            co_return last;

        next = co_await step(call, last.parent, last.name);

        if (next.ino != 0 && S_ISLNK(next.row.mode)) {
            expect(++links <= kSymlinksMax, ELOOP);
            std::string target = co_await read_link(call, next.ino);

            if (target.starts_with('/'))
                last.directory = kRootIno;
            unfolded = std::move(target.append(left));
            left = unfolded;
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
    Node node = co_await step(call, last.parent, last.name);

    expect(node.ino != 0, ENOENT);
    expect(!last.wants_directory || S_ISDIR(node.row.mode), ENOTDIR);
    co_return node;
}

} // namespace rfs
