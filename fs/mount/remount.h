/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remount.h: change the options of a mount, which its daemon goes on serving: mount -o remount,ro.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_REMOUNT_H
#define FS_MOUNT_REMOUNT_H

#include <string>

namespace rfs
{

/* @words: of mount -o, separated by commas. */
bool asks_remount(const std::string &words);

/* Changes what @words name, such as ro or noexec, and keeps the rest. Words that are none of the
 * kernel's own flags, such as user_id=0, mount(8) copies from the mount: they are left as they are.
 * Throws std::runtime_error. */
void remount(const std::string &directory, const std::string &words);

} // namespace rfs
#endif
