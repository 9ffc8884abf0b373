/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clients.cc: the clients' operations on logs, and their handling of failures.
 */
#include "swarm/world.h"

namespace swarm
{

rpm_conn_opts World::conn_opts()
{
    static const char *const hints[] = { "all", "all", "none", "-H9", "-H6", "-H5" };
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = 50000;
    opts.hints = hints[random_.below(6)];
    opts.staging_bytes = 4u << 20;
    return opts;
}

static std::string name_of(const Client &client)
{
    return "client " + std::to_string(client.id);
}

/* A legal method chosen at random, not always the cheapest. */
static uint32_t some_method(const rpm_facts &facts, Random &random)
{
    std::vector<uint32_t> legal = { RPM_METHOD_DEFAULT };

    for (uint32_t method = 1; method < RPM_METHOD_COUNT; method++)
        if ((facts.methods & 1u << method) != 0 &&
            rpm_legal(&facts, static_cast<rpm_method>(method), RPM_DURABLE, nullptr))
            legal.push_back(method);
    return legal[random.below(legal.size())];
}

bool World::dial(Client &client, const rpm_conn_opts &opts, bool agent)
{
    auto *dial = agent ? rpm_sim_connect_agent : rpm_sim_connect;
    rpm_conn *conn = nullptr;

    if (dial(sim_.get(), client.server, &opts, &conn) != 0)
        return false;
    client.conn.reset(conn);
    return true;
}

bool World::connect(Client &client)
{
    bool agent = agents_ && random_.chance(75);
    rpm_conn_opts opts = conn_opts();
    rpm_facts facts = rpm_facts_init();

    if (!dial(client, opts, agent))
        return false;
    cli::check("facts", rpm_conn_facts(client.conn.get(), &facts));
    if (agent && random_.chance(75))
        opts.method = random_.chance(50) ? RPM_METHOD_ORDER : RPM_METHOD_CARRY;
    else
        opts.method = some_method(facts, random_);
    client.conn.reset();
    return dial(client, opts, agent);
}

void World::count_orders(const Client &client)
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    cli::check("stats", rpm_conn_stats(client.conn.get(), &stats));
    orders_ += stats.orders;
    fallbacks_ += stats.order_fallbacks;
}

/* Open region and locks of a new connection; the next use detects a failure. */
void World::open_region_and_locks(Client &client)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    rpm_locks *locks = nullptr;

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 16 * kSlotBytes;
    opts.slot_bytes = random_.chance(50) ? kSlotBytes : 0;
    if (rpm_region_open(client.conn.get(), "slots", &opts, &region) == 0)
        client.region.reset(region);
    if (rpm_locks_open(client.conn.get(), "locks", kLocks, &locks) == 0)
        client.locks.reset(locks);
}

void World::drop(Client &client)
{
    if (client.held != 0)
        lock_holders_[client.server].erase(client.held - 1);
    client.held = 0;
    client.log.reset();
    client.region.reset();
    client.locks.reset();
    if (client.conn)
        count_orders(client);
    client.conn.reset();
    client.outstanding.clear();
    client.model = nullptr;
}

/* Resume or settle the log, with the outcomes of all outstanding appends. False: the connection is
 * lost. */
bool World::resume(Client &client, Tally &tally)
{
    std::vector<rpm_outcome> outcomes(rpm_log_record_max(client.log.get()) != 0 ? 64 : 0);
    uint32_t count = 0;
    bool writes = random_.chance(80); /* resume writing, or only settle */
    auto *settle = writes ? rpm_log_resume : rpm_log_settle;
    int err =
        settle(client.log.get(), outcomes.data(), static_cast<uint32_t>(outcomes.size()), &count);

    if (err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_OWNED)
        return false;
    if (err != 0 && err != (writes ? RPM_E_FENCED : RPM_E_TRIMMED))
        throw Violation("resume: " + std::string(rpm_error_name(err)) + ": " + rpm_last_error());
    tally.resumes++;
    say(name_of(client) + " resumes " + client.model->name() + ": " + std::to_string(count) +
        " outcomes, " +
        (err != 0 ? rpm_error_name(err)
         : writes ? "writer again"
                  : "reader"));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = reinterpret_cast<uint64_t>(outcomes[i].context);
        size_t at = 0;

        while (at < client.outstanding.size() &&
               (number != 0 ? client.outstanding[at].number != number
                            : !client.outstanding[at].blocking))
            at++;
        if (at == client.outstanding.size())
            throw Violation("resume reports a record that was not outstanding");
        number = client.outstanding[at].number;
        client.outstanding.erase(client.outstanding.begin() + static_cast<long>(at));
        say("  record " + std::to_string(number) + " at " + std::to_string(outcomes[i].lsn) +
            ": present " + std::to_string(outcomes[i].present));
        if (outcomes[i].present < 0)
            continue;
        client.model->settle(number, outcomes[i].present == 1, outcomes[i].lsn);
        tally.acknowledged += outcomes[i].present == 1;
        tally.settled_absent += outcomes[i].present == 0;
    }
    reap(client, tally);
    if (!client.outstanding.empty())
        throw Violation("resume reports no outcome of record " +
                        std::to_string(client.outstanding.front().number));
    if (err == 0 && writes)
        walk(client.log.get(), *client.model, true, tally);
    return err == 0 && writes;
}

void World::reconnect(Client &client, Tally &tally)
{
    if (client.log)
        reap(client, tally);
    if (client.held != 0)
        lock_holders_[client.server].erase(client.held - 1);
    client.held = 0;
    client.region.reset();
    client.locks.reset();
    if (down_[client.server] && random_.chance(60))
        restart(client.server);
    if (down_[client.server] || rpm_conn_reconnect(client.conn.get()) != 0) {
        drop(client);
        return;
    }
    if (client.log && !resume(client, tally)) {
        client.log.reset();
        client.outstanding.clear();
        client.model = nullptr;
    }
}

void World::failed(Client &client, int err, Tally &tally)
{
    say(name_of(client) + " fails: " + rpm_error_name(err));
    if (err == RPM_E_LOST || err == RPM_E_TIMEDOUT || (err == RPM_E_FENCED && client.log)) {
        reconnect(client, tally);
    } else if (err == RPM_E_FULL && client.log) {
        trim(client, tally);
    } else if (err != RPM_E_BUSY && err != RPM_E_OWNED) {
        throw Violation("unexpected " + std::string(rpm_error_name(err)) + ": " + rpm_last_error());
    }
}

bool World::open_writer(Client &client, bool takeover, Tally &tally)
{
    auto &logs = logs_[client.server];
    LogModel &model = *logs[random_.below(logs.size())];
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;
    int err;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | (takeover ? RPM_LOG_TAKEOVER : 0);
    opts.capacity_bytes = 8192;
    opts.inflight_max = 32;
    opts.staging_bytes = 64u << 10;
    err = rpm_log_open(client.conn.get(), model.name().c_str(), &opts, &log);
    if (err != 0) {
        failed(client, err, tally);
        return false;
    }
    tally.takeovers += takeover;
    say(name_of(client) + (takeover ? " takes over " : " opens ") + model.name());
    client.log.reset(log);
    client.model = &model;
    client.outstanding.clear();
    walk(log, model, true, tally);
    return true;
}

/* Reap completions: an append is acknowledged, or unknown and kept as outstanding. */
void World::reap(Client &client, Tally &tally)
{
    rpm_completion done[32];
    int n;

    while ((n = rpm_log_poll(client.log.get(), done, 32)) > 0)
        for (int i = 0; i < n; i++) {
            uint64_t number = reinterpret_cast<uint64_t>(done[i].context);

            if (done[i].status != 0)
                continue;
            client.model->settle(number, true, done[i].lsn);
            tally.acknowledged++;
            for (size_t at = 0; at < client.outstanding.size(); at++)
                if (client.outstanding[at].number == number) {
                    client.outstanding.erase(client.outstanding.begin() + static_cast<long>(at));
                    break;
                }
        }
}

static size_t some_length(Random &random)
{
    static const size_t lengths[] = { 8, 16, 40, 41, 100, 232, 233, 300, 600, 1500 };

    return lengths[random.below(10)];
}

void World::append(Client &client, Tally &tally)
{
    uint64_t number = client.model->submit(client.id);
    std::string data = payload_of(number, some_length(random_));
    uint64_t lsn = 0;
    int err;

    client.outstanding.push_back({ number, true });
    err = rpm_log_append(client.log.get(), data.data(), data.size(), &lsn);
    if (err == 0) {
        client.outstanding.pop_back();
        client.model->settle(number, true, lsn);
        tally.acknowledged++;
        return;
    }
    if (err != RPM_E_LOST && err != RPM_E_TIMEDOUT && err != RPM_E_FENCED) {
        client.outstanding.pop_back();
        client.model->forget(number);
    }
    failed(client, err, tally);
}

void World::append_burst(Client &client, Tally &tally)
{
    uint64_t count = 1 + random_.below(24);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = client.model->submit(client.id);
        std::string data = payload_of(number, some_length(random_));
        uint64_t lsn = 0;
        int err = rpm_log_append_async(client.log.get(), data.data(), data.size(),
                                       random_.chance(40) ? static_cast<uint32_t>(RPM_MORE) : 0u,
                                       reinterpret_cast<void *>(number), &lsn);

        if (err == 0) {
            client.model->place(number, lsn);
            client.outstanding.push_back({ number, false });
            continue;
        }
        /* Refused: the record is not in the log and no completion follows. */
        client.model->forget(number);
        if (err == RPM_E_BUSY) {
            reap(client, tally);
            continue;
        }
        failed(client, err, tally);
        return;
    }
    if (random_.chance(50)) {
        int err = rpm_log_persist(client.log.get());

        reap(client, tally);
        if (err != 0)
            failed(client, err, tally);
    }
}

void World::append_batch(Client &client, Tally &tally)
{
    uint32_t count = static_cast<uint32_t>(1 + random_.below(8));
    std::vector<std::string> data;
    std::vector<rpm_slice> slices;
    std::vector<uint64_t> lsns(count);
    std::vector<uint64_t> numbers;
    int err;

    for (uint32_t i = 0; i < count; i++) {
        numbers.push_back(client.model->submit(client.id));
        data.push_back(payload_of(numbers.back(), some_length(random_)));
        client.outstanding.push_back({ numbers.back(), true });
    }
    for (const std::string &record : data)
        slices.push_back({ record.data(), record.size() });
    err = rpm_log_append_batch(client.log.get(), slices.data(), count, lsns.data());
    if (err != RPM_E_LOST && err != RPM_E_TIMEDOUT && err != RPM_E_FENCED)
        client.outstanding.resize(client.outstanding.size() - count);
    for (uint32_t i = 0; i < count; i++) {
        if (err == 0) {
            client.model->settle(numbers[i], true, lsns[i]);
            tally.acknowledged++;
        } else if (err != RPM_E_LOST && err != RPM_E_TIMEDOUT && err != RPM_E_FENCED) {
            client.model->forget(numbers[i]);
        }
    }
    if (err != 0)
        failed(client, err, tally);
}

void World::trim(Client &client, Tally &tally)
{
    uint64_t lsn = client.model->some_present(random_);
    int err;

    client.model->trim_begin(lsn);
    err = rpm_log_trim(client.log.get(), lsn);
    say(name_of(client) + " trims " + client.model->name() + " to " + std::to_string(lsn) + ": " +
        (err == 0 ? "done" : rpm_error_name(err)));
    if (err == 0)
        client.model->trim_done(lsn);
    else if (err != RPM_E_FULL && err != RPM_E_RANGE) /* a fenced writer has an old tail */
        failed(client, err, tally);
}

void World::write_step(Client &client, Tally &tally)
{
    uint64_t what = random_.below(100);

    if (what < 30)
        append(client, tally);
    else if (what < 60)
        append_burst(client, tally);
    else if (what < 75)
        append_batch(client, tally);
    else if (what < 85)
        trim(client, tally);
    else if (what < 92)
        reap(client, tally);
    else if (what < 96)
        walk(client.log.get(), *client.model, false, tally);
    else
        client.log.reset();
    if (!client.log) {
        client.outstanding.clear();
        client.model = nullptr;
    }
}

} // namespace swarm
