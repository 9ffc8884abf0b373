// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "pmem/mounts.h"
}
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

TEST_CASE("mounts: a line of mountinfo has type, mount point and options", "[unit]")
{
    rpmi_mount mount;

    REQUIRE(rpmi_mount_parse("36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root "
                             "rw,errors=continue\n",
                             &mount) == 0);
    CHECK(std::string(mount.type) == "ext3");
    CHECK(std::string(mount.root) == "/mnt1");
    CHECK(std::string(mount.point) == "/mnt 2");
    CHECK(std::string(mount.options) == "rw,errors=continue");
    CHECK(rpmi_mount_has(&mount, "rw"));
    CHECK(rpmi_mount_has(&mount, "errors=continue"));
    CHECK_FALSE(rpmi_mount_has(&mount, "errors"));
    CHECK_FALSE(rpmi_mount_has(&mount, "r"));
}

TEST_CASE("mounts: a truncated or too long line is ignored", "[unit]")
{
    const std::string line = "36 35 98:0 / /mnt rw - ext4 /dev/root rw,nobarrier";
    rpmi_mount mount;

    for (size_t n = 0; n < line.find("ext4") + 1; n++)
        CHECK(rpmi_mount_parse(line.substr(0, n).c_str(), &mount) != 0);
    CHECK(rpmi_mount_parse(line.c_str(), &mount) == 0);
    // The missing rest of the line could be nobarrier.
    CHECK(rpmi_mount_parse((line + "," + std::string(2000, 'x')).c_str(), &mount) != 0);
}

TEST_CASE("mounts: the mount of an open file, and an upper layer only for an overlay", "[unit]")
{
    support::Dir dir;
    int fd = open((dir / ".").c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    rpmi_mount mount;

    REQUIRE(fd >= 0);
    REQUIRE(rpmi_mount_of(fd, &mount) == 0);
    CHECK(std::string(mount.type) == "tmpfs");
    CHECK((dir / ".").compare(0, strlen(mount.point), mount.point) == 0);
    CHECK(rpmi_mount_open_upper(fd) == -1);
    close(fd);
    CHECK(rpmi_mount_of(fd, &mount) == -1);
}
