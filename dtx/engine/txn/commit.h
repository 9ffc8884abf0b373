/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.h: commit what a transaction has read and written: lock, validate, log, install, unlock.
 *
 * Why this is strictly serialisable: a transaction takes effect at its validation, when it holds
 * all its locks. A read is valid if validation finds the object's lock free, or held by this
 * transaction, and then finds the version that was read: a transaction that has written the object
 * since would hold the lock, or would have changed the version. A transaction that read a single
 * object, together with its lock in one message, needs no validation: object_reader.cc is_settled()
 * says why; unless it then read bytes of a span, which are of a later time. Nor does a row that the
 * transaction has locked by the message that read it: no other transaction can have written it
 * since.
 *
 * Why bytes of a span fit to the row that led to them: a session overwrites them only after a
 * commit that changed the row, so after that commit had locked the row. A validation that begins
 * after the bytes were read finds the lock or another version.
 *
 * If several servers are involved, all locks are taken before the first read is validated. If one
 * server has all objects, one message does both, in that order.
 *
 * Over a link the session does not wait until a lock is freed: until the server has carried that
 * out, other transactions find the row locked and try again. If it fails, the session joins again,
 * which frees its locks.
 *
 * Why no acknowledged commit is lost: the redo record is durable in all its logs before the first
 * row is written, and stays there until the rows are installed on all copies. Without logs
 * (Options.durable off) a transaction is committed when all its rows are installed; if installing
 * fails, some rows may be new and others old, and its outcome is unknown.
 *
 * Over a link the session acknowledges the commit when the record is in all logs, before the rows
 * are installed (engine/store/install_queue.h). A transaction that begins after that finds the rows
 * locked until they are on all copies, and a read of a locked row is not valid: so it reads the new
 * rows, or waits. If the session ends before the rows are installed, the session that takes its
 * logs over installs them from the record before it frees the locks.
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#ifndef DTX_ENGINE_COMMIT_H
#define DTX_ENGINE_COMMIT_H

#include "engine/store/store.h"
#include <dtx/error.h>
#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dtx
{

class OperationBatch;

class Commit
{
  public:
    /* @log_servers: the servers whose logs get the redo record; none: nothing is logged. */
    Commit(Store &store, ReadWriteSet &set, const std::vector<uint32_t> &log_servers);

    /* True: committed. False: a conflict, and the transaction had no effect. Throws Fenced, and
     * Error for other failed calls of librpm: then the transaction is committed if set.logged is
     * true, may be committed if set.maybe_logged is true, and may have left locks if set.begun is
     * true. Throws Error, RPM_E_TOOBIG, for a transaction larger than a log record, which had no
     * effect. */
    Task<bool> run();

    /* Instead of run(): validate the reads, then free the locks that were taken by reads. True: at
     * one time every object that was read was unlocked and had the version that was read, so the
     * reads are one state of the database. */
    Task<bool> is_as_read();

    /* Instead of run(): free the locks that were taken by reads. Returns false. */
    Task<bool> give_up();

  private:
    void begin_lock(OperationBatch &batch);
    bool end_lock();
    bool is_one_message() const;
    bool take_versions();
    void begin_validate(OperationBatch &batch);
    bool is_settled() const;
    bool end_validate();
    bool is_free(const Access *access);
    bool is_validated(const Access *access) const;
    void check_joined() const;
    std::optional<Error> too_big() const;
    Task<> refuse(Error error);
    void make_versions();
    bool log_now();
    Task<> log_rest();
    bool append(uint32_t server);
    void end_log();
    size_t take_patches(size_t first);
    void begin_install(OperationBatch &batch);
    Task<> install();
    void retire();
    void begin_unlock(OperationBatch &batch);
    Task<> unlock();
    Task<> wait_for_own();
    void queue_install(OperationBatch &installing);
    bool unlock_now();
    void trim();

    Store &store_;
    ReadWriteSet &set_;
    const std::vector<uint32_t> &log_servers_;
    std::vector<Access *> &writes_;
    std::vector<Access *> &reads_;
    std::vector<Spare> &spares_;
    std::vector<uint64_t> &lsns_; /* of the record in each log, in the order of log_servers_ */
    std::vector<rpm_patch> &patches_;
    size_t tried_ = 0;                 /* how many locks begin_lock() tried */
    std::shared_ptr<Pending> pending_; /* of the appends that have to be waited for */
};

} // namespace dtx
#endif
