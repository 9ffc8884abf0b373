/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h: something else than librpmfs that keeps names of files: a mounted file system, or an
 * embedded store that keeps the names and attributes of files in two tables, as a file
 * system over such a store would. Each call is one transaction, durable by the store's own
 * guarantee when it returns, and changes the same things as a call of rpm-fs: create, rename and
 * unlink also change the times of the directory.
 */
#ifndef FS_PEER_STORE_H
#define FS_PEER_STORE_H

#include "bench/load.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

namespace rfs::peer
{

/* The attributes of a file or directory. */
struct Attributes {
    uint32_t mode = 0100644;
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t links = 1;
    uint64_t size = 0;
    int64_t times_ns[4] = {}; /* of access, data, change and creation */
};

inline int64_t wall_ns()
{
    timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

class Store
{
  public:
    virtual ~Store() = default;
    /* A connection of the calling thread; its directory has the number of the thread. */
    virtual std::unique_ptr<bench::Names> open(uint32_t thread) = 0;
};

/* System calls in a folder. */
std::unique_ptr<Store> make_calls(const std::string &folder);
/* Write-ahead logging, synchronous=FULL. Both are created empty in a folder. */
std::unique_ptr<Store> make_sqlite(const std::string &folder);
/* Defaults: every commit is synchronous. */
std::unique_ptr<Store> make_lmdb(const std::string &folder);

} // namespace rfs::peer
#endif
