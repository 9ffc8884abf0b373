/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checks.cc: compare logs, slots and locks with their expected contents.
 */
#include "swarm/world.h"

namespace swarm
{

/* Read the log from its head to its tail, and check it. A connection that is lost meanwhile is not
 * a violation. */
void World::walk(rpm_log *log, LogModel &model, bool settles, Tally &tally)
{
    struct rpm_log_info info = rpm_log_info_init();
    rpm_reader *raw = nullptr;
    rpm_record record;
    int found;

    if (rpm_reader_open(log, nullptr, &raw) != 0)
        return;
    cli::Reader reader(raw);
    /* Opening a reader reads the head again; a writer's own info does not. */
    if (rpm_log_info(log, &info) != 0)
        return;
    std::vector<std::pair<uint64_t, std::string>> seen;
    while ((found = rpm_reader_next(raw, &record)) == 1)
        seen.emplace_back(record.lsn,
                          std::string(static_cast<const char *>(record.data), record.len));
    if (found < 0)
        return;
    model.walk_begin(info.head_lsn);
    for (const auto &[lsn, data] : seen)
        model.walk_record(lsn, data.data(), data.size());
    model.walk_end(settles);
    tally.walks++;
}

void World::read_only_walk(Client &client, Tally &tally)
{
    auto &logs = logs_[client.server];
    LogModel &model = *logs[random_.below(logs.size())];
    rpm_log *log = nullptr;
    int err = rpm_log_open(client.conn.get(), model.name().c_str(), nullptr, &log);

    if (err == 0) {
        cli::Log owner(log);

        walk(log, model, false, tally);
    } else if (err != RPM_E_NOENT) {
        failed(client, err, tally);
    }
}

void World::write_slot(Client &client, Tally &tally)
{
    Slot &slot = slots_[client.server][client.id];
    uint64_t base = static_cast<uint64_t>(client.id) * kSlotBytes;
    std::string next;
    uint64_t offset = 0;
    uint64_t len = kSlotBytes;
    int err;

    if (!client.region)
        return;
    if (slot.possible.empty())
        slot.possible.push_back(std::string(kSlotBytes, '\0'));
    /* After a failed write only a write of the whole slot makes its contents known again. A region
     * with slots may zero bytes up to the next 64, so a partial write is at the slot's end. */
    if (slot.possible.size() == 1 && random_.chance(70)) {
        offset = random_.below(kSlotBytes / 8) * 8;
        len = offset == 0 ? kSlotBytes : kSlotBytes - offset;
    }
    next = slot.possible.back();
    for (uint64_t i = 0; i < len; i++)
        next[offset + i] = static_cast<char>(random_.next());
    slot.possible.push_back(next);
    err = rpm_region_write(client.region.get(), base + offset, next.data() + offset, len);
    if (err == 0) {
        slot.possible = { next };
        tally.slots++;
    } else {
        failed(client, err, tally);
    }
}

/* Each aligned word is that of the last acknowledged write, or of a failed write since. */
void World::check_slots(Client &client)
{
    for (const auto &[id, slot] : slots_[client.server]) {
        char bytes[kSlotBytes];

        if (slot.possible.empty() || !client.region ||
            rpm_region_read(client.region.get(), static_cast<uint64_t>(id) * kSlotBytes, bytes,
                            sizeof(bytes)) != 0)
            continue;
        for (size_t at = 0; at < sizeof(bytes); at += 8) {
            bool known = false;

            for (const std::string &possible : slot.possible)
                known = known || memcmp(possible.data() + at, bytes + at, 8) == 0;
            if (!known)
                throw Violation("slot " + std::to_string(id) + " of server " +
                                std::to_string(client.server) + ": the word at " +
                                std::to_string(at) + " was never written, or is lost");
        }
    }
}

void World::use_lock(Client &client, Tally &tally)
{
    auto &holders = lock_holders_[client.server];
    uint64_t index = random_.below(kLocks);
    int err;

    if (!client.locks)
        return;
    if (client.held != 0) {
        err = rpm_lock_release(client.locks.get(), client.held - 1);
        if (err == RPM_E_FENCED)
            throw Violation("a lock was freed although its holder is alive");
        holders.erase(client.held - 1);
        client.held = 0;
    } else {
        err = rpm_lock_try(client.locks.get(), index);
        if (err == 0 && holders.count(index) != 0)
            throw Violation("lock " + std::to_string(index) + " has two holders");
        if (err == 0) {
            holders[index] = client.id;
            client.held = index + 1;
            tally.locks++;
        }
    }
    if (err != 0)
        failed(client, err, tally);
}

/* The end of a world: all machines lose power; then every acknowledged record must be in its
 * log. */
void World::final_check(Tally &tally)
{
    for (Client &client : clients_)
        drop(client);
    for (uint32_t server = 0; server < servers_; server++) {
        Client last;

        if (!down_[server])
            rpm_sim_power_cut(sim_.get(), server, static_cast<rpm_cut>(random_.below(4)));
        restart(server);
        last.id = 15;
        last.server = server;
        if (!connect(last))
            throw Violation("server " + std::to_string(server) + " cannot be reached any more");
        open_region_and_locks(last);
        check_slots(last);
        for (auto &model : logs_[server]) {
            rpm_log_opts opts = rpm_log_opts_init();
            rpm_log *log = nullptr;

            opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
            opts.capacity_bytes = 8192;
            cli::check("final open of " + model->name(),
                       rpm_log_open(last.conn.get(), model->name().c_str(), &opts, &log));
            cli::Log owner(log);
            walk(log, *model, true, tally);
        }
        drop(last);
    }
}

} // namespace swarm
