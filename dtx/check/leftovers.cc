/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leftovers.cc: reads locks, ready words of shards, and coordinators' logs, without claiming the
 * logs.
 *
 * A record in a log does not mean an unfinished transaction: sessions trim rarely, so it stays long
 * after its rows are installed. Only a row that is older than its record does.
 *
 * Tests: tests/unit/dtx/check/leftovers_test.cpp
 */
#include <dtx/checks.h>

#include "engine/cluster/objects.h"
#include "engine/format/names.h"
#include "engine/format/redo.h"
#include "engine/recovery/recover.h"
#include <dtx/error.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace dtx::checks
{

namespace
{

constexpr size_t kLocksAtOnce = 8192;

class Search
{
  public:
    explicit Search(const Cluster &cluster)
        : cluster_(cluster), scheduler_(cluster.options().seed, 0), servers_(cluster, scheduler_)
    {
        servers_.open(0, Claim::none);
    }

    Leftovers run()
    {
        for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
            look_at_locks(shard);
        for (uint32_t server = 0; server < cluster_.shards(); server++)
            if (servers_.placement().view.alive(server))
                look_at_logs(server);
        for (const auto &[word, version] : newest_)
            look_at_object(Address{ word }, version);
        servers_.close();
        return found_;
    }

  private:
    using Claims = std::vector<uint64_t>; /* by coordinator */

    /* A lock of a claim that does not count any more is free for the session that meets it. */
    static bool is_held(uint64_t word, const Claims &claims)
    {
        uint32_t coordinator = coordinator_of(word);

        return word != 0 &&
               (coordinator >= kCoordinatorsMax || claim_of(word) == claims[coordinator]);
    }

    void look_at_locks(uint32_t shard)
    {
        ServerConnection &connection = servers_.primary(shard);
        uint64_t end = cluster_.layout().lock_bytes();
        std::vector<uint64_t> words(kLocksAtOnce);
        Claims claims(kCoordinatorsMax);

        connection.read_locks(shard, kClaimsOffset, claims.data(),
                              claims.size() * sizeof(uint64_t));
        found_.not_ready += connection.lock_word(shard, kReadyOffset) != kReady ? 1 : 0;
        for (uint64_t offset = kLocksOffset; offset < end;) {
            uint64_t bytes = std::min<uint64_t>(end - offset, kLocksAtOnce * sizeof(uint64_t));

            connection.read_locks(shard, offset, words.data(), bytes);
            for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++)
                found_.locks += is_held(words[i], claims) ? 1 : 0;
            offset += bytes;
        }
    }

    void look_at_logs(uint32_t server)
    {
        rpm_conn *conn = servers_.connection(server).conn();
        const std::string &database = cluster_.schema().name();

        for (uint32_t coordinator : coordinators_on(conn, database))
            look_at_log(conn, log_name(database, coordinator));
    }

    void look_at_log(rpm_conn *conn, const std::string &name)
    {
        rpm_log_opts opts = rpm_log_opts_init();
        rpm_log *log = nullptr;
        int err = rpm_log_open(conn, name.c_str(), &opts, &log);

        if (err == RPM_E_NOENT)
            return;
        check(err, "opening a coordinator's log");
        found_.logs++;
        try {
            each_record(log,
                        [this](const void *record, size_t bytes) { take_record(record, bytes); });
        } catch (...) {
            rpm_log_close(&log);
            throw;
        }
        rpm_log_close(&log);
    }

    void take_record(const void *record, size_t bytes)
    {
        auto take = [this](Address address, const unsigned char *image, uint32_t) {
            uint64_t &newest = newest_[address.word];

            newest = std::max(newest, header_of(image).version);
        };

        if (!decode_redo(cluster_.layout(), cluster_.shards(), record, bytes, take))
            throw Error(RPM_E_CORRUPT, "a coordinator's log has a record that is not a redo "
                                       "record; the log is damaged or belongs to another program");
        found_.records++;
    }

    void look_at_object(Address address, uint64_t version)
    {
        uint32_t bytes = cluster_.layout().table(address.table()).slot_bytes;
        std::vector<unsigned char> image(bytes);
        bool behind = false;

        for (uint32_t copy = 0; copy < servers_.placement().copies(address.shard()); copy++) {
            servers_.connection(servers_.server_of(address.shard(), copy))
                .read(address.shard(), cluster_.layout().row_offset(address), image.data(), bytes);
            behind = behind || !is_whole(image.data(), bytes) ||
                     header_of(image.data()).version < version;
        }
        found_.objects += behind ? 1 : 0;
    }

    const Cluster &cluster_;
    Scheduler scheduler_;
    Servers servers_;
    Leftovers found_;
    std::unordered_map<uint64_t, uint64_t> newest_; /* latest version of each address in records */
};

} // namespace

std::string Leftovers::text() const
{
    return std::to_string(not_ready) + " shards whose server was restarted, " +
           std::to_string(locks) + " locks held, " + std::to_string(objects) +
           " objects older than their redo record";
}

Leftovers look_for_leftovers(const Cluster &cluster)
{
    return Search(cluster).run();
}

} // namespace dtx::checks
