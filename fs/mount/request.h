/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.h: a request of the kernel, and the one reply to it.
 *
 * The kernel may keep attributes for a second if this is the only client of the volume
 * (tree/mounts.h), and else not at all: another one may change them, so the kernel asks for each
 * call. While it keeps a name, it goes through it without a request, by which the daemon would see
 * whether the caller may search the directory. So it may keep names only in directories that every
 * user may search; a call that takes a name, or a directory above it, to where not every user may
 * search waits until the kernel keeps none (Daemon::names_end()).
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_REQUEST_H
#define FS_MOUNT_REQUEST_H

#define FUSE_USE_VERSION 314

#include "core/call/call.h"
#include "core/tree/inodes.h"

#include <cstddef>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <vector>

namespace rfs
{

/* What the kernel is told of a file, or that there is none: ino 0. */
struct Told {
    Node node;
    uint64_t keep_until_ns = 0; /* of dtx::now_ns(); 0: it may not keep it */
    bool keeps_name = false;    /* as long; else only the attributes */
    fuse_ino_t number = 0;      /* of a directory (directories.h); 0: that of its inode */

    fuse_ino_t number_told() const
    {
        return number != 0 ? number : node.ino;
    }
    /* Not of the root, which has always the same place. */
    bool is_directory() const
    {
        return S_ISDIR(node.row.mode) && node.ino != kRootIno;
    }
};

/* For fuse_reply_entry(). */
fuse_entry_param entry_of(const Told &told);

class Request : private GroupSource
{
  public:
    /* @lost: credentials.h. */
    explicit Request(fuse_req_t handle, std::shared_ptr<const bool> lost = nullptr);
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;
    ~Request()
    {
        RFS_ASSERT(handle_ == nullptr); /* it has been answered */
    }

    /* On whose behalf. Its further groups are those of the calling thread in /proc. */
    const Credentials &who() const
    {
        return who_;
    }

    /* The thread that made the call. */
    pid_t thread() const
    {
        return thread_;
    }

    bool is_answered() const
    {
        return handle_ == nullptr;
    }
    /* Answers the caller, while the call goes on (interrupts.h): its own reply is dropped. */
    void give_up(int error);
    bool is_given_up() const
    {
        return given_up_;
    }
    /* The replies. @error: of errno(3), 0: done. They return whether the kernel has taken the
     * reply: not if the caller was interrupted meanwhile, or was given up. */
    bool end(int error);
    bool entry(const Told &told);
    bool created(const Told &told, const fuse_file_info &file);
    bool opened(const fuse_file_info &file);
    void attributes(const Told &told);
    void link_target(const std::string &target);
    bool bytes(const void *from, size_t size);
    void written(size_t size);
    void offset(uint64_t at);
    void volume(const struct statvfs &of);
    void xattr_bytes(size_t size);
    void lock(const struct flock &found);

    /* Does a signal end the call? */
    bool is_interrupted() const
    {
        return given_up_ || fuse_req_interrupted(handle_) != 0;
    }

    /* Of libfuse; nullptr after the reply. */
    fuse_req_t handle() const
    {
        return handle_;
    }

  private:
    template <class Reply> bool reply(Reply reply);
    bool has(uint32_t group) const override;

    fuse_req_t handle_;
    Credentials who_;
    mutable std::optional<std::vector<uint32_t>> groups_; /* once they were asked for */
    std::shared_ptr<const bool> lost_;                    /* by who_ */
    pid_t thread_;
    bool given_up_ = false;
};

} // namespace rfs
#endif
