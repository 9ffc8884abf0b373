/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.h: from what a transaction has read and wants written to what everybody sees: lock,
 * validate, log, install, unlock.
 *
 * Why this is serialisable, strictly: a transaction takes effect when its reads are looked at
 * again. It holds all its locks then. A read is good if its object's lock is free, or ours, and
 * only then its version is looked at and is still the one that was read: whoever wrote it in
 * between and has been seen by us anywhere had the lock, or had changed the version. One object
 * that is all that was read, and whose lock was looked at in the message that read it, is not
 * looked at again: store.cc is_settled() says why.
 *
 * Locks of several servers are taken before any read is looked at; if one server has them all, and
 * all that was read, one message does both, in that order.
 *
 * An unlock over a link is sent, and not waited for: until it is carried out others take the row
 * for locked and try again. If it fails the session joins again, which breaks its locks.
 *
 * Why nothing acknowledged is lost: the redo record is at the level asked for on all log servers
 * before the first row is touched, and stays until the rows are there on all copies. Without
 * logs a commit counts as committed when all its rows are installed; if it fails while it installs
 * them, some may be new and others not, and its outcome is unknown.
 *
 * Over a link the outcome is told when the record is in all logs, before the rows are there
 * (engine/behind.h). Whoever begins after that finds the rows locked until they are on all copies,
 * and no read of a locked row is good: so it sees them, or waits. Should the session end before
 * they are there, the one that breaks its locks installs them first, from the record.
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#ifndef DTX_ENGINE_COMMIT_H
#define DTX_ENGINE_COMMIT_H

#include "engine/store.h"
#include <dtx/accesses.h>
#include <dtx/task.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace dtx
{

class Round;

class Commit
{
  public:
    /* @log_servers: those that get the redo record; none: nothing is logged. */
    Commit(Store &store, Accesses &accesses, const std::vector<uint32_t> &log_servers);

    /* True: committed. False: another transaction was in the way, and nothing has happened.
     * Throws Fenced, and Error for other failed calls of librpm: accesses.logged and maybe_logged
     * say then whether it is committed, or may be; if accesses.begun is set, locks may be left.
     * Throws Error, RPM_E_TOOBIG, for a transaction larger than a log record; nothing has happened.
     */
    Task<bool> run();

    /* Instead of run(): is everything that was read still as it was read, and unlocked? If so, all
     * of it was there at one time. */
    Task<bool> is_as_read();

  private:
    void begin_lock(Round &round);
    bool end_lock();
    bool is_one_message() const;
    bool take_versions();
    void begin_validate(Round &round);
    bool is_settled() const;
    bool end_validate();
    bool is_free(const Access *access);
    bool is_looked_at(const Access *access) const;
    void check_joined() const;
    void check_size() const;
    void make_versions();
    bool log_now();
    Task<> log_rest();
    bool append(uint32_t server);
    size_t take_patches(size_t first);
    void begin_install(Round &round);
    Task<> install();
    void retire();
    void begin_unlock(Round &round);
    Task<> unlock();
    Task<> wait_for_own();
    void leave_behind(Round &installing);
    bool unlock_now();
    Task<bool> give_up();
    void trim();

    Store &store_;
    Accesses &accesses_;
    const std::vector<uint32_t> &log_servers_;
    std::vector<Access *> &writes_;
    std::vector<Access *> &reads_;
    std::vector<uint64_t> &lsns_; /* of the record, by place in log_servers_ */
    std::vector<rpm_patch> &patches_;
    size_t tried_ = 0;                 /* of the locks */
    std::shared_ptr<Pending> pending_; /* of the record, where logs have to be waited for */
};

} // namespace dtx
#endif
