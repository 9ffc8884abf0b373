// SPDX-License-Identifier: BSD-3-Clause
// stress.h: a client among many: a thread with a connection that is lost now and then, and the
// state that all of them share.
#ifndef TESTS_LIVE_STRESS_H
#define TESTS_LIVE_STRESS_H

#include "live/live.h"

#include "kill/payload.h"

#include <atomic>
#include <mutex>

namespace stress
{

using live::Server;

inline bool is_loss(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT;
}

// Shared by all clients. Catch2's macros may only be used by one thread.
struct World {
    explicit World(uint64_t from) : seed(from) {}
    // Whether @err is none of the errors of a lost connection.
    void blame(const std::string &who, const std::string &what, int err = 0)
    {
        std::lock_guard<std::mutex> guard(lock);

        stop = true;
        if (first.empty())
            first =
                who + ": " + what +
                (err != 0 ? std::string(": ") + rpm_error_name(err) + ": " + rpm_last_error() : "");
    }

    Server server;
    const uint64_t seed;
    std::atomic<bool> stop{ false };
    std::atomic<uint64_t> losses{ 0 };
    std::mutex lock;
    std::string first; // what was wrong first; empty: nothing
};

// A connection that reconnects whenever it is lost, and sometimes when it is not.
class Client
{
  public:
    Client(World &world, const std::string &who, uint64_t number)
        : world_(world), who_(who + " " + std::to_string(number)),
          state_(world.seed * 1000 + number)
    {
        rpm_conn_opts opts = live::conn_opts();

        opts.staging_bytes = 2 << 20;
        opts.timeout_us = 10000000; // a second of packet loss delays
        int err = rpm_conn_open(world.server.url().c_str(), &opts, &conn_);
        if (err != 0)
            world.blame(who_, "connect", err);
        below(2);
    }
    Client(const Client &) = delete;
    virtual ~Client()
    {
        rpm_conn_close(&conn_);
    }
    void run()
    {
        int err = 0;

        if (conn_ == nullptr)
            return;
        err = open();
        while (!world_.stop || is_loss(err)) {
            if (err == 0 && below(400) == 0)
                err = RPM_E_LOST; // treats it as lost
            if (is_loss(err) && !redial())
                return;
            err = is_loss(err) ? reopen() : step();
            if (err != 0 && !is_loss(err))
                return world_.blame(who_, "goes wrong", err);
        }
        err = finish();
        if (err != 0)
            world_.blame(who_, "ends badly", err);
    }
    std::atomic<uint64_t> done{ 0 };

  protected:
    virtual int open() = 0;
    virtual int reopen() = 0;
    virtual int step() = 0;
    virtual int finish()
    {
        return 0;
    }
    uint64_t below(uint64_t bound)
    {
        return kill_suite::mix(state_) % bound;
    }
    // Counts a wrong result that has no error code.
    int wrong(const std::string &what)
    {
        world_.blame(who_, what);
        return RPM_E_PROTO;
    }
    std::string name(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(world_.lock);

        return world_.server.name(name);
    }

    World &world_;
    const std::string who_;
    rpm_conn *conn_ = nullptr;

  private:
    bool redial()
    {
        int err = RPM_E_LOST;

        world_.losses++;
        for (int i = 0; i < 3 && (is_loss(err) || err == RPM_E_REFUSED); i++)
            err = rpm_conn_reconnect(conn_);
        if (err != 0)
            world_.blame(who_, "reconnect", err);
        return err == 0;
    }

    uint64_t state_;
};

} // namespace stress

#endif
