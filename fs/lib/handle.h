/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h: what the handles of librpmfs point to, and the border that no exception crosses.
 *
 * Tests: tests/unit/fs/lib/library_test.cpp
 */
#ifndef FS_LIB_HANDLE_H
#define FS_LIB_HANDLE_H

#include "core/client/client.h"
#include "core/client/files.h"
#include "core/client/mount.h"
#include "lib/calls.h"
#include <dtx/error.h>

#include <librpmfs.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace rfs
{

inline constexpr uint32_t kInflightMax = 256; /* by default */

/* A random number below 2^63, with which a client makes numbers of owners of locks (lock.cc). */
uint64_t random_owner();

} // namespace rfs

struct rfs_file {
    rfs_file(rfs_client *of, rfs::Credentials caller, int how)
        : client(of), who(std::move(caller)), flags(how)
    {
        who.lost = &lost;
    }
    rfs_file(const rfs_file &) = delete;
    rfs_file &operator=(const rfs_file &) = delete;

    rfs_client *client;
    rfs::Credentials who; /* who has opened it */
    uint32_t ino = 0;
    int flags;
    bool lost = false; /* other clients have dropped its locks */
    rfs::FileCalls calls;
    uint64_t number = 0;          /* among the open files of the client; 0: it has set no lock */
    std::vector<uint64_t> owners; /* that may have locks by this open file, as in rows */
};

struct rfs_client {
    explicit rfs_client(rfs::OpenVolume volume, dtx::Listener *listener = nullptr,
                        uint32_t inflight_max = rfs::kInflightMax)
        : open(std::move(volume)), client(open, listener), calls(client.session(), inflight_max)
    {
    }

    rfs::OpenVolume open;
    rfs::Client client;
    rfs::Calls calls;
    uint64_t next_turn_ns = 0;
    uint32_t turns = 0;
    bool in_turn = false;
    uint64_t owner_salt = rfs::random_owner(); /* lock.cc */
    uint64_t files = 0;                        /* that have set locks */
    std::atomic<bool> interrupted = false;     /* by rfs_interrupt() */
};

namespace rfs
{

/* The text of rfs_last_error(), of this thread. */
std::string &last_error();

/* The error number, negative; notes that it says all of what went wrong. */
int failed(int error);

/* The error number, negative, for the exception that is being handled; notes its text. */
int error_of_exception();

/* If a second has passed since the last time, frees what other clients have removed: take_turn() to
 * its end, unless a call is running; begin_turn() while calls run. */
void take_turn(rfs_client *client);
void begin_turn(rfs_client *client);

/* Runs @act, which returns 0 or a count; its exceptions become negative error numbers. */
template <class Act> auto guarded(Act act) -> decltype(act())
{
    try {
        return act();
    } catch (...) {
        return error_of_exception();
    }
}

/* The same for a call of a client, after which it takes its part in freeing files. */
template <class Act> auto guarded(rfs_client *client, Act act) -> decltype(act())
{
    auto result = guarded(act);

    take_turn(client);
    return result;
}

/* A call, @make: as of Calls::run(), for which the thread waits. */
template <class Make> int64_t run(rfs_client *client, rfs_file *file, Order order, Make make)
{
    return guarded(client, [&]() -> int64_t { return client->calls.run(file, order, make); });
}
template <class Make> int run(rfs_client *client, Make make)
{
    return static_cast<int>(run(client, nullptr, Order::free, make));
}
/* The same, whose completion rfs_poll() returns. */
template <class Make>
int submit(rfs_client *client, rfs_file *file, Order order, void *context, Make make)
{
    return guarded([&] {
        client->calls.submit(file, order, context, make);
        return 0;
    });
}
template <class Make> int submit(rfs_client *client, void *context, Make make)
{
    return submit(client, nullptr, Order::free, context, make);
}

/* Awaited: a handle to a file or directory is closed: the file is freed if that was the last one,
 * and the file has no name any more. */
dtx::Task<> close_handle(rfs_client *client, uint32_t ino);

/* The rest of closing an open file; Calls frees it then. */
dtx::Task<int64_t> close_call(rfs_file *file);
/* Has a file been opened so? */
bool reads(int flags);
bool writes(int flags);
/* Failure: EBADF, it is not open for it; EIO, its locks are gone. */
void expect_usable(const rfs_file *file, bool open_for_it);
/* Awaited: drop the locks that were set by an open file. */
dtx::Task<> drop_locks(rfs_file *file);

/* Throw Failure, EINVAL, for NULL. */
Credentials credentials_of(const rfs_cred *who);
std::string path_of(const char *path);

} // namespace rfs
#endif
