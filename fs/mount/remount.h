/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remount.h: what is mounted at a directory; change the options of a mount, which its daemon goes
 * on serving: mount -o remount,ro.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_REMOUNT_H
#define FS_MOUNT_REMOUNT_H

#include <string>
#include <sys/types.h>

namespace rfs
{

/* The name of the volume that is mounted at a directory, as the last file system there; empty:
 * none is. */
std::string mounted_at(const std::string &directory);

/* The volume of the mount whose files have this st_dev; empty: it is no mount of rpm-fs. */
std::string volume_of_device(dev_t device);

/* Is @word among those of mount -o, which commas separate? */
bool has_word(const std::string &words, const std::string &word);

/* Is it a flag of the kernel's that remount() changes, such as ro or noexec? */
bool changes_flag(const std::string &word);

/* Changes what @words name, such as ro or noexec, and keeps the rest. Words that are none of the
 * kernel's own flags, such as user_id=0, mount(8) copies from the mount: they are left as they are.
 * Throws std::runtime_error. */
void remount(const std::string &directory, const std::string &words);

} // namespace rfs
#endif
