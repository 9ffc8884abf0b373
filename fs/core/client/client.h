/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.h: a client of a volume: a session of its database, which runs calls as transactions.
 *
 * A client belongs to one thread; its calls may run beside each other, as coroutines.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#ifndef FS_CORE_CLIENT_CLIENT_H
#define FS_CORE_CLIENT_CLIENT_H

#include "core/call/call.h"
#include "core/client/seen_beats.h"
#include "core/client/space.h"
#include "core/client/volume.h"
#include "core/client/watched_locks.h"
#include <dtx/session.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <variant>

namespace rfs
{

/* Of calls that a client makes for itself. */
inline const Credentials kSelf{};

/* Throws dtx::Error, RPM_E_OWNED: a client keeps the caller from having the volume alone. */
[[noreturn]] void fail_in_use(uint32_t coordinator);

class Client
{
  public:
    /* Joins the database. @open: borrowed until the client is destroyed; shared by clients.
     * @listener: of the session; borrowed. Throws dtx::Error. */
    explicit Client(const OpenVolume &open, dtx::Listener *listener = nullptr);
    /* Gives its slabs back. If that fails, the next session with its coordinator, or one that finds
     * no other free blocks, takes them. */
    ~Client();
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    /* Awaited: run @body, a callable Task<Result>(Call &), as one transaction, again after each
     * conflict. @who: borrowed until this has been awaited. Throws Failure: what the body threw;
     * EIO, the session could not find out whether the call took effect. Throws dtx::Error. */
    template <class Body> auto call(const Credentials &who, Body body)
    {
        using Result = decltype(body(std::declval<Call &>()).await_resume());

        return run<Result>(who, std::move(body));
    }

    /* The same for a caller that is not a coroutine. */
    template <class Body> auto call_now(const Credentials &who, Body body)
    {
        return finish(call(who, std::move(body)));
    }

    /* For such a caller: run a coroutine of this client to its end; others that were started go on
     * meanwhile, and need not end. Returns its result, or throws what it throws. */
    void finish(dtx::Task<> task);
    template <class Result> Result finish(dtx::Task<Result> task)
    {
        std::optional<Result> result;
        auto keep = [&]() -> dtx::Task<> { result.emplace(co_await std::move(task)); };

        finish(keep());
        return std::move(*result);
    }

    const Volume &volume() const
    {
        return open_.volume;
    }
    const dtx::Cluster &cluster() const
    {
        return *open_.cluster;
    }
    dtx::Session &session()
    {
        return session_;
    }
    /* Awaited: has the client with that coordinator number died, or its heartbeat @beat stood still
     * for too long (seen_beats.h)? If so, it is fenced. To ask takes a connection to each server,
     * so one that lives is asked once a second at most. Throws dtx::Error. */
    dtx::Task<bool> has_died(uint32_t coordinator, uint64_t beat = 0);
    /* Awaited: the same without a heartbeat, at once; waits while the client is away, because it
     * may be about to come back after a server was started again (dtx::Life). */
    dtx::Task<bool> inherit(uint32_t coordinator);
    OpenFiles &open_files()
    {
        return open_files_;
    }
    Space &space()
    {
        return space_;
    }
    /* Call::owner of a call that begins now. */
    uint64_t owner();
    WatchedLocks &watched_locks()
    {
        return watched_locks_;
    }
    /* Awaited: commit a row, which succeeds only if other clients have not fenced this one. If they
     * have, this client enters the volume again first, and so learns which of its watched locks are
     * gone. @beats: count up the heartbeat in that row. A caller that has done so once repeats it
     * each second while it has locks. */
    dtx::Task<> show_life(bool beats);
    /* Awaited: note that the client has the volume open, and wait if another one was the solo
     * client (tree/mounts.h). If the session joins again later, other clients may have taken this
     * one for dead: then its next call does the same first, and sees which of its watched locks are
     * gone. leave(): it has closed the volume. enter() throws dtx::Error, RPM_E_BUSY, while another
     * client has the volume alone.
     * enter_alone(): enter, and keep other clients out until leave(), to repair the volume. Throws
     * dtx::Error, RPM_E_OWNED: another client that lives has it open. */
    dtx::Task<> enter();
    dtx::Task<> enter_alone();
    dtx::Task<> leave();
    /* Awaited: in a full volume, wait until a file that has lost its last name is freed: other
     * clients release such files once a second, and this one releases those of dead clients. False:
     * there is none, or none was freed within 2.5 s. call() does this before it fails: ENOSPC. */
    dtx::Task<bool> reclaim();
    /* How often it has entered. */
    uint64_t entries() const
    {
        return entries_;
    }

  private:
    /* What a body returned; of a body that returns nothing, that it has ended. */
    template <class Result>
    using Kept = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

    /* Ends an attempt: the client has to be mounted again. */
    struct Stale {
    };

    template <class Result, class Body> dtx::Task<Result> run(const Credentials &who, Body body)
    {
        for (bool full = false;;) {
            if (full) {
                bool freed = co_await reclaim();

                expect(freed, ENOSPC);
            }
            while (is_stale())
                co_await enter_again();
            try {
                co_return co_await run_once<Result>(who, body, true);
            } catch (const Stale &) {
            } catch (const Failure &failure) {
                full = failure.error == ENOSPC && &who != &kSelf;
                if (!full)
                    throw;
            }
        }
    }

    /* @checks: the client must not be stale. */
    template <class Result, class Body>
    dtx::Task<Result> run_once(const Credentials &who, Body &body, bool checks)
    {
        std::optional<Kept<Result>> result;
        dtx::Outcome outcome = co_await session_.transact([&](dtx::Txn &txn) -> dtx::Task<bool> {
            if (checks && is_stale())
                throw Stale{};

            Call call = begin(txn, who);

            if constexpr (std::is_void_v<Result>) {
                co_await body(call);
                result.emplace();
            } else {
                result.emplace(co_await body(call));
            }
            co_return true;
        });

        if (outcome.status == dtx::Status::unknown)
            throw Failure{ EIO };
        if (must_confirm_locks(who))
            co_await confirm_locks();
        expect(who.lost == nullptr || !*who.lost, EIO);
        if constexpr (!std::is_void_v<Result>)
            co_return std::move(*result);
    }

    bool is_stale() const
    {
        return entered_ && joined_ != session_.rejoined();
    }
    dtx::Task<> enter_again();
    dtx::Task<bool> enter_with_others();
    dtx::Task<bool> take_alone_once();
    dtx::Task<dtx::Life> look_at(uint32_t coordinator, bool waits);
    dtx::Task<size_t> count_orphans(bool keep);
    dtx::Task<> look_for_locks();
    bool must_confirm_locks(const Credentials &who) const;
    dtx::Task<> confirm_locks();
    Call begin(dtx::Txn &txn, const Credentials &who);

    const OpenVolume &open_;
    dtx::Session session_;
    dtx::SplitMix64 random_;
    OpenFiles open_files_;
    bool entered_ = false;
    bool alone_ = false;
    bool entering_ = false;
    uint64_t joined_ = 0;                       /* Counters::rejoined when it entered */
    std::unordered_set<uint32_t> open_orphans_; /* that were not freed while reclaim() waited */
    uint64_t owner_ = 0;
    uint64_t owner_joined_ = 0; /* Counters::rejoined for which that is */
    uint64_t entries_ = 0;
    WatchedLocks watched_locks_;
    uint64_t lived_ns_ = 0; /* when the last commit of show_life() began */
    bool shows_life_ = false;
    SeenBeats seen_beats_;
    Space space_{ *this };
    std::array<uint64_t, kClientsMax> asked_ns_{}; /* by coordinator: last found alive */
};

} // namespace rfs
#endif
