// SPDX-License-Identifier: BSD-3-Clause
// oracle.cpp: carry out requests, by system calls and by librpmfs.
#include "fs/oracle.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace oracle
{

static const uint32_t kFirstGroup[] = { 20 };
static constexpr int64_t kBlock = 4096;

const rfs_cred &user(uint32_t number)
{
    static const rfs_cred users[kUserCount] = { { 0, 0, nullptr, 0 },
                                                { 10, 20, nullptr, 0 },
                                                { 11, 20, nullptr, 0 },
                                                { 12, 22, kFirstGroup, 1 } };

    return users[number];
}

void fill(char *text, const Request &request)
{
    for (uint32_t i = 0; i < request.bytes; i++)
        text[i] = static_cast<char>('a' + (request.offset + 7 * request.mode + i / 3) % 26);
}

static void put_stat(const struct stat &stat, Reply &reply)
{
    reply.mode = stat.st_mode;
    reply.links = static_cast<uint32_t>(stat.st_nlink);
    reply.uid = stat.st_uid;
    reply.gid = stat.st_gid;
    reply.size = S_ISDIR(stat.st_mode) ? 0 : static_cast<uint64_t>(stat.st_size);
}

static void put_names(std::vector<std::string> names, Reply &reply)
{
    std::string text;

    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
        text += name + "\n";
    reply.length = static_cast<uint32_t>(text.copy(reply.text, kTextMax));
}

// The blocks with data of a file, found from data to hole to data. Throws std::logic_error: they
// are not in order, or there is something behind the end.
template <class File> static uint64_t data_of(File &file, int64_t size)
{
    uint64_t bits = 0;

    for (int64_t at = 0; at < size;) {
        int64_t data = file.seek(at, SEEK_DATA);
        int64_t hole = data < 0 ? data : file.seek(data, SEEK_HOLE);
        bool ends = data == -ENXIO && file.seek(at, SEEK_HOLE) == at;

        if (ends)
            break;
        if (data < at || hole <= data || hole > size || (data > at && data % kBlock != 0))
            throw std::logic_error("data at " + std::to_string(data) + ", a hole at " +
                                   std::to_string(hole) + ", searched from " + std::to_string(at));
        for (int64_t block = data / kBlock; block * kBlock < hole; block++)
            bits |= 1ull << std::min<uint64_t>(static_cast<uint64_t>(block), kDataBits - 1);
        at = hole;
    }
    for (int what : { SEEK_DATA, SEEK_HOLE })
        if (file.seek(size, what) != -ENXIO)
            throw std::logic_error("there are data or holes behind the end");
    return bits;
}

// Of both: what they do with an open file. @file: has the calls of KernelFile, which return
// negative error numbers.
template <class File> static void use(File &file, const Request &request, Reply &reply)
{
    std::vector<char> bytes(request.bytes);
    struct stat stat {
    };
    int64_t got;

    fill(bytes.data(), request);
    reply.result = file.fstat(&stat);
    if (reply.result == 0 && request.op == Op::allocate)
        reply.result = file.allocate(request.how, request.offset, request.bytes);
    else if (reply.result == 0 && request.bytes > 0)
        reply.result = file.pwrite(bytes.data(), request.bytes, request.offset);
    (void)file.fstat(&stat);
    put_stat(stat, reply);
    if (S_ISREG(stat.st_mode))
        reply.data = data_of(file, stat.st_size);
    got = file.pread(reply.text, kTextMax, 0);
    if (got > 0)
        reply.length = static_cast<uint32_t>(got);
    else if (got < 0 && reply.result == 0)
        reply.result = got;
}

namespace
{

struct KernelFile {
    int fd;

    int64_t fstat(struct stat *stat)
    {
        return ::fstat(fd, stat) == 0 ? 0 : -errno;
    }
    int64_t pwrite(const void *bytes, size_t size, uint64_t offset)
    {
        ssize_t got = ::pwrite(fd, bytes, size, static_cast<off_t>(offset));

        return got >= 0 ? got : -errno;
    }
    int64_t pread(void *into, size_t size, uint64_t offset)
    {
        ssize_t got = ::pread(fd, into, size, static_cast<off_t>(offset));

        return got >= 0 ? got : -errno;
    }
    int64_t allocate(int how, uint64_t offset, uint64_t size)
    {
        return ::fallocate(fd, how, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0
                   ? 0
                   : -errno;
    }
    int64_t seek(int64_t offset, int what)
    {
        off_t got = ::lseek(fd, offset, what);

        return got >= 0 ? got : -errno;
    }
};

struct VolumeFile {
    rfs_file *file;

    int64_t fstat(struct stat *stat)
    {
        return rfs_fstat(file, stat);
    }
    int64_t pwrite(const void *bytes, size_t size, uint64_t offset)
    {
        return rfs_pwrite(file, bytes, size, offset);
    }
    int64_t pread(void *into, size_t size, uint64_t offset)
    {
        return rfs_pread(file, into, size, offset);
    }
    int64_t allocate(int how, uint64_t offset, uint64_t size)
    {
        return rfs_fallocate(file, how, offset, size);
    }
    int64_t seek(int64_t offset, int what)
    {
        return rfs_seek(file, static_cast<uint64_t>(offset), what);
    }
};

} // namespace

static int64_t open_and_use(const Request &request, Reply &reply)
{
    KernelFile file{ ::open(request.path, static_cast<int>(request.flags), request.mode) };

    if (file.fd < 0)
        return -errno;
    use(file, request, reply);
    close(file.fd);
    return reply.result;
}

static int64_t list(const char *path, Reply &reply)
{
    DIR *dir = opendir(path);
    std::vector<std::string> names;

    if (dir == nullptr)
        return -errno;
    while (dirent *entry = readdir(dir))
        names.push_back(entry->d_name);
    closedir(dir);
    put_names(std::move(names), reply);
    return 0;
}

static int64_t by_kernel(const Request &of, Reply &reply)
{
    struct stat stat {
    };
    ssize_t got = 0;

    switch (of.op) {
    case Op::mkdir:
        got = mkdir(of.path, of.mode);
        break;
    case Op::mknod:
        got = mknod(of.path, S_IFREG | of.mode, 0);
        break;
    case Op::symlink:
        got = symlink(of.other, of.path);
        break;
    case Op::link:
        got = link(of.path, of.other);
        break;
    case Op::unlink:
        got = unlink(of.path);
        break;
    case Op::rmdir:
        got = rmdir(of.path);
        break;
    case Op::rename:
        got = renameat2(AT_FDCWD, of.path, AT_FDCWD, of.other, of.flags);
        break;
    case Op::stat:
    case Op::lstat:
        got = of.op == Op::stat ? ::stat(of.path, &stat) : ::lstat(of.path, &stat);
        if (got == 0)
            put_stat(stat, reply);
        break;
    case Op::access:
        got = faccessat(AT_FDCWD, of.path, static_cast<int>(of.flags), AT_EACCESS);
        break;
    case Op::chmod:
        got = chmod(of.path, of.mode);
        break;
    case Op::chown:
        got = chown(of.path, of.uid, of.gid);
        break;
    case Op::lchown:
        got = lchown(of.path, of.uid, of.gid);
        break;
    case Op::truncate:
        got = truncate(of.path, of.bytes);
        break;
    case Op::readlink:
        got = readlink(of.path, reply.text, 200);
        reply.length = got > 0 ? static_cast<uint32_t>(got) : 0;
        break;
    case Op::list:
        return list(of.path, reply);
    default:
        return open_and_use(of, reply);
    }
    return got >= 0 ? 0 : -errno;
}

static int64_t list(rfs_client *client, const Request &of, Reply &reply)
{
    rfs_dir *dir = nullptr;
    rfs_dirent entry;
    std::vector<std::string> names;
    int got = rfs_opendir(client, &user(of.user), of.path, &dir);

    if (got < 0)
        return got;
    while ((got = rfs_readdir(dir, &entry)) > 0)
        names.push_back(entry.name);
    rfs_closedir(&dir);
    put_names(std::move(names), reply);
    return got;
}

static int64_t open_and_use(rfs_client *client, const Request &of, Reply &reply)
{
    VolumeFile file{ nullptr };
    int err =
        rfs_open(client, &user(of.user), of.path, static_cast<int>(of.flags), of.mode, &file.file);

    if (err != 0)
        return err;
    use(file, of, reply);
    rfs_close(&file.file);
    return reply.result;
}

static int64_t by_volume(rfs_client *client, const Request &of, Reply &reply)
{
    const rfs_cred *who = &user(of.user);
    struct stat stat {
    };
    ssize_t got = 0;

    switch (of.op) {
    case Op::mkdir:
        return rfs_mkdir(client, who, of.path, of.mode);
    case Op::mknod:
        return rfs_mknod(client, who, of.path, S_IFREG | of.mode, 0);
    case Op::symlink:
        return rfs_symlink(client, who, of.other, of.path);
    case Op::link:
        return rfs_link(client, who, of.path, of.other);
    case Op::unlink:
        return rfs_unlink(client, who, of.path);
    case Op::rmdir:
        return rfs_rmdir(client, who, of.path);
    case Op::rename:
        return rfs_rename(client, who, of.path, of.other, of.flags);
    case Op::stat:
    case Op::lstat:
        got = of.op == Op::stat ? rfs_stat(client, who, of.path, &stat)
                                : rfs_lstat(client, who, of.path, &stat);
        if (got == 0)
            put_stat(stat, reply);
        return got;
    case Op::access:
        return rfs_access(client, who, of.path, static_cast<int>(of.flags));
    case Op::chmod:
        return rfs_chmod(client, who, of.path, of.mode);
    case Op::chown:
        return rfs_chown(client, who, of.path, of.uid, of.gid);
    case Op::lchown:
        return rfs_lchown(client, who, of.path, of.uid, of.gid);
    case Op::truncate:
        return rfs_truncate(client, who, of.path, of.bytes);
    case Op::readlink:
        got = rfs_readlink(client, who, of.path, reply.text, 200);
        reply.length = got > 0 ? static_cast<uint32_t>(got) : 0;
        return std::min<ssize_t>(got, 0);
    case Op::list:
        return list(client, of, reply);
    default:
        return open_and_use(client, of, reply);
    }
}

void act(rfs_client *client, const Request &request, Reply &reply)
{
    reply = {};
    reply.result = by_volume(client, request, reply);
}

static void expect(bool holds, const char *doing)
{
    if (!holds)
        throw std::runtime_error(std::string(doing) + ": " + strerror(errno));
}

// In the child: becomes the caller for one request.
static void act_as(const Request &request, Reply &reply)
{
    const rfs_cred &who = user(request.user);
    bool done = setgroups(who.group_count, who.groups) == 0 && setegid(who.gid) == 0 &&
                seteuid(who.uid) == 0;

    reply = {};
    reply.result = done ? by_kernel(request, reply) : -ECANCELED;
    if (seteuid(0) != 0 || setegid(0) != 0)
        _exit(1);
}

[[noreturn]] static void serve(int socket, const char *folder)
{
    static Request request;
    static Reply reply;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    umask(0);
    if (chroot(folder) != 0 || chdir("/") != 0)
        _exit(1);
    while (recv(socket, &request, sizeof(request), MSG_WAITALL) == ssize_t{ sizeof(request) }) {
        act_as(request, reply);
        if (send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) != ssize_t{ sizeof(reply) })
            break;
    }
    _exit(0);
}

Kernel::Kernel(const char *folder)
{
    int pair[2];

    errno = EPERM;
    expect(geteuid() == 0, "changing the root directory of a child process");
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "making sockets");
    child_ = fork();
    expect(child_ >= 0, "starting a process");
    if (child_ == 0) {
        close(pair[0]);
        serve(pair[1], folder);
    }
    close(pair[1]);
    socket_ = pair[0];
}

Kernel::~Kernel()
{
    close(socket_);
    (void)waitpid(child_, nullptr, 0);
}

void Kernel::act(const Request &request, Reply &reply)
{
    errno = EPIPE;
    expect(send(socket_, &request, sizeof(request), MSG_NOSIGNAL) == ssize_t{ sizeof(request) } &&
               recv(socket_, &reply, sizeof(reply), MSG_WAITALL) == ssize_t{ sizeof(reply) },
           "asking the process with the tmpfs");
}

} // namespace oracle
