/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h: a session runs the transactions of one thread. It has that thread's connections to the
 * servers, its coroutines and its counters.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp
 */
#ifndef DTX_SESSION_H
#define DTX_SESSION_H

#include <dtx/cluster.h>
#include <dtx/error.h>
#include <dtx/scheduler.h>
#include <dtx/txn.h>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace dtx
{

enum class Status { committed, aborted, unknown };

/* The outcome of a transaction, and its number of conflicts. */
struct Outcome {
    Status status;
    uint32_t conflicts; /* attempts that ended in a conflict, after which the body ran again */
};

struct Counters {
    uint64_t committed = 0;
    uint64_t aborted = 0;   /* by the program */
    uint64_t conflicts = 0; /* attempts that ended in a conflict */
    uint64_t unknown = 0;   /* commits of which the session could not find out the outcome */
    uint64_t remote = 0;    /* operations on servers */
    uint64_t mended = 0;    /* objects stored again on a server whose copy was damaged */
    /* The next four are 0 where the servers' memory is mapped. */
    uint64_t round_trips = 0;    /* waits for replies; a wait for several servers is one */
    uint64_t messages = 0;       /* tcp: sends to a socket; verbs and rings: operations posted */
    uint64_t sent_bytes = 0;     /* in these messages */
    uint64_t received_bytes = 0; /* in the replies */
    uint64_t rejoined = 0;       /* times the session closed its connections and joined again */
};

/* One attempt of a transaction, as given to a Listener once its outcome is known. */
struct Attempt {
    uint64_t txn;
    uint32_t coordinator;
    uint32_t set; /* number of its read-write set in the session: attempts with the same set come
                     one after the other */
    uint64_t begin_ns;
    uint64_t end_ns;
    Status status;                     /* aborted, if the attempt ended in a conflict */
    bool holds;                        /* its reads were one state of the database: the attempt
                                          committed, or its body gave up and its reads were valid */
    std::span<Access *const> accesses; /* by address */
};

struct Store;
enum class Claim;
class RetryDeadline;

/* Borrowed by a Session until it is destroyed. ended() is called by the session's thread, once for
 * each attempt. */
class Listener
{
  public:
    virtual ~Listener() = default;
    /* What it throws ends transact(), although the transaction may have committed. */
    virtual void ended(const Attempt &attempt) = 0;
    /* The session has joined again, for the @times-th time (Counters::rejoined counts tries that
     * failed, too). Called by its thread, before a transaction begins. Must not throw. */
    virtual void rejoined(uint64_t times)
    {
        (void)times;
    }
};

class Session
{
  public:
    /* Join with coordinator number @coordinator. If another live session has that number, throws
     * Error, RPM_E_OWNED, after retry_us. If a dead session has left locks or records under that
     * number, recovers them first; if servers were restarted since, recovers the whole database.
     *
     * kAnyCoordinator: takes a number that no live session has, tried in turn from a random one on.
     * Each number that another session has costs a connection to the servers. If all of
     * Options::coordinators are taken, waits for one; throws Error, RPM_E_OWNED, after retry_us. */
    Session(const Cluster &cluster, uint32_t coordinator, Listener *listener = nullptr);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    /* Run @body, a callable Task<bool>(Txn &), as a transaction. The body returns true to commit,
     * and returns false or throws an exception of its own to abort. Before an abort, too, the
     * session validates the body's reads as for a commit; if another transaction changed a row that
     * the body read, the body runs again. So a body aborts only because of a state that the
     * database had.
     *
     * After a conflict the session runs the body again from its start, so the body must keep no
     * state between runs. Awaited by a coroutine of this session. A body must not await another
     * transaction, which may not begin before this one has ended.
     *
     * Over a link the rows of a committed transaction may still be in flight when this returns, and
     * stay locked until they are installed on all copies: transactions that need these rows wait,
     * even while this thread runs no coroutine. When run() returns, they are installed.
     *
     * If a server is lost, or another session fences this one, after only some logs may have taken
     * the commit's record, the session joins again and looks whether the rows are written: the
     * commit is complete, or the body runs again.
     *
     * Throws what the body threw, and Error; then the transaction had no effect. If it may have had
     * one, there is no exception: the Outcome says committed or unknown, and if the session must
     * join again and cannot, the next call throws the error. Unknown: the session could not join
     * within retry_us; or, when it looked, other transactions had written all the rows since; or
     * Options::durable is off. */
    template <class Body> Task<Outcome> transact(Body body)
    {
        return attempt(std::move(body), true);
    }

    /* Run coroutines concurrently until all have ended, those too that start() adds meanwhile; then
     * throw the first exception that ended one of them. Not to be called by a coroutine. */
    void run(std::vector<Task<void>> tasks);
    /* A coroutine that runs beside the one that calls this; it is freed when it ends. Before run():
     * begins with it. So a server of requests starts one for each request. */
    void start(Task<void> task);

    /* As run(), for one coroutine: returns when it has ended, although others have not. The others
     * go on in the next call of run_one(), run() or work(). If there are none, all rows that this
     * session has committed are installed when run_one() returns. Throws the exception that ended
     * the coroutine. */
    void run_one(Task<void> task);

    /* For a program with a loop of its own, instead of run(): sends, receives, and lets all
     * coroutines go on that can. If none can, waits until one can, or until @until_ns of now_ns();
     * 0: does not wait. Returns false when no coroutine is left and all committed rows are
     * installed, or throws then the first exception that ended a coroutine. After true, the program
     * must call work() again soon: this session may have locked rows, and a session that waits
     * Options::lease_us for one of them fences it. Not to be called by a coroutine. */
    bool work(uint64_t until_ns);
    /* fd() returns the descriptor to wait for between calls of work(), always the same one. Call
     * arm() last before each wait. If it returns false, the descriptor becomes readable when work()
     * has something to do. If it returns true, do not wait: work() has something to do now, or a
     * server has no descriptor (sim:). Both throw Error, RPM_E_NOMEM: the process has no
     * descriptors left. */
    int fd();
    bool arm();

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

    /* Awaited: let the other coroutines of this session run first. */
    Scheduler::Turn turn();
    /* Awaited: continue when @fd can be read, has failed or was hung up, so that read() does not
     * block. The caller keeps the descriptor open until then. A session whose coroutines all wait
     * sleeps; one that is busy asks for descriptors every few passes over its coroutines. */
    Scheduler::Readable readable(int fd);
    /* Awaited: continue at @until_ns of now_ns() or soon after. */
    Scheduler::Sleep sleep_until(uint64_t until_ns);
    /* Awaited: a second thread calls Cluster::inherit() or Cluster::recover(), which block until
     * the servers have answered, and the other coroutines of this session go on meanwhile. While a
     * server does not answer or the view is being changed, calls it again, for up to retry_us, as a
     * session joins again. Throws what these throw; Error, RPM_E_NOMEM: no descriptor or no thread
     * is left. With Options::interleave or Options::dial, in tests, the session's own thread calls
     * them. */
    Task<Life> inherit(uint32_t coordinator);
    Task<void> recover(uint32_t coordinator);
    /* For a program that is about to end: from @until_ns of now_ns() on no call waits for servers
     * that do not answer, it throws Error as after retry_us. */
    void end_waits_at(uint64_t until_ns);

    /* Adds up the counters of all connections; rejoined(), which is one of them, costs nothing. */
    const Counters &counters() const;
    uint64_t rejoined() const;
    const Cluster &cluster() const;
    /* The number under which the session has joined. */
    uint32_t coordinator() const;

  private:
    friend class Txn;
    enum class Ending { commit, abort, conflict, unknown };
    struct State;
    struct Opening;

    /* While an object of this class exists, one coroutine joins again, and no attempt begins. */
    struct Joining {
        explicit Joining(State &all);
        Joining(Joining &&other) noexcept : state(std::exchange(other.state, nullptr)) {}
        Joining(const Joining &) = delete;
        Joining &operator=(const Joining &) = delete;
        Joining &operator=(Joining &&) = delete;
        ~Joining();
        State *state;
    };

    /* A transaction that was admitted; its destructor admits the next one. */
    class Admitted
    {
      public:
        explicit Admitted(Session &session) : session_(&session) {}
        Admitted(Admitted &&other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
        Admitted(const Admitted &) = delete;
        Admitted &operator=(const Admitted &) = delete;
        Admitted &operator=(Admitted &&) = delete;
        ~Admitted()
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
        Admitted await_resume()
        {
            return Admitted(session);
        }
        Session &session;
    };

    /* How a run of a body ended, which says what the session does next. */
    enum class BodyResult {
        commit,
        give_up,    /* it returned false or threw an exception of its own */
        run_again,  /* a call of the engine inside it found a conflict */
        join_again, /* a call of the engine inside it found this session fenced */
        fail        /* a call of the engine inside it failed in another way */
    };

    /* What is known of a transaction between its attempts. */
    struct Progress {
        Outcome outcome{ Status::aborted, 0 };
        uint32_t counted = 0; /* conflicts; repeated conflicts on one lock count once */
    };

    /* As transact(). @admits: false within a transaction that was admitted already. */
    template <class Body> Task<Outcome> attempt(Body body, bool admits)
    {
        Progress progress;
        std::optional<Admitted> admitted;

        if (admits) {
            admitted.emplace(co_await Admission{ *this });
            if (wants_numbers())
                co_await rejoin(joined(), true);
        }
        for (bool again = true; again;) {
            while (!may_begin())
                co_await prepare_to_begin();
            ReadWriteSet &set = begin();
            Txn txn(*this, set, set.txn);
            BodyResult result = BodyResult::give_up;
            std::exception_ptr thrown;

            try {
                bool commits = co_await body(txn);

                result = commits ? BodyResult::commit : BodyResult::give_up;
            } catch (const Inconsistent &found) {
                result = result_after(found, progress.outcome.conflicts, thrown);
            } catch (const Conflict &) {
                result = BodyResult::run_again;
            } catch (const Fenced &) {
                result = BodyResult::join_again;
            } catch (const Failed &) {
                result = BodyResult::fail;
                thrown = std::current_exception();
            } catch (...) {
                thrown = std::current_exception();
            }
            again = co_await conclude(set, result, std::move(thrown), progress);
        }
        if (admits && has_surplus())
            co_await return_surplus();
        if (admits && is_turn_over())
            co_await turn();
        co_return progress.outcome;
    }

    bool enter();                               /* false: too many are under way; queue() then */
    void queue(std::coroutine_handle<> handle); /* waits for admission */
    void leave();                               /* also admits waiting coroutines */

    /* Has this coroutine run many transactions and not waited? Where the servers' memory is mapped,
     * nothing in a transaction waits, and the other coroutines would never run. */
    bool is_turn_over();
    bool may_begin() const;
    Task<void> prepare_to_begin();
    ReadWriteSet &begin();
    /* After a body found its reads inconsistent with each other. @thrown: the Error, RPM_E_CORRUPT,
     * that ends the transaction if validation shows that the rows are still as they were read. */
    BodyResult result_after(const Inconsistent &found, uint32_t conflicts,
                            std::exception_ptr &thrown);
    /* End an attempt: commit it, or validate the reads of a body that gave up. True: the body has
     * to run again. Throws @thrown if the body gave up by throwing it. */
    Task<bool> conclude(ReadWriteSet &set, BodyResult result, std::exception_ptr thrown,
                        Progress &progress);
    Task<Ending> find_out(ReadWriteSet &set);
    bool end(ReadWriteSet &set, Ending ending, bool holds);
    Opening begin_to_join(Claim claim);
    void take(Opening &opened);
    void check_deadline(RetryDeadline &deadline, const Error &error);
    Task<void> pause(RetryDeadline &deadline);
    Task<void> until_answered(std::function<void()> body);
    bool end_try(Opening &tried);
    void join();
    Task<void> on_second_thread(std::function<void()> body);
    bool may_use_second_thread() const;
    Task<void> join_again();
    Task<void> join_once(Joining joining);
    Task<void> begin_to_join_once();
    void end_joining();
    void start_numbers();
    void leave_servers();
    uint64_t joined() const;
    Task<void> rejoin(uint64_t joined, bool needed);
    Task<void> until_joined();
    bool is_installing() const;
    Task<void> rejoin_after_commits(uint64_t joined, bool needed);
    bool is_under_way(uint64_t txn) const;
    Task<bool> is_held(BlockingLock lock);
    Task<bool> handle_lock_owner(BlockingLock lock, uint64_t joined);
    Task<void> take_over(uint32_t coordinator, Claim claim);
    Task<void> back_off(Progress &progress, BlockingLock blocking_lock, uint64_t joined);
    bool may_enter() const;
    bool wants_numbers() const;
    Task<std::vector<uint64_t>> hand_out(Address head, uint64_t many);
    uint64_t returned_at_once(Address head);
    void run_all(std::vector<Task<void>> tasks);
    void end_run();
    bool has_surplus();
    Task<void> return_surplus();
    Task<Status> return_slots(Address head, const std::vector<uint64_t> &slots,
                              uint64_t generation);
    Task<void> return_table(Address head, uint64_t generation);
    void return_all_slots();
    void trim_logs();
    Store &store();
    static Ending ending_of(const ReadWriteSet &set); /* of a fenced attempt */
    static Status status_of(Ending ending);

    std::unique_ptr<State> state_;
};

} // namespace dtx
#endif
