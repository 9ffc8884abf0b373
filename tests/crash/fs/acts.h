// SPDX-License-Identifier: BSD-3-Clause
// acts.h: what scripts do, as user 0, by paths. Each throws as the calls of a client do.
#ifndef TESTS_CRASH_FS_ACTS_H
#define TESTS_CRASH_FS_ACTS_H

#include "core/client/client.h"
#include "core/lock/locks.h"
#include "core/tree/inodes.h"

#include <cstdint>
#include <string>

namespace crash
{

inline constexpr uint64_t kAppend = UINT64_MAX; // as an offset: behind the end

uint32_t at(rfs::Client &client, const std::string &path);
rfs::Node node_at(rfs::Client &client, const std::string &path);

// @path: of what is made; its directory exists.
void make_file(rfs::Client &client, const std::string &path);
void make_directory(rfs::Client &client, const std::string &path);
void make_link(rfs::Client &client, const std::string &path, const std::string &target);
void add_name(rfs::Client &client, const std::string &path, const std::string &more);
// remove(): a name of a file; frees the file if that was its last one, and no client has it open.
void remove(rfs::Client &client, const std::string &path);
void remove_directory(rfs::Client &client, const std::string &path);
void move(rfs::Client &client, const std::string &from, const std::string &to, uint32_t flags = 0);

// Text that differs in each file, at each offset and for each @size.
std::string text_for(const std::string &path, uint64_t offset, size_t size);
void write_to(rfs::Client &client, const std::string &path, uint64_t offset, size_t size);
void write_to(rfs::Client &client, uint32_t ino, uint64_t offset, const std::string &text);
std::string read_from(rfs::Client &client, uint32_t ino);
void cut_to(rfs::Client &client, const std::string &path, uint64_t size);
// @mode: of fallocate(2).
void allocate(rfs::Client &client, const std::string &path, int mode, uint64_t offset,
              uint64_t length);

void change_mode(rfs::Client &client, const std::string &path, uint32_t mode);
void change_owner(rfs::Client &client, const std::string &path, uint32_t uid, uint32_t gid);
void set_attribute(rfs::Client &client, const std::string &path, const std::string &name,
                   size_t bytes);
void remove_attribute(rfs::Client &client, const std::string &path, const std::string &name);

// A lock of bytes @from to @to, or of the file.
struct Wish {
    uint64_t owner;
    rfs::LockType type; // none: to unlock
    uint64_t from = 0;
    uint64_t to = rfs::kLockEnd;
    rfs::LockKind kind = rfs::LockKind::posix;
};
// Without waiting.
void lock(rfs::Client &client, const std::string &path, const Wish &wish);
void unlock_all(rfs::Client &client, const std::string &path, uint64_t owner);

} // namespace crash
#endif
