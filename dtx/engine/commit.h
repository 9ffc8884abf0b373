/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.h: from what a transaction has read and wants written to what everybody sees: lock,
 * validate, log, install, unlock.
 *
 * Why this is serialisable, strictly: a transaction takes effect when its reads are looked at
 * again. It holds all its locks then. A read is good if its object's lock is free, or ours, and
 * only then its version is looked at and is still the one that was read: whoever wrote it in
 * between and has been seen by us anywhere had the lock, or had changed the version.
 *
 * Why nothing acknowledged is lost: the redo record is at the level asked for on all log servers
 * before the first row is touched, and stays until the rows are there on all copies.
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#ifndef DTX_ENGINE_COMMIT_H
#define DTX_ENGINE_COMMIT_H

#include "engine/accesses.h"
#include "engine/store.h"
#include "engine/task.h"

#include <cstdint>
#include <vector>

namespace dtx
{

class Commit
{
  public:
    /* @log_servers: those that get the redo record; none: nothing is logged. */
    Commit(Store &store, Accesses &accesses, const std::vector<uint32_t> &log_servers);

    /* True: committed. False: somebody was in the way, and nothing has happened.
     * Throws Fenced: what accesses.logged and maybe_logged say is known then. Throws Error:
     * RPM_E_TOOBIG, a transaction larger than a log record; nothing has happened. */
    Task<bool> run();

  private:
    Task<bool> lock();
    bool take_versions();
    Task<bool> validate();
    bool is_free(const Access *access);
    bool is_looked_at(const Access *access) const;
    void check_joined() const;
    void check_size() const;
    void make_versions();
    Task<> log();
    Task<> append(const std::vector<unsigned char> &record, uint32_t server, Pending *pending);
    Task<> install();
    size_t take_patches(size_t first);
    Task<> unlock();

    Store &store_;
    Accesses &accesses_;
    const std::vector<uint32_t> &log_servers_;
    std::vector<Access *> &writes_;
    std::vector<Access *> &reads_;
    std::vector<uint64_t> &lsns_; /* of the record, by place in log_servers_ */
    std::vector<rpm_patch> &patches_;
};

} // namespace dtx
#endif
