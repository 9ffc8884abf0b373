/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.cc: create a world from its seed, run its steps, and check it at its end.
 */
#include "swarm/world.h"

namespace swarm
{

World::World(uint64_t seed, bool verbose, bool agents)
    : seed_(seed), verbose_(verbose), agents_(agents), random_(seed)
{
    static const char *const presets[] = { "adr", "adr-noddio", "eadr", "msync" };
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;
    uint64_t clients;

    preset_ = presets[random_.below(4)];
    servers_ = static_cast<uint32_t>(1 + random_.below(3));
    opts.seed = random_.next();
    opts.preset = preset_.c_str();
    opts.servers = servers_;
    opts.pool_bytes = 256u << 10;
    opts.dram_bytes = 16u << 10;
    opts.loss_ppm = random_.chance(50) ? static_cast<uint32_t>(random_.below(30000)) : 0;
    opts.duplicate_ppm = random_.chance(50) ? static_cast<uint32_t>(random_.below(30000)) : 0;
    opts.delay_ns = random_.chance(50) ? static_cast<uint32_t>(random_.below(5000)) : 0;
    opts.native_flush = random_.chance(30);
    if (agents && random_.chance(50))
        opts.agent_faults_ppm = static_cast<uint32_t>(random_.below(300000));
    cli::check("world", rpm_sim_open(&opts, &sim));
    sim_.reset(sim);
    down_.assign(servers_, 0);
    slots_.resize(servers_);
    lock_holders_.resize(servers_);
    for (uint32_t server = 0; server < servers_; server++) {
        logs_.emplace_back();
        for (uint64_t i = 0, n = 1 + random_.below(2); i < n; i++)
            logs_.back().push_back(std::make_unique<LogModel>("log-" + std::to_string(server) +
                                                              "-" + std::to_string(i)));
    }
    clients = 2 + random_.below(3);
    for (uint32_t i = 0; i < clients; i++) {
        clients_.emplace_back();
        clients_.back().id = i + 1;
        clients_.back().server = static_cast<uint32_t>(random_.below(servers_));
    }
}

void World::say(const std::string &text) const
{
    if (verbose_)
        fprintf(stderr, "seed %llu, %llu ns: %s\n", static_cast<unsigned long long>(seed_),
                static_cast<unsigned long long>(rpm_sim_now_ns(sim_.get())), text.c_str());
}

void World::restart(uint32_t server)
{
    say("server " + std::to_string(server) + " comes back");
    int err = rpm_sim_restart(sim_.get(), server);

    while (err == RPM_E_LOST && rpm_sim_cut_happened(sim_.get(), server) != 0)
        err = rpm_sim_restart(sim_.get(), server); /* an armed cut happened during the start */
    cli::check("restart of server " + std::to_string(server), err);
    down_[server] = 0;
}

static rpm_cut some_cut(Random &random)
{
    return static_cast<rpm_cut>(random.below(4));
}

/* Cut the power now, or at one of the next events, in the middle of other operations. */
void World::cut_power(Tally &tally)
{
    uint32_t server = static_cast<uint32_t>(random_.below(servers_));

    if (down_[server])
        return;
    tally.cuts++;
    lock_holders_[server].clear();
    for (Client &client : clients_)
        if (client.server == server)
            client.held = 0;
    if (random_.chance(30)) {
        say("server " + std::to_string(server) + " loses power");
        rpm_sim_power_cut(sim_.get(), server, some_cut(random_));
        down_[server] = 1;
    } else {
        say("server " + std::to_string(server) + " is going to lose power");
        rpm_sim_cut_at(sim_.get(), server, 1 + random_.below(400), some_cut(random_));
    }
}

void World::kill_server(Tally &tally)
{
    uint32_t server = static_cast<uint32_t>(random_.below(servers_));

    if (down_[server])
        return;
    tally.server_kills++;
    say("server process " + std::to_string(server) + " dies");
    lock_holders_[server].clear();
    for (Client &client : clients_)
        if (client.server == server)
            client.held = 0;
    rpm_sim_kill_server(sim_.get(), server);
    down_[server] = 1;
}

void World::kill_client(Client &client, Tally &tally)
{
    if (!client.conn)
        return;
    tally.client_kills++;
    say("client " + std::to_string(client.id) + " dies");
    rpm_sim_kill_client(client.conn.get());
    drop(client);
}

void World::step(Tally &tally)
{
    Client &client = clients_[random_.below(clients_.size())];
    uint64_t what = random_.below(1000);

    for (uint32_t server = 0; server < servers_; server++)
        if (rpm_sim_cut_happened(sim_.get(), server))
            down_[server] = 1;
    if (what < 8)
        return cut_power(tally);
    if (what < 12)
        return kill_server(tally);
    if (what < 18)
        return kill_client(client, tally);
    if (!client.conn) {
        if (down_[client.server] && random_.chance(30))
            restart(client.server);
        if (!down_[client.server] && connect(client))
            open_region_and_locks(client);
        return;
    }
    if (what < 80)
        write_slot(client, tally);
    else if (what < 110)
        check_slots(client);
    else if (what < 160)
        use_lock(client, tally);
    else if (what < 200)
        read_only_walk(client, tally);
    else if (client.log)
        write_step(client, tally);
    else
        (void)open_writer(client, random_.chance(30), tally);
}

void World::run(uint64_t steps, Tally &tally)
{
    say("preset " + preset_ + ", " + std::to_string(servers_) + " servers, " +
        std::to_string(clients_.size()) + " clients");
    for (uint64_t i = 0; i < steps; i++) {
        step(tally);
        tally.steps++;
    }
    for (uint32_t server = 0; server < servers_; server++) {
        rpm_sim_cut_at(sim_.get(), server, 0, RPM_CUT_NONE);
        if (rpm_sim_cut_happened(sim_.get(), server))
            down_[server] = 1;
    }
    final_check(tally);
    for (Client &client : clients_)
        drop(client);
    tally.orders += orders_;
    tally.fallbacks += fallbacks_;
    tally.events += rpm_sim_events(sim_.get());
    tally.worlds++;
}

} // namespace swarm
