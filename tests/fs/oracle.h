// SPDX-License-Identifier: BSD-3-Clause
// oracle.h: one call of a file system, and what comes of it: by the kernel on a tmpfs, or by
// librpmfs on a volume.
#ifndef TESTS_FS_ORACLE_H
#define TESTS_FS_ORACLE_H

#include <librpmfs.h>

#include <cstdint>
#include <sys/types.h>

namespace oracle
{

enum class Op : uint32_t {
    mkdir,
    mknod,
    symlink,
    link,
    unlink,
    rmdir,
    rename,
    stat,
    lstat,
    access,
    chmod,
    chown,
    lchown,
    truncate,
    readlink,
    list,
    open,
    allocate,
    count
};

inline constexpr size_t kTextMax = 24 << 10;

struct Request {
    Op op;
    uint32_t user; // of kUsers
    char path[300];
    char other[300]; // target, or new path
    uint32_t mode;
    uint32_t flags;
    uint32_t uid;
    uint32_t gid;
    uint64_t offset;
    uint32_t bytes; // written or allocated, or the size to which a file is cut
    int how;        // mode of fallocate()
};

struct Reply {
    int64_t result; // 0, or an error number, negative
    uint32_t mode, links, uid, gid;
    uint64_t size;
    uint64_t data; // of a file: a bit for each block in which there are data, not a hole
    uint32_t length;
    char text[kTextMax]; // target, names, or contents
};

// The callers: user 0, a user, another one in his group, and one with his group beside his own.
inline constexpr uint32_t kUserCount = 4;
const rfs_cred &user(uint32_t number);

// Of a file of more than so many blocks, the bit of the last one is for those behind it as well.
inline constexpr uint64_t kDataBits = 64;

// What is written by a request.
void fill(char *text, const Request &request);

// By librpmfs.
void act(rfs_client *client, const Request &request, Reply &reply);

// A child process whose root directory is a folder of a tmpfs. Throws std::runtime_error: not user
// 0, or the kernel lacks something.
class Kernel
{
  public:
    explicit Kernel(const char *folder);
    Kernel(const Kernel &) = delete;
    Kernel &operator=(const Kernel &) = delete;
    ~Kernel();

    void act(const Request &request, Reply &reply);

  private:
    int socket_ = -1;
    pid_t child_ = -1;
};

} // namespace oracle
#endif
