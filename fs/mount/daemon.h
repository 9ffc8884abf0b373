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
#include "mount/request.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
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
     * SIGHUP, which the caller has blocked. @session: mounted. Throws dtx::Error. */
    void run(fuse_session *session);

    Client &client()
    {
        return client_;
    }

    /* Starts a coroutine for a request. @body: a callable Task<>(Request &), which answers it; what
     * it throws is the answer otherwise. */
    template <class Body> void serve(fuse_req_t handle, Body body)
    {
        client_.session().start(answer(handle, std::move(body)));
    }

    /* The kernel has been told of a file, or forgets it so many times. */
    void known(const Node &node);
    void forgotten(uint32_t ino, uint64_t times);

    /* For kCallBytesMax bytes, or a whole request of the kernel. */
    Buffer buffer();
    /* For an operation that needs the bytes of its request longer than until it returns. */
    Buffer take_request()
    {
        return std::move(receiving_);
    }

    void report(const std::string &what);

  private:
    friend struct Recycle;

    template <class Body> dtx::Task<> answer(fuse_req_t handle, Body body)
    {
        Request request(handle);

        try {
            co_await body(request);
        } catch (...) {
            int error = error_of_exception();

            if (!request.is_answered())
                request.end(error);
        }
    }

    int error_of_exception();
    dtx::Task<> receive(fuse_session *session);
    bool receive_one(fuse_session *session);
    dtx::Task<> turn();

    Client &client_;
    std::function<void(const std::string &)> log_;
    std::unordered_map<uint32_t, uint64_t> directories_; /* that the kernel knows: how often */
    std::vector<std::unique_ptr<unsigned char[]>> spare_;
    Buffer receiving_;
    uint64_t reported_ns_ = 0;
    uint32_t turns_ = 0;
    bool in_turn_ = false; /* of looks at orphans */
};

} // namespace rfs
#endif
