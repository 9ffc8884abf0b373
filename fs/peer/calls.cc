/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.cc: system calls in a folder of a mounted file system.
 */
#include "peer/store.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rfs::peer
{

namespace
{

void need(const char *what, int result)
{
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), what);
}

class CallNames : public bench::Names
{
  public:
    explicit CallNames(std::string folder) : folder_(std::move(folder))
    {
        need(folder_.c_str(), mkdir(folder_.c_str(), 0755));
        fd_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        need(folder_.c_str(), fd_);
    }
    ~CallNames() override
    {
        close(fd_);
        rmdir(folder_.c_str());
    }
    CallNames(const CallNames &) = delete;
    CallNames &operator=(const CallNames &) = delete;

    void create(const std::string &name) override
    {
        int fd = openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        need("create", fd);
        need("close", close(fd));
    }
    void stat(const std::string &name) override
    {
        struct stat stat;

        need("stat", fstatat(fd_, name.c_str(), &stat, AT_SYMLINK_NOFOLLOW));
    }
    void rename(const std::string &from, const std::string &to) override
    {
        need("rename", renameat(fd_, from.c_str(), fd_, to.c_str()));
    }
    void unlink(const std::string &name) override
    {
        need("unlink", unlinkat(fd_, name.c_str(), 0));
    }

  private:
    std::string folder_;
    int fd_ = -1;
};

class CallStore : public Store
{
  public:
    explicit CallStore(std::string folder) : folder_(std::move(folder)) {}
    std::unique_ptr<bench::Names> open(uint32_t thread) override
    {
        return std::make_unique<CallNames>(folder_ + "/fs-peer-" + std::to_string(thread));
    }

  private:
    std::string folder_;
};

} // namespace

std::unique_ptr<Store> make_calls(const std::string &folder)
{
    return std::make_unique<CallStore>(folder);
}

} // namespace rfs::peer
