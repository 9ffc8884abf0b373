/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h: one thread's way to a database: its connections, its coroutines, its counters.
 *
 * Tests: tests/unit/dtx/engine/session_test.cpp
 */
#ifndef DTX_ENGINE_SESSION_H
#define DTX_ENGINE_SESSION_H

#include "engine/cluster.h"
#include "engine/error.h"
#include "engine/scheduler.h"
#include "engine/txn.h"

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace dtx
{

enum class Status { committed, aborted, unknown };

/* How a transaction ended, and what it took. */
struct Outcome {
    Status status;
    uint32_t conflicts; /* attempts that were in somebody's way */
};

struct Counters {
    uint64_t committed = 0;
    uint64_t aborted = 0;   /* by the program */
    uint64_t conflicts = 0; /* attempts that were tried again */
    uint64_t unknown = 0;   /* fenced, or a server lost, in the middle of a commit */
    uint64_t remote = 0;    /* operations on servers */
    uint64_t rejoined = 0;
};

/* Hears of every attempt: for histories. Called when its end is known. */
struct Attempt {
    uint64_t txn;
    uint32_t coordinator;
    uint32_t lane; /* attempts of one lane of a session come one after the other */
    uint64_t begin_ns;
    uint64_t end_ns;
    Status status;                     /* a conflict is aborted */
    std::span<Access *const> accesses; /* by address */
};

class Store;
struct Obstacle;
enum class Claim;

class Listener
{
  public:
    virtual ~Listener() = default;
    virtual void ended(const Attempt &attempt) = 0;
};

class Session
{
  public:
    /* Join with coordinator number @coordinator, which no living session may have: throws Error
     * RPM_E_OWNED then, when patience_us are over. One that is there from a session that died is
     * recovered first. A database whose servers were restarted since is recovered as a whole
     * first. */
    Session(const Cluster &cluster, uint32_t coordinator, Listener *listener = nullptr);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    /* Run @body, a callable Task<bool>(Txn &), until it commits or its program does not want to:
     * true asks for the commit, false gives the transaction up, and so does what it throws: then
     * what it read may be of different times. A body is run again from its start
     * after a conflict, so it keeps nothing between runs. Awaited by a coroutine of this session.
     * A body awaits no other transaction: it may have to wait until this one has ended. */
    template <class Body> Task<Outcome> transact(Body body)
    {
        return attempt(std::move(body), true);
    }

    /* Run coroutines side by side until all have ended. The first exception of one is thrown here
     * when the others are through. Not from within a coroutine. */
    void run(std::vector<Task<void>> tasks);

    /* One transaction, for a program without coroutines. */
    template <class Body> Outcome transact_now(Body body)
    {
        Outcome outcome{};
        auto task = [this, &body, &outcome]() -> Task<void> {
            outcome = co_await transact(std::move(body));
        };
        std::vector<Task<void>> tasks;

        tasks.push_back(task());
        run(std::move(tasks));
        return outcome;
    }

    /* Let the other coroutines of this session go first. */
    Scheduler::Turn turn();

    const Counters &counters() const;
    const Cluster &cluster() const;

  private:
    friend class Txn;
    enum class Ending { commit, abort, conflict, unknown };
    struct State;

    /* One of those that may be under way, until its end. */
    class Place
    {
      public:
        explicit Place(Session &session) : session_(&session) {}
        Place(Place &&other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
        Place(const Place &) = delete;
        Place &operator=(const Place &) = delete;
        Place &operator=(Place &&) = delete;
        ~Place()
        {
            if (session_ != nullptr)
                session_->leave();
        }

      private:
        Session *session_;
    };
    struct Admission {
        bool await_ready()
        {
            return session.enter();
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            session.queue(handle);
        }
        Place await_resume()
        {
            return Place(session);
        }
        Session &session;
    };

    /* As transact(). Not @alone: within a transaction that was admitted. */
    template <class Body> Task<Outcome> attempt(Body body, bool alone)
    {
        Outcome outcome{ Status::aborted, 0 };
        std::optional<Place> place;

        if (alone)
            place.emplace(co_await Admission{ *this });
        for (bool again = true; again;) {
            Accesses &accesses = begin();
            Txn txn(*this, accesses, accesses.txn);
            Ending ending = Ending::conflict;
            uint64_t joined = accesses.joined;
            const char *inconsistent = nullptr;
            bool fenced = false;

            try {
                ending = co_await body(txn) ? co_await commit(accesses) : Ending::abort;
            } catch (const Inconsistent &found) {
                inconsistent = found.what;
            } catch (const Conflict &) {
            } catch (const Fenced &) {
                ending = ending_of(accesses);
                fenced = true;
            } catch (...) {
                end(accesses, Ending::abort);
                throw;
            }
            if (inconsistent != nullptr)
                fenced = co_await expect_changed(accesses, inconsistent, outcome.conflicts);
            again = end(accesses, ending);
            outcome.conflicts += again ? 1 : 0;
            outcome.status = status_of(ending);
            if (fenced)
                rejoin(joined);
            if (again)
                co_await back_off(outcome.conflicts);
        }
        co_return outcome;
    }

    bool enter();                               /* false: there are enough; queue() then */
    void queue(std::coroutine_handle<> handle); /* until it has entered */
    void leave();                               /* and let others in */

    Accesses &begin();
    Task<Ending> commit(Accesses &accesses);
    /* What was read cannot be together. Ends them with an Error, RPM_E_CORRUPT and @what, if it is
     * all as it was. True: this session was fenced meanwhile. */
    Task<bool> expect_changed(Accesses &accesses, const char *what, uint32_t conflicts);
    bool end(Accesses &accesses, Ending ending);
    bool try_to_join(Claim claim);
    void lose_patience(const Error &error);
    void join(Claim claim);
    void start_numbers();
    void rejoin(uint64_t joined);
    void look_after_owner(Obstacle obstacle);
    Task<void> back_off(uint32_t conflicts);
    Task<std::vector<uint64_t>> hand_out(Address word, uint64_t many);
    void return_slots(Address word, const std::vector<uint64_t> &slots, uint64_t era);
    void return_all_slots();
    Store &store();
    static Ending ending_of(const Accesses &accesses); /* of one that was fenced */
    static Status status_of(Ending ending);

    std::unique_ptr<State> state_;
};

} // namespace dtx
#endif
