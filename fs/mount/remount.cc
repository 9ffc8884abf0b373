/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remount.cc: the flags of a mount, by mount(2).
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/remount.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <linux/magic.h>
#include <mntent.h>
#include <sstream>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

namespace rfs
{

/* A word sets the flag, another clears it. @told: the same flag as statfs() has it. */
struct Flag {
    const char *set;
    const char *clear;
    unsigned long flag;
    unsigned long told;
};

static constexpr Flag kFlags[] = {
    { "ro", "rw", MS_RDONLY, ST_RDONLY },
    { "nosuid", "suid", MS_NOSUID, ST_NOSUID },
    { "nodev", "dev", MS_NODEV, ST_NODEV },
    { "noexec", "exec", MS_NOEXEC, ST_NOEXEC },
    { "sync", "async", MS_SYNCHRONOUS, ST_SYNCHRONOUS },
    { "noatime", "atime", MS_NOATIME, ST_NOATIME },
    { "nodiratime", "diratime", MS_NODIRATIME, ST_NODIRATIME },
    { "relatime", "norelatime", MS_RELATIME, ST_RELATIME },
};

bool has_word(const std::string &words, const std::string &word)
{
    return ("," + words + ",").find("," + word + ",") != std::string::npos;
}

bool changes_flag(const std::string &word)
{
    for (const Flag &flag : kFlags)
        if (word == flag.set || word == flag.clear)
            return true;
    return false;
}

static unsigned long changed(unsigned long flags, const std::string &words)
{
    std::istringstream each(words);

    for (std::string word; std::getline(each, word, ',');) {
        for (const Flag &flag : kFlags) {
            if (word == flag.set)
                flags |= flag.flag;
            else if (word == flag.clear)
                flags &= ~flag.flag;
        }
    }
    return flags;
}

std::string mounted_at(const std::string &directory)
{
    char path[PATH_MAX];
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    std::string found;

    if (mounts == nullptr || realpath(directory.c_str(), path) == nullptr)
        path[0] = '\0';
    for (const mntent *each; mounts != nullptr && (each = getmntent(mounts)) != nullptr;)
        if (strcmp(each->mnt_dir, path) == 0)
            found = strcmp(each->mnt_type, "fuse.rpmfs") == 0 ? each->mnt_fsname : "";
    if (mounts != nullptr)
        endmntent(mounts);
    return found;
}

std::string volume_of_device(dev_t device)
{
    std::ifstream mounts("/proc/self/mountinfo");
    std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));

    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string word;
        std::string number;
        std::string type;
        std::string source;

        words >> word >> word >> number;
        while (words >> word && word != "-")
            ; /* a line has any number of further words before the type */
        if (words >> type >> source && number == wanted)
            return type == "fuse.rpmfs" ? source : "";
    }
    return "";
}

void remount(const std::string &directory, const std::string &words)
{
    struct statfs now {
    };
    unsigned long flags = 0;

    if (statfs(directory.c_str(), &now) != 0)
        throw std::runtime_error(directory + ": " + strerror(errno));
    if (now.f_type != FUSE_SUPER_MAGIC || mounted_at(directory).empty())
        throw std::runtime_error(directory + ": not a mount of rpm-fs (type fuse.rpmfs): name the "
                                             "directory of a mount");
    for (const Flag &flag : kFlags)
        flags |= (static_cast<unsigned long>(now.f_flags) & flag.told) != 0 ? flag.flag : 0;
    if (mount(nullptr, directory.c_str(), nullptr, MS_REMOUNT | changed(flags, words), nullptr) !=
        0)
        throw std::runtime_error(directory +
                                 ": the kernel does not remount it: " + strerror(errno) +
                                 "; remount as root, and close files open for writing before ro");
}

} // namespace rfs
