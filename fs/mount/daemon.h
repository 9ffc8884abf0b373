/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon.h: serves the requests of the kernel for one mount, by one client of the volume. Each
 * request is a coroutine, so requests wait for servers beside each other.
 *
 * The kernel has files open by number. A file that is open, and a directory that the kernel knows,
 * is in the client's open files: it is not freed when it loses its last name.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_DAEMON_H
#define FS_MOUNT_DAEMON_H

#include "core/client/client.h"
#include "core/tree/mounts.h"
#include "mount/access_times.h"
#include "mount/directories.h"
#include "mount/held_locks.h"
#include "mount/interrupts.h"
#include "mount/refresher.h"
#include "mount/request.h"
#include "mount/statistics.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rfs
{

class Daemon;

/* Memory for a request or a reply goes back to its daemon. */
struct Recycle {
    Daemon *daemon = nullptr;
    void operator()(unsigned char *bytes) const;
};
using Buffer = std::unique_ptr<unsigned char[], Recycle>;

class Daemon
{
  public:
    /* @log: takes a line for the operator. */
    Daemon(Client &client, std::function<void(const std::string &)> log);
    ~Daemon();
    Daemon(const Daemon &) = delete;
    Daemon &operator=(const Daemon &) = delete;

    /* Serves until the file system is unmounted, or a signal asks for the end: SIGINT, SIGTERM or
     * SIGHUP, which the caller has blocked. @session: mounted, at @directory, an absolute path.
     * Throws dtx::Error. */
    void run(fuse_session *session, const std::string &directory);

    Client &client()
    {
        return client_;
    }

    /* Files that programs have open; not the directories that the kernel knows. */
    size_t open_files()
    {
        return client_.open_files().size() - directories_.size();
    }

    Counts &counts()
    {
        return counts_;
    }
    HeldLocks &locks()
    {
        return locks_;
    }
    /* Awaited: before a lock is set, this mount has a heartbeat, so that clients that wait for the
     * lock notice if the daemon is stopped. Throws what a call throws. */
    dtx::Task<> begin_beats();
    Interrupts &interrupts()
    {
        return interrupts_;
    }
    /* A number for a file that is being opened, which no other open file of this mount has: even
     * (may_write(), in operations.h, tells what an odd one means). */
    uint64_t next_handle()
    {
        return handles_ += 2;
    }
    /* Does the mount end? Then no request may wait for other ones. */
    bool is_ending() const
    {
        return ending_ || fuse_session_exited(session_) != 0;
    }

    /* Starts a coroutine for a request. @body answers it; what it throws is the answer otherwise.
     * @args: those of the request, which the coroutine keeps. */
    template <class... Args>
    void serve(fuse_req_t handle, dtx::Task<> (*body)(Daemon &, Request &, Args...),
               std::type_identity_t<Args>... args)
    {
        client_.session().start(answer(handle, nullptr, body, std::move(args)...));
    }
    /* The same for one by an open file, which fails if that has lost its locks. @opened: nullptr:
     * by none. */
    template <class... Args>
    void serve_open(fuse_req_t handle, const fuse_file_info *opened,
                    dtx::Task<> (*body)(Daemon &, Request &, Args...),
                    std::type_identity_t<Args>... args)
    {
        auto lost = opened != nullptr ? locks_.lost_of(opened->fh) : nullptr;

        client_.session().start(answer(handle, std::move(lost), body, std::move(args)...));
    }

    /* Awaited: a call that ends with a file, of which the kernel is told. @body: a callable
     * Task<Node>(Call &). */
    template <class Body> dtx::Task<Told> tell(const Credentials &who, Body body)
    {
        uint64_t begin = dtx::now_ns();
        bool solo = false;
        auto with_solo = [&](Call &call) -> dtx::Task<Node> {
            Node node = co_await body(call);

            solo = co_await is_solo(call);
            co_return node;
        };
        Told told;

        told.node = co_await client_.call(who, with_solo);
        told.keep_until_ns = solo ? begin + kKeepNs : 0;
        counts_.solo = solo;
        co_return told;
    }

    /* The kernel may keep the name of what it is told, if attributes as well, and if @all_search:
     * every user may search the directory. */
    void let_keep_name(Told &told, bool all_search);
    /* Awaited: the kernel keeps no name any more, and will keep none for a minute. Called when it
     * may have kept one in a directory, or below it, that not every user may search any more. */
    dtx::Task<> names_end();

    /* The kernel has been told of a file at a place, or forgets it so many times. */
    void known(const Told &told, Directories::Place place);
    void forgotten(fuse_ino_t number, uint64_t times);
    Directories &directories()
    {
        return directories_;
    }

    /* A file is opened: are the pages that the kernel has of it those of its contents now? */
    bool has_pages(const Told &told);
    /* Awaited: before the kernel is told the attributes of a file that other clients may have
     * changed. Then it knows these or newer ones, and has no older pages of the file, if that is
     * open. @told: borrowed until this has been awaited. */
    dtx::Task<> refresh(const Told &told);
    /* Is it the thread of the mount's own refresher? */
    bool is_refresher(pid_t thread) const
    {
        return refresher_->is_own(thread);
    }
    /* The kernel has changed a file, and its pages as well; or not its pages. */
    void changed(const Node &node);
    void lost_pages(uint32_t ino);

    /* For kCallBytesMax bytes, or a whole request of the kernel. */
    Buffer buffer();
    /* For an operation that needs the bytes of its request longer than until it returns. */
    Buffer take_request()
    {
        return std::move(receiving_);
    }

    const AccessTimes &access_times() const
    {
        return *access_times_;
    }
    /* Awaited: a file or directory was read, whose time of last access that sets. */
    dtx::Task<> accessed(uint32_t ino);

    void report(const std::string &what);

  private:
    friend struct Recycle;

    template <class... Args>
    dtx::Task<> answer(fuse_req_t handle, std::shared_ptr<const bool> lost,
                       dtx::Task<> (*body)(Daemon &, Request &, Args...), Args... args)
    {
        Request request(handle, std::move(lost));
        Interrupts::Watch watch(interrupts_, request);

        try {
            co_await body(*this, request, std::move(args)...);
        } catch (...) {
            int error = error_of_exception();

            if (!request.is_answered())
                request.end(error);
        }
    }

    int error_of_exception();
    /* What the kernel knows of the contents of a file. */
    struct Known {
        uint64_t version = 0;
        bool current = false; /* its pages and size are of this version, or newer */
    };

    dtx::Task<> receive(fuse_session *session);
    bool receive_one(fuse_session *session);
    void look_for_events(int events, int signals, int timer);
    dtx::Task<> turn();
    dtx::Task<> beat();

    Client &client_;
    std::function<void(const std::string &)> log_;
    fuse_session *session_ = nullptr; /* while it runs */
    Counts counts_;
    HeldLocks locks_{ client_.watched_locks() };
    Interrupts interrupts_;
    uint64_t handles_ = 0;
    Directories directories_;                      /* that the kernel knows, but for the root */
    std::unordered_map<uint32_t, Known> known_;    /* files that are or were open */
    std::unordered_multiset<uint32_t> refreshing_; /* files that are refreshed now */
    std::optional<Refresher> refresher_;           /* while it runs */
    std::optional<AccessTimes> access_times_;      /* while it runs */
    bool ending_ = false;                          /* a signal has asked for it */
    std::vector<std::unique_ptr<unsigned char[]>> spare_;
    Buffer receiving_;
    uint64_t reported_ns_ = 0;
    std::string reported_;        /* the last line */
    uint64_t names_until_ns_ = 0; /* the kernel keeps no name for longer, and may keep */
    uint64_t names_again_ns_ = 0; /* further ones from then on */
    uint32_t turns_ = 0;
    bool in_turn_ = false; /* of looks at orphans */
    bool in_beat_ = false;
    uint64_t beaten_entries_ = 0; /* Client::entries() when its heartbeat was first there */
};

} // namespace rfs
#endif
