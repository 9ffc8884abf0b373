/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon.cc: receive requests, and answer those that fail.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/daemon.h"

#include "core/client/mount.h"
#include "core/file/contents.h"
#include "core/tree/attributes.h"
#include <dtx/error.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <new>
#include <string>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rfs
{

static constexpr uint64_t kReportNs = 1000000000;  /* between two lines of the log, at least */
static constexpr uint64_t kRepeatNs = 10000000000; /* between two equal lines, at least */
static constexpr uint32_t kDeadTurns = 10; /* of so many looks at orphans, one asks who died */
static constexpr unsigned kLookEvery = 64; /* of so many requests, one looks for other events */
static constexpr size_t kSpareMax = 16;    /* buffers that are kept */
/* How long a daemon that ends waits for servers that do not answer. If it cannot leave the volume
 * in that time, other clients find it dead, and clean up after it. */
static constexpr uint64_t kEndNs = 2000000000;
/* The kernel keeps names and attributes for a time from when it gets the reply: at most so long
 * after the daemon has sent it. */
static constexpr uint64_t kReplyNs = 100000000;
/* So long the kernel keeps no names after names_end(): further such calls need not wait. */
static constexpr uint64_t kNoNamesNs = 60000000000;

/* What libfuse reads at once: pages of the largest write, and its header. */
static size_t buffer_bytes()
{
    static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

    return 256 * page + 4096;
}

void Recycle::operator()(unsigned char *bytes) const
{
    std::unique_ptr<unsigned char[]> owned(bytes);

    if (daemon->spare_.size() < kSpareMax)
        daemon->spare_.push_back(std::move(owned));
}

Daemon::Daemon(Client &client, std::function<void(const std::string &)> log)
    : client_(client), log_(std::move(log)), interrupts_(client.session())
{
}

Daemon::~Daemon()
{
    receiving_.reset();
}

Buffer Daemon::buffer()
{
    static_assert(kCallBytesMax <= 256 * 4096);

    if (spare_.empty())
        return Buffer(new unsigned char[buffer_bytes()], { this });

    unsigned char *bytes = spare_.back().release();

    spare_.pop_back();
    return Buffer(bytes, { this });
}

void Daemon::known(const Told &told, Directories::Place place)
{
    if (told.is_directory() && directories_.known(told.number_told(), place))
        client_.open_files().add(told.node.ino);
}

void Daemon::forgotten(fuse_ino_t number, uint64_t times)
{
    uint32_t ino = static_cast<uint32_t>(number);

    /* It may know the file by another name still, and then loses its pages. */
    if (client_.open_files().has(ino))
        lost_pages(ino);
    else
        known_.erase(ino);
    if (directories_.forgotten(number, times))
        (void)client_.open_files().remove(ino); /* freed by the next look at orphans */
}

void Daemon::let_keep_name(Told &told, bool all_search)
{
    told.keeps_name = told.keep_until_ns != 0 && all_search && dtx::now_ns() >= names_again_ns_;
    if (told.keeps_name)
        names_until_ns_ = std::max(names_until_ns_, told.keep_until_ns);
}

dtx::Task<> Daemon::names_end()
{
    uint64_t now = dtx::now_ns();

    names_again_ns_ = now + kNoNamesNs;
    if (names_until_ns_ + kReplyNs > now)
        co_await client_.session().sleep_until(names_until_ns_ + kReplyNs);
}

bool Daemon::has_pages(const Told &told)
{
    const Node &node = told.node;
    Known &known = known_.try_emplace(node.ino).first->second;
    bool has = known.current && known.version == node.row.data_version;

    if (!has)
        known = { node.row.data_version, told.keep_until_ns != 0 };
    return has;
}

dtx::Task<> Daemon::refresh(const Told &told)
{
    uint32_t ino = told.node.ino;
    auto found = known_.find(ino);

    if (found == known_.end() || !client_.open_files().has(ino))
        co_return;

    Known before = found->second;

    if (before.current && before.version >= told.node.row.data_version &&
        refreshing_.count(ino) == 0)
        co_return;
    known_[ino] = { told.node.row.data_version, true };
    refreshing_.insert(ino); /* until then, other calls do not rely on what is known */
    co_await refresher_->refresh(client_.session(), ino);
    refreshing_.erase(refreshing_.find(ino));
}

void Daemon::changed(const Node &node)
{
    auto found = known_.find(node.ino);

    if (found == known_.end())
        return;

    Known &known = found->second;
    bool next = known.version + 1 == node.row.data_version; /* else others have changed it, too */

    known = { node.row.data_version, known.current && next };
}

void Daemon::lost_pages(uint32_t ino)
{
    auto found = known_.find(ino);

    if (found != known_.end())
        found->second.current = false;
}

dtx::Task<> Daemon::accessed(uint32_t ino)
{
    co_await client_.call(kSelf, [ino](Call &call) { return note_access(call, ino); });
}

void Daemon::report(const std::string &what)
{
    uint64_t now = dtx::now_ns();

    if (now < reported_ns_ + (what == reported_ ? kRepeatNs : kReportNs))
        return;
    reported_ns_ = now;
    reported_ = what;
    log_(what);
}

/* The error number, positive, for the exception that is being handled. */
int Daemon::error_of_exception()
{
    try {
        throw;
    } catch (const Failure &failure) {
        return failure.error;
    } catch (const std::bad_alloc &) {
        return ENOMEM;
    } catch (const std::exception &error) {
        counts_.faults++;
        report(error.what());
        return EIO;
    }
}

/* False: there is none now. */
bool Daemon::receive_one(fuse_session *session)
{
    fuse_buf request{};

    if (receiving_ == nullptr)
        receiving_ = buffer();
    request.mem = receiving_.get();

    int got = fuse_session_receive_buf(session, &request);

    if (got > 0)
        fuse_session_process_buf(session, &request);
    return got > 0 || got == -EINTR;
}

/* Awaited: free what other clients have removed. */
dtx::Task<> Daemon::turn()
{
    access_times_->look();
    if (std::exchange(in_turn_, true))
        co_return;
    try {
        co_await take_turn(client_, turns_++ % kDeadTurns == kDeadTurns - 1);
    } catch (...) { /* the next turn tries again */
        (void)error_of_exception();
    }
    in_turn_ = false;
}

/* Awaited: while the mount has locks, others see that it lives. */
dtx::Task<> Daemon::beat()
{
    if (client_.watched_locks().empty() || std::exchange(in_beat_, true))
        co_return;
    try {
        co_await client_.show_life(true);
    } catch (...) { /* the next one tries again */
        (void)error_of_exception();
    }
    in_beat_ = false;
}

dtx::Task<> Daemon::begin_beats()
{
    if (beaten_entries_ == client_.entries())
        co_return;
    co_await client_.show_life(true);
    beaten_entries_ = client_.entries(); /* it may have entered again just now */
}

/* A descriptor, closed at the end. Throws std::system_error if @fd is none. */
class Owned
{
  public:
    explicit Owned(int fd) : fd_(fd)
    {
        if (fd < 0)
            throw std::system_error(errno, std::generic_category(),
                                    "cannot watch the mount's requests (epoll)");
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned()
    {
        close(fd_);
    }
    int get() const
    {
        return fd_;
    }

  private:
    int fd_;
};

static Owned ending_signals()
{
    sigset_t signals;

    sigemptyset(&signals);
    for (int each : { SIGINT, SIGTERM, SIGHUP })
        sigaddset(&signals, each);
    return Owned(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

static Owned every_second()
{
    itimerspec second{ { 1, 0 }, { 1, 0 } };
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    (void)timerfd_settime(fd, 0, &second, nullptr);
    return Owned(fd);
}

static void watch(const Owned &events, int fd)
{
    epoll_event event{ EPOLLIN, { .fd = fd } };

    if (epoll_ctl(events.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot watch the mount's requests (epoll)");
}

void Daemon::look_for_events(int events, int signals, int timer)
{
    std::array<epoll_event, 3> happened;
    int count = epoll_wait(events, happened.data(), happened.size(), 0);

    for (int i = 0; i < count; i++) {
        int fd = happened[static_cast<size_t>(i)].data.fd;
        uint64_t times = 0;

        if (fd == signals) {
            ending_ = true;
        } else if (fd == timer) {
            (void)!::read(fd, &times, sizeof(times));
            client_.session().start(turn());
            client_.session().start(beat());
        }
    }
}

/* Awaited: starts a coroutine for each request. Each time that the session finds the descriptor of
 * the events readable, this reads one request. It asks neither whether it was a request that made
 * the descriptor readable, nor whether there is a second one: these two system calls would be added
 * to the three that a request costs. */
dtx::Task<> Daemon::receive(fuse_session *session)
{
    Owned events(epoll_create1(EPOLL_CLOEXEC));
    Owned signals = ending_signals();
    Owned timer = every_second();
    unsigned received = 0;

    watch(events, fuse_session_fd(session));
    watch(events, signals.get());
    watch(events, timer.get());
    while (fuse_session_exited(session) == 0 && (!ending_ || refresher_->is_busy())) {
        co_await client_.session().readable(events.get());
        if (!receive_one(session) || ++received % kLookEvery == 0)
            look_for_events(events.get(), signals.get(), timer.get());
    }
    client_.session().end_waits_at(dtx::now_ns() + kEndNs);
}

void Daemon::run(fuse_session *session, const std::string &directory)
{
    int flags = fcntl(fuse_session_fd(session), F_GETFL);
    std::vector<dtx::Task<>> tasks;

    (void)fcntl(fuse_session_fd(session), F_SETFL, flags | O_NONBLOCK);
    session_ = session;
    refresher_.emplace(session, directory);
    access_times_.emplace(directory);
    tasks.push_back(receive(session));
    client_.session().run(std::move(tasks)); /* to the end of the requests, too */
    refresher_.reset();
    session_ = nullptr;
}

} // namespace rfs
