// SPDX-License-Identifier: BSD-3-Clause
// world.h: a volume in a world of the device model, and the machines of its clients. Servers that
// have lost power, or whose process died, start again when a client connects to them. A machine
// that is dead sends nothing more, and what it tries throws Ended.
#ifndef TESTS_CRASH_FS_WORLD_H
#define TESTS_CRASH_FS_WORLD_H

#include "core/client/client.h"

#include <cstdint>
#include <librpm/sim.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace crash
{

inline constexpr uint32_t kServers = 2;
inline constexpr uint32_t kSlabs =
    1; // of each shard: who needs more blocks takes over what dead clients had

// Thrown by calls of a client whose machine is dead.
struct Ended {
};

class World;

// A machine with one client of the volume.
class Machine
{
  public:
    Machine(World &world, uint32_t canary);
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;
    ~Machine();

    rfs::Client &client()
    {
        return *client_;
    }
    const rfs::OpenVolume &open() const
    {
        return *open_;
    }
    // It dies after so many further events; or now. Its client has not joined again since it was
    // made.
    void die_at(uint64_t events);
    void die();
    bool is_dead() const;
    // Ends the client, as a program that ends does.
    void close();
    // Memory of a dead machine is not freed: its destructors would try to use servers.
    static void abandon(std::unique_ptr<Machine> machine);

  private:
    int dial(uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn);

    World &world_;
    bool dead_ = false;
    uint64_t dies_at_ = 0;              // event of the world; 0: it does not
    std::map<uint32_t, rpm_conn *> to_; // its client's connection to each server
    std::unique_ptr<rfs::OpenVolume> open_;
    std::unique_ptr<rfs::Client> client_;
};

class World
{
  public:
    // @canary: enum dtx::Canary. The same @seed makes the same world, and the same things happen
    // in it, unless clients sleep by the @clock; else a sleep takes no time.
    World(uint64_t seed, uint32_t canary, bool clock = false);
    World(const World &) = delete;
    World &operator=(const World &) = delete;
    ~World();

    uint64_t events() const
    {
        return rpm_sim_events(sim_);
    }
    // A server fails after so many further events; 0: not.
    void cut_at(uint32_t server, uint64_t events, rpm_cut cut);
    bool is_down(uint32_t server) const
    {
        return rpm_sim_cut_happened(sim_, server) != 0;
    }
    // No server may start again, for clients of machines that live then, once one of them fails.
    void ends_with_a_cut()
    {
        ends_ = true;
    }
    bool ended() const;
    void start_again();
    // Goes on until all that was sent has arrived, and servers have found out who is dead.
    void settle();

    int restarts = 0;

  private:
    friend class Machine;

    dtx::Options options(uint32_t canary) const;

    rpm_sim *sim_ = nullptr;
    bool clock_;
    bool ends_ = false;
};

} // namespace crash
#endif
