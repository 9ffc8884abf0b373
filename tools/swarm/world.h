/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h: one seeded world: servers and clients of the device model, and the steps that they take.
 */
#ifndef RPM_TOOLS_SWARM_WORLD_H
#define RPM_TOOLS_SWARM_WORLD_H

#include "swarm/model.h"
#include "tool.h"

#include <memory>

namespace swarm
{

struct Tally {
    uint64_t worlds = 0;
    uint64_t steps = 0;
    uint64_t events = 0;
    uint64_t acknowledged = 0;
    uint64_t settled_absent = 0;
    uint64_t cuts = 0;
    uint64_t server_kills = 0;
    uint64_t client_kills = 0;
    uint64_t resumes = 0;
    uint64_t takeovers = 0;
    uint64_t walks = 0;
    uint64_t slots = 0;
    uint64_t locks = 0;
    uint64_t orders = 0;    /* flushes that went to an agent */
    uint64_t fallbacks = 0; /* of these, those that the server fulfilled */
};

struct SimClose {
    void operator()(rpm_sim *sim) const
    {
        rpm_sim_close(&sim);
    }
};

/* One outstanding record. */
struct Outstanding {
    uint64_t number;
    bool blocking; /* a blocking append: its outcome has no context */
};

struct Client {
    uint32_t id = 0;
    uint32_t server = 0;
    cli::Conn conn;
    cli::Log log; /* open for writing, or null */
    LogModel *model = nullptr;
    std::vector<Outstanding> outstanding; /* oldest first */
    cli::Region region;
    cli::Locks locks;
    uint64_t held = 0; /* lock index + 1 that it holds, 0: none */
};

/* One slot of the region on a server: written by one client only. */
struct Slot {
    std::vector<std::string> possible; /* last acknowledged contents, then those of failed writes
                                        since */
};

class World
{
  public:
    /* @agents: most clients have an agent, and flush by its certificates. */
    World(uint64_t seed, bool verbose, bool agents);

    /* Take @steps steps, cut the power of all servers and check their logs. Throws Violation. */
    void run(uint64_t steps, Tally &tally);

  private:
    static constexpr uint32_t kSlotBytes = 256;
    static constexpr uint32_t kLocks = 4;

    void step(Tally &tally);
    void say(const std::string &text) const;

    /* clients.cc */
    bool connect(Client &client);
    bool dial(Client &client, const rpm_conn_opts &opts, bool agent);
    void count_orders(const Client &client);
    void drop(Client &client);
    void reconnect(Client &client, Tally &tally);
    bool resume(Client &client, Tally &tally);
    void open_region_and_locks(Client &client);
    bool open_writer(Client &client, bool takeover, Tally &tally);
    void append(Client &client, Tally &tally);
    void append_burst(Client &client, Tally &tally);
    void append_batch(Client &client, Tally &tally);
    void reap(Client &client, Tally &tally);
    void failed(Client &client, int err, Tally &tally);
    void trim(Client &client, Tally &tally);
    rpm_conn_opts conn_opts();
    void write_step(Client &client, Tally &tally);

    /* checks.cc */
    void walk(rpm_log *log, LogModel &model, bool settles, Tally &tally);
    void read_only_walk(Client &client, Tally &tally);
    void write_slot(Client &client, Tally &tally);
    void check_slots(Client &client);
    void use_lock(Client &client, Tally &tally);
    void final_check(Tally &tally);

    void cut_power(Tally &tally);
    void kill_server(Tally &tally);
    void kill_client(Client &client, Tally &tally);
    void restart(uint32_t server);

    uint64_t seed_;
    bool verbose_;
    bool agents_;
    uint64_t orders_ = 0; /* of connections that were closed */
    uint64_t fallbacks_ = 0;
    Random random_;
    std::unique_ptr<rpm_sim, SimClose> sim_;
    std::string preset_;
    uint32_t servers_ = 1;
    std::vector<uint8_t> down_; /* by server */
    std::vector<std::vector<std::unique_ptr<LogModel>>> logs_;
    std::vector<std::map<uint32_t, Slot>> slots_;            /* by server and client id */
    std::vector<std::map<uint64_t, uint32_t>> lock_holders_; /* by server: lock -> client id */
    std::vector<Client> clients_;
};

} // namespace swarm
#endif
