/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove.cc: unlink and rmdir.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#include "core/tree/remove.h"

#include "core/tree/names.h"
#include "core/tree/permission.h"
#include <dtx/error.h>

#include <cerrno>
#include <sys/stat.h>

namespace rfs
{

static dtx::Task<Node> remove(Call &call, uint32_t directory, std::string_view name,
                              bool directories)
{
    Node parent = co_await held_directory(call, directory, kMayExecute);
    Place place = co_await find_name(call, directory, name);

    expect(place.is_taken(), ENOENT);

    Node node = co_await named_inode(call, place.ino);

    expect(may(call.who, parent.row, kMayWrite), EACCES);
    expect(may_remove(call.who, parent.row, node.row), EPERM);
    expect(directories || !S_ISDIR(node.row.mode), EISDIR);
    expect(!directories || S_ISDIR(node.row.mode), ENOTDIR);
    expect(!directories || node.row.size == 0, ENOTEMPTY);
    co_await remove_name(call, place);
    co_await drop_name(call, node);
    uncount(parent, 1, directories ? 1 : 0);
    touch_contents(call, parent.row);
    co_await put(call, parent);
    co_return node;
}

dtx::Task<Node> remove_file(Call &call, uint32_t directory, std::string_view name)
{
    check_name(name);
    expect(name != "." && name != "..", EISDIR);
    return remove(call, directory, name, false);
}

dtx::Task<Node> remove_directory(Call &call, uint32_t directory, std::string_view name)
{
    check_name(name);
    expect(name != ".", EINVAL);
    expect(name != "..", ENOTEMPTY);
    return remove(call, directory, name, true);
}

} // namespace rfs
