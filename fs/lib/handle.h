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
#include <dtx/error.h>

#include <librpmfs.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

struct rfs_client {
    explicit rfs_client(rfs::OpenVolume volume, dtx::Listener *listener = nullptr)
        : open(std::move(volume)), client(open, listener)
    {
    }

    rfs::OpenVolume open;
    rfs::Client client;
    uint64_t next_turn_ns = 0;
    uint32_t turns = 0;
};

namespace rfs
{

/* The text of rfs_last_error(), of this thread. */
std::string &last_error();

/* The error number, negative, for the exception that is being handled; notes its text. */
int error_of_exception();

/* Frees what other clients have removed, if a second has passed since the last time. */
void take_turn(rfs_client *client);

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

/* A handle to a file or directory is closed: the file is freed if that was the last one, and the
 * file has no name any more. */
void close_handle(rfs_client *client, uint32_t ino);

/* Throws Failure, EINVAL, for NULL. */
Credentials credentials_of(const rfs_cred *who);

} // namespace rfs
#endif
