// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/world.h"

#include "core/client/clock.h"

#include <librpm.h>
#include <malloc.h>
#include <stdexcept>
#include <utility>

namespace crash
{

static constexpr rfs::Sizes kSizes{ 80, kSlabs };
static constexpr uint64_t kPoolBytes = 16 << 20;
static constexpr uint64_t kDramBytes = 2 << 20;
static constexpr int64_t kTickNs = 1000;

Machine::Machine(World &world, uint32_t canary) : world_(world)
{
    dtx::Options options = world.options(canary);

    options.dial = [this](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        return dial(server, opts, conn);
    };
    open_ = std::make_unique<rfs::OpenVolume>(rfs::open_volume("home", options));
    client_ = std::make_unique<rfs::Client>(*open_);
}

Machine::~Machine()
{
    close();
}

void Machine::close()
{
    client_.reset();
}

void Machine::abandon(std::unique_ptr<Machine> machine)
{
    (void)machine.release();
}

int Machine::dial(uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn)
{
    uint64_t now = world_.events();

    if (is_dead())
        throw Ended{};
    if (world_.is_down(server)) {
        int err = rpm_sim_restart(world_.sim_, server);

        world_.restarts++;
        if (err != 0)
            return err;
    }

    int err = rpm_sim_connect(world_.sim_, server, opts, conn);

    if (err == 0 && client_ == nullptr)
        to_[server] = *conn;
    if (err == 0 && dies_at_ != 0)
        rpm_sim_kill_client_at(*conn, dies_at_ > now ? dies_at_ - now : 1);
    return err;
}

void Machine::die_at(uint64_t events)
{
    dies_at_ = world_.events() + events;
    for (auto [server, conn] : to_)
        rpm_sim_kill_client_at(conn, events);
}

bool Machine::is_dead() const
{
    return dead_ || world_.ended() || (dies_at_ != 0 && world_.events() >= dies_at_);
}

void Machine::die()
{
    dead_ = true;
    if (dies_at_ == 0 || world_.events() < dies_at_)
        for (auto [server, conn] : to_)
            rpm_sim_kill_client(conn);
}

World::World(uint64_t seed, uint32_t canary, bool clock) : clock_(clock)
{
    rpm_sim_opts opts = rpm_sim_opts_init();

    // Many processes read whole tables: let malloc keep their memory.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);

    opts.seed = seed;
    opts.servers = kServers;
    opts.pool_bytes = kPoolBytes;
    opts.dram_bytes = kDramBytes;
    if (rpm_sim_open(&opts, &sim_) != 0)
        throw std::runtime_error(std::string("the world does not open: ") + rpm_last_error());
    rfs::set_clock(seed, kTickNs);

    dtx::Options options = this->options(canary);

    options.dial = [this](uint32_t server, const rpm_conn_opts *how, rpm_conn **conn) {
        return rpm_sim_connect(sim_, server, how, conn);
    };
    rfs::make_volume({ "home", kSizes }, options);
}

World::~World()
{
    rpm_sim_close(&sim_);
}

dtx::Options World::options(uint32_t canary) const
{
    dtx::Options options;

    for (uint32_t server = 0; server < kServers; server++)
        options.urls.push_back("sim:" + std::to_string(server));
    options.replicas = 2;
    options.canary = canary;
    options.log_bytes = 128 << 10;
    options.guesses = 1000;
    options.coordinators = 4;
    options.return_us = 0; // clients that a recovery has fenced do not come back: they have died
    options.interleave = clock_ ? 0 : 1; // which has them not look at the clock
    options.notice = [](const std::string &) {};
    return options;
}

void World::cut_at(uint32_t server, uint64_t events, rpm_cut cut)
{
    rpm_sim_cut_at(sim_, server, events, cut);
}

bool World::ended() const
{
    for (uint32_t server = 0; ends_ && server < kServers; server++)
        if (is_down(server))
            return true;
    return false;
}

void World::start_again()
{
    ends_ = false;
    for (uint32_t server = 0; server < kServers; server++) {
        rpm_sim_cut_at(sim_, server, 0, RPM_CUT_NONE);
        if (is_down(server) && rpm_sim_restart(sim_, server) != 0)
            throw std::runtime_error(std::string("a server does not start: ") + rpm_last_error());
    }
}

void World::settle()
{
    static constexpr int kSteps = 1000000;

    for (int i = 0; i < kSteps; i++)
        if (rpm_sim_step(sim_) == 0)
            return;
    throw std::runtime_error("the world does not come to rest");
}

} // namespace crash
