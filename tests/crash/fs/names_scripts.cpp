// SPDX-License-Identifier: BSD-3-Clause
// names_scripts.cpp: calls on names, and on what inodes have beside contents.
#include "crash/fs/acts.h"
#include "crash/fs/scripts.h"

#include <linux/fs.h>

namespace crash
{

static const std::string kLongName(255, 'n');

// Files /f and /g with contents, directories /a and /a/b.
static void two_and_two(Cast &cast)
{
    make_file(cast.first, "/f");
    write_to(cast.first, "/f", 0, 5000);
    make_file(cast.first, "/g");
    write_to(cast.first, "/g", 0, 9000);
    make_directory(cast.first, "/a");
    make_directory(cast.first, "/a/b");
}

std::vector<Script> names_scripts()
{
    return {
        { "create", two_and_two, { { [](Cast &c) { make_file(c.first, "/h"); } }, { [](Cast &c) {
                                       make_file(c.first, "/a/b/" + kLongName);
                                   } } } },
        { "symbolic link",
          two_and_two,
          { { [](Cast &c) { make_link(c.first, "/a/l", "short"); } },
            { [](Cast &c) { make_link(c.first, "/m", std::string(1300, 't')); } },
            { [](Cast &c) { remove(c.first, "/m"); } } } },
        { "make and remove directories",
          two_and_two,
          { { [](Cast &c) { make_directory(c.first, "/a/c"); } },
            { [](Cast &c) { remove_directory(c.first, "/a/b"); } } } },
        { "rename", two_and_two, { { [](Cast &c) { move(c.first, "/f", "/h"); } }, { [](Cast &c) {
                                       move(c.first, "/h", "/a/" + kLongName);
                                   } } } },
        { "rename over", two_and_two, { { [](Cast &c) { move(c.first, "/f", "/g"); } } } },
        { "rename over, alone",
          two_and_two,
          { { [](Cast &c) { move(c.first, "/f", "/g"); } } },
          true },
        { "exchange",
          two_and_two,
          { { [](Cast &c) { move(c.first, "/f", "/a/b", RENAME_EXCHANGE); } },
            { [](Cast &c) { move(c.first, "/f", "/g", RENAME_EXCHANGE); } } } },
        { "rename of directories",
          two_and_two,
          { { [](Cast &c) { move(c.first, "/a/b", "/c"); } },
            { [](Cast &c) { move(c.first, "/a", "/c/a"); } },
            { [](Cast &c) { make_directory(c.first, "/d"); } },
            { [](Cast &c) { move(c.first, "/c/a", "/d"); } } } },
        { "link and unlink",
          two_and_two,
          { { [](Cast &c) { add_name(c.first, "/f", "/a/f"); } },
            { [](Cast &c) { remove(c.first, "/f"); } },
            { [](Cast &c) { remove(c.first, "/a/f"); } } } },
        { "mode and owner",
          two_and_two,
          { { [](Cast &c) { change_mode(c.first, "/f", 04711); } },
            { [](Cast &c) { change_owner(c.first, "/f", 12, 34); } } } },
        { "extended attributes",
          two_and_two,
          { { [](Cast &c) { set_attribute(c.first, "/f", "user.a", 2000); } },
            { [](Cast &c) { set_attribute(c.first, "/f", "user.b", 10); } },
            { [](Cast &c) { set_attribute(c.first, "/f", "user.a", 100); } },
            { [](Cast &c) { remove_attribute(c.first, "/f", "user.b"); } } } },
    };
}

} // namespace crash
