/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.cc: a process that serves a mount, and tells its parent when it does.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/mount.h"

#include "core/client/mount.h"
#include "core/file/contents.h"
#include "mount/daemon.h"
#include "mount/operations.h"
#include "mount/remount.h"
#include <dtx/error.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rfs
{

static constexpr int kAbortedTries = 200; /* looks at a directory whose mount ends */
static constexpr useconds_t kAbortedWaitUs = 10000;

static void initialize(void *, fuse_conn_info *kernel)
{
    unsigned int wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_AUTO_INVAL_DATA |
                          FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_PARALLEL_DIROPS |
                          FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_POSIX_LOCKS |
                          FUSE_CAP_FLOCK_LOCKS;

    kernel->max_write = kCallBytesMax;
    kernel->time_gran = 1;
    /* FUSE_CAP_ATOMIC_O_TRUNC is left out: with it, open(O_RDONLY | O_TRUNC) of a program that is
     * running truncates the program's file before the kernel refuses the call. */
    kernel->want = wanted & kernel->capable;
}

static fuse_lowlevel_ops operations(bool xattrs)
{
    fuse_lowlevel_ops operations{};

    operations.init = initialize;
    add_tree_operations(operations);
    add_file_operations(operations);
    add_lock_operations(operations);
    if (xattrs)
        add_xattr_operations(operations);
    add_statistics(operations);
    return operations;
}

[[noreturn]] static void fail(const std::string &what, int error)
{
    throw std::runtime_error(what + ": " + strerror(error));
}

/* The error number of a look at the directory; 0: it is one. While the kernel ends the mount of a
 * daemon that was killed, it aborts requests: then it is asked again. */
static int look_at(const std::string &directory)
{
    struct stat stat {
    };

    for (int i = 0; i < kAbortedTries; i++) {
        if (::stat(directory.c_str(), &stat) == 0)
            return S_ISDIR(stat.st_mode) ? 0 : ENOTDIR;
        if (errno != ECONNABORTED)
            return errno;
        usleep(kAbortedWaitUs);
    }
    return ECONNABORTED;
}

/* Ends a mount whose daemon was killed. */
static void unmount_dead(const std::string &directory, const std::string &volume)
{
    int error = look_at(directory);
    std::string old = mounted_at(directory);

    if (error == 0)
        return;
    if (error != ENOTCONN)
        fail(directory, error);
    if (!old.empty() && old != volume)
        fprintf(stderr,
                "rpm-fs: %s: the dead mount of the volume '%s' is replaced: its daemon has died\n",
                directory.c_str(), old.c_str());
    if (umount2(directory.c_str(), MNT_DETACH) == 0)
        return;

    pid_t child = fork();

    if (child == 0) {
        execlp("fusermount3", "fusermount3", "-u", "-z", directory.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error(directory +
                                 ": the daemon of an earlier mount here has died, and "
                                 "it could not be unmounted: run fusermount3 -u -z " +
                                 directory);
}

/* A mount on a mount would hide it, and mount(8) run twice would start a second daemon. */
static void expect_free(const std::string &directory)
{
    std::string volume = mounted_at(directory);

    if (!volume.empty())
        throw std::runtime_error(directory + ": the volume '" + volume +
                                 "' is mounted here already: unmount it first, or mount at "
                                 "another directory");
}

/* A session of libfuse that is mounted; unmounted at the end. */
class Mounted
{
  public:
    Mounted(const MountOptions &options, Daemon &daemon)
    {
        fuse_lowlevel_ops ops = operations(options.xattrs);
        std::string kernel = "fsname=" + options.volume + ",subtype=rpmfs";
        std::vector<std::string> words = { "rpm-fs", "-o" };
        std::vector<char *> pointers;

        if (geteuid() == 0) /* libfuse adds allow_other to allow_root, and refuses both */
            kernel +=
                has_word(options.kernel, "allow_root") ? ",suid,dev" : ",allow_other,suid,dev";
        if (!options.kernel.empty())
            kernel += "," + options.kernel;
        words.push_back(kernel);
        for (std::string &word : words)
            pointers.push_back(word.data());

        fuse_args args = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());

        session_ = fuse_session_new(&args, &ops, sizeof(ops), &daemon);
        fuse_opt_free_args(&args);
        if (session_ == nullptr)
            throw std::runtime_error("-o " + options.kernel +
                                     ": libfuse refuses it, because a word of it is no option of a "
                                     "mount; leave out what rpm-fs(1) and mount(8) do not list");
        if (fuse_session_mount(session_, options.directory.c_str()) != 0) {
            fuse_session_destroy(session_);
            throw std::runtime_error(
                options.directory + ": the kernel does not mount it: " +
                (access("/dev/fuse", F_OK) == 0
                     ? "libfuse printed the reason; users other than root need the package fuse3"
                     : "there is no /dev/fuse: run modprobe fuse"));
        }
    }
    Mounted(const Mounted &) = delete;
    Mounted &operator=(const Mounted &) = delete;
    ~Mounted()
    {
        fuse_session_unmount(session_);
        fuse_session_destroy(session_);
    }
    fuse_session *session() const
    {
        return session_;
    }

  private:
    fuse_session *session_;
};

/* A client that is noted as one that has the volume open, until the end. */
class Noted
{
  public:
    explicit Noted(Client &client) : client_(client)
    {
        client_.finish(mount(client_));
    }
    Noted(const Noted &) = delete;
    Noted &operator=(const Noted &) = delete;
    /* If that fails, others find that the client has died. */
    ~Noted()
    {
        try {
            client_.finish(unmount(client_));
        } catch (const dtx::Error &) {
        } catch (const Failure &) {
        }
    }

  private:
    Client &client_;
};

static void log_line(bool foreground, const std::string &text)
{
    if (foreground)
        fprintf(stderr, "rpm-fs: %s\n", text.c_str());
    else
        syslog(LOG_WARNING, "%s", text.c_str());
}

static void block_ending_signals()
{
    sigset_t signals;

    sigemptyset(&signals);
    for (int each : { SIGINT, SIGTERM, SIGHUP })
        sigaddset(&signals, each);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

/* Serves until unmounted. @ready: called when the kernel has mounted it. */
static void serve(const MountOptions &options, dtx::Options servers,
                  const std::function<void()> &ready)
{
    auto log = [foreground = options.foreground](const std::string &text) {
        log_line(foreground, text);
    };

    block_ending_signals();
    servers.notice = log;

    OpenVolume open = open_volume(options.volume, std::move(servers));
    Client client(open);
    Daemon daemon(client, log);

    Noted noted(client);
    Mounted mounted(options, daemon);

    ready();
    daemon.run(mounted.session(), options.directory);
}

/* In a process of its own: the parent reads from @to why it failed, or nothing. */
static void serve_detached(const MountOptions &options, const dtx::Options &servers, int to)
{
    try {
        setsid();
        if (chdir("/") != 0)
            fail("/", errno);
        openlog("rpm-fs", LOG_PID, LOG_DAEMON);
        serve(options, servers, [&to] {
            int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);

            for (int fd = 0; fd <= 2; fd++)
                (void)dup2(null, fd);
            close(null);
            (void)!::write(to, "+", 1);
            close(std::exchange(to, -1));
        });
    } catch (const std::exception &error) {
        std::string text = error.what();

        if (to >= 0)
            (void)!::write(to, text.data(), text.size());
        syslog(LOG_ERR, "%s", text.c_str());
    }
}

void mount_volume(const MountOptions &options, const dtx::Options &servers)
{
    MountOptions absolute = options;
    int ends[2];

    unmount_dead(options.directory, options.volume);
    expect_free(options.directory);
    if (char *path = realpath(options.directory.c_str(), nullptr); path != nullptr) {
        absolute.directory = path;
        free(path);
    }
    if (options.foreground) {
        serve(absolute, servers, [] {});
        return;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail("pipe", errno);

    pid_t child = fork();

    if (child < 0)
        fail("fork", errno);
    if (child == 0) {
        close(ends[0]);
        serve_detached(absolute, servers, ends[1]);
        _exit(0);
    }
    close(ends[1]);

    std::string text;
    char bytes[4096];

    for (ssize_t got; (got = ::read(ends[0], bytes, sizeof(bytes))) > 0;)
        text.append(bytes, static_cast<size_t>(got));
    close(ends[0]);
    if (text != "+")
        throw std::runtime_error(text.empty() ? "the daemon ended before it had mounted the "
                                                "volume: see syslog, or mount with --foreground"
                                              : text);
}

} // namespace rfs
