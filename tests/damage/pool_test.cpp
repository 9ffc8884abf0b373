// SPDX-License-Identifier: BSD-3-Clause
// pool_test.cpp: one thing in a pool with content is changed: a bit, or a line or page that reads
// as zeros or as it did earlier. After each change no reader gets a record that was not appended,
// no log reads without an error with fewer records than were acknowledged, and no writer may open a
// log and append over them. Damage is reported, or repaired from a copy.
//
// Two things are not covered: a region's bytes, which have no checksum, and the records at a log's
// end behind which nothing was appended after their acknowledgement: they look like appends that a
// power cut tore. A head, or any later record, distinguishes the two.
//
// LIBRPM_DAMAGE_SEED=N draws other bits; LIBRPM_DAMAGE_ALL=1 flips each bit instead of a few
// thousand.
#include "damage/pool_world.h"
#include "support/rounds.h"

extern "C" {
#include "base/canary.h"
#include "wire/guard.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

using namespace damage;
using namespace loop;

namespace
{

struct Mutant {
    uint64_t at;
    uint64_t len;
    int bit;  // to flip, or -1
    int past; // the earlier pool that the bytes come from, or -1;
              // both -1: zeros

    std::string text() const
    {
        return "bytes " + std::to_string(at) + " to " + std::to_string(at + len) +
               (bit >= 0    ? ", bit " + std::to_string(bit) + " flipped"
                : past >= 0 ? " as in the pool before, " + std::to_string(past)
                            : " read as zeros");
    }
    bool touches(uint64_t from, uint64_t to) const
    {
        return at < to && from < at + len;
    }
};

void apply(const World &world, const Mutant &mutant, Image &pool)
{
    for (uint64_t at = mutant.at; at < mutant.at + mutant.len; at++) {
        if (mutant.bit >= 0)
            pool[at] ^= static_cast<unsigned char>(1 << mutant.bit);
        else
            pool[at] = mutant.past >= 0 ? world.past[static_cast<size_t>(mutant.past)][at] : 0;
    }
}

// The parts of the pool that have a format.
std::vector<std::pair<uint64_t, uint64_t>> structures(const World &world)
{
    std::vector<std::pair<uint64_t, uint64_t>> all = { { 0, 36864 } };

    for (const LogModel &log : world.logs)
        all.emplace_back(log.at, log.at + RPMI_LOG_HEADER_BYTES + log.capacity);
    return all;
}

std::vector<Mutant> bit_mutants(const World &world)
{
    const char *all = std::getenv("LIBRPM_DAMAGE_ALL");
    const char *seed = std::getenv("LIBRPM_DAMAGE_SEED");
    std::vector<Mutant> mutants;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1);
    for (const auto &[from, to] : structures(world))
        for (uint64_t at = from; at < to; at++)
            for (int bit = 0; bit < 8; bit++)
                mutants.push_back({ at, 1, bit, -1 });
    if (all != nullptr)
        return mutants;
    for (size_t i = 0; i < rounds(6000); i++)
        std::swap(mutants[i], mutants[i + rpmi_rng_below(&rng, mutants.size() - i)]);
    mutants.resize(rounds(6000));
    return mutants;
}

std::vector<Mutant> block_mutants(const World &world)
{
    std::vector<Mutant> mutants;

    for (const auto &[from, to] : structures(world))
        for (uint64_t len : { 64u, 256u, 4096u })
            for (uint64_t at = from; at + len <= to; at += len) {
                Image seen(world.pool.begin() + static_cast<ptrdiff_t>(at),
                           world.pool.begin() + static_cast<ptrdiff_t>(at + len));
                std::set<Image> before = { seen };

                if (before.insert(Image(len)).second)
                    mutants.push_back({ at, len, -1, -1 });
                // A page has a hundred words that change in normal use, so only lines are taken
                // from earlier pools.
                for (size_t past = 0; len == 64 && past < world.past.size(); past++) {
                    auto from_past = world.past[past].begin() + static_cast<ptrdiff_t>(at);

                    if (before.insert(Image(from_past, from_past + 64)).second)
                        mutants.push_back({ at, len, -1, static_cast<int>(past) });
                }
            }
    return mutants;
}

// Results of one mutant, and of all.
struct Tally {
    unsigned mutants = 0;
    unsigned refused = 0; // the server refused the whole pool
    unsigned told = 0;    // errors of some log
    unsigned untold = 0;  // records at the end that no later record proves
    std::vector<std::string> wrong;
};

class Trial
{
  public:
    Trial(const World &world, Tally &tally) : world_(world), tally_(tally) {}
    void run(const Mutant &mutant);

  private:
    void wrong(const std::string &what)
    {
        tally_.wrong.push_back(mutant_->text() + ": " + what);
    }
    bool is_told(int err, const std::string &what);
    uint64_t proven(const LogModel &log) const;
    void judge(const LogModel &log, const std::string &who, const std::vector<Record> &found);
    bool read(const LogModel &log, rpm_log *open, std::vector<Record> *found);
    void use_reader(const LogModel &log);
    void use_writer(const LogModel &log);
    void use_region();
    void look_at_names();

    const World &world_;
    Tally &tally_;
    const Mutant *mutant_ = nullptr;
    Server server_{ POOL_BYTES };
    rpm_conn *conn_ = nullptr;
    unsigned turn_ = 0;
};

// Counts an error that reports damage; any other error is wrong.
bool Trial::is_told(int err, const std::string &what)
{
    if (err == RPM_E_CORRUPT)
        tally_.told++;
    else if (err < 0)
        wrong(what + " ends in " + rpm_error_name(err) + ": " + rpm_last_error());
    return err < 0;
}

// Records before this LSN were acknowledged, according to what is left of the log.
uint64_t Trial::proven(const LogModel &log) const
{
    uint64_t lsn = log.base_lsn;

    for (const Kept &kept : log.kept)
        if (!mutant_->touches(log.place(kept.lsn), log.place(kept.lsn) + kept.end_lsn - kept.lsn))
            lsn = std::max(lsn, kept.proves);
    return lsn;
}

void Trial::judge(const LogModel &log, const std::string &who, const std::vector<Record> &found)
{
    for (size_t i = 0; i < found.size(); i++) {
        if (i < log.kept.size() && found[i].lsn == log.kept[i].lsn &&
            found[i].data == log.kept[i].data)
            continue;
        return wrong(who + " of " + log.name + " is given a record at " +
                     std::to_string(found[i].lsn) + " that was not appended there, or was trimmed");
    }
    if (found.size() == log.kept.size())
        return;
    tally_.untold++;
    if (log.kept[found.size()].lsn < proven(log))
        wrong(who + " of " + log.name + " is given " + std::to_string(found.size()) + " of " +
              std::to_string(log.kept.size()) + " records without a word");
}

bool Trial::read(const LogModel &log, rpm_log *open, std::vector<Record> *found)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;

    opts.buffer_bytes = 16 << 10;
    int err = rpm_reader_open(open, &opts, &reader);
    while (err == 0 && (err = rpm_reader_next(reader, &record)) == 1) {
        found->push_back({ std::string(static_cast<const char *>(record.data), record.len),
                           record.lsn, record.epoch });
        err = found->size() > 1000 ? RPM_E_TOOBIG : 0; // the log wraps around often
        if (err == 0)
            continue;
    }
    rpm_reader_close(&reader);
    return !is_told(err, "reading " + log.name);
}

void Trial::use_reader(const LogModel &log)
{
    std::vector<Record> found;
    struct rpm_log_info bounds = rpm_log_info_init();
    Log open;

    if (is_told(open.open(conn_, log.name.c_str(), rpm_log_opts_init()), "opening " + log.name))
        return;
    if (read(log, open, &found))
        judge(log, "a reader", found);
    if (!is_told(rpm_log_info(open, &bounds), "scanning " + log.name) &&
        bounds.records != found.size())
        wrong("a scan of " + log.name + " finds " + std::to_string(bounds.records) +
              " records, a reader " + std::to_string(found.size()));
}

void Trial::use_writer(const LogModel &log)
{
    rpm_log_opts opts = rpm_log_opts_init();
    std::vector<Record> found;
    uint64_t lsn = 0;
    Log open;

    opts.flags = RPM_LOG_WRITE;
    opts.inflight_max = 8;
    opts.staging_bytes = 64 << 10;
    if (is_told(open.open(conn_, log.name.c_str(), opts), "writing to " + log.name))
        return;
    int err = rpm_log_append(open, "new", 3, &lsn);
    if (err == RPM_E_FULL) // a trim that makes room would report damage, too
        return;
    if (is_told(err, "appending to " + log.name) || !read(log, open, &found))
        return;
    if (found.empty() || found.back().data != "new" || found.back().lsn != lsn)
        return wrong("what was appended to " + log.name + " is not there");
    found.pop_back();
    judge(log, "a writer", found);
}

void Trial::use_region()
{
    const RegionModel &model = world_.region;
    std::string data(model.data.size(), '\0');
    rpm_region *region = nullptr;
    int err = rpm_region_open(conn_, model.name.c_str(), nullptr, &region);

    if (is_told(err, "opening the region"))
        return;
    if (rpm_region_bytes(region) != data.size() ||
        rpm_region_read(region, 0, data.data(), data.size()) != 0 || data != model.data)
        wrong("the region is another");
    rpm_region_close(&region);
}

void Trial::look_at_names()
{
    std::set<std::string> names = { world_.region.name };
    std::set<std::string> found;
    rpm_entry entry = rpm_entry_init();
    int err;

    for (const LogModel &log : world_.logs)
        names.insert(log.name);
    while ((err = rpm_conn_next(conn_, &entry)) == 1)
        found.insert(entry.name);
    if (err != 0 || names != found)
        wrong("other objects are listed");
}

void Trial::run(const Mutant &mutant)
{
    uint64_t epochs = server_.entropy;
    int err;

    mutant_ = &mutant;
    tally_.mutants++;
    server_.stop();
    memcpy(server_.pool.bytes.data(), world_.pool.data(), POOL_BYTES);
    apply(world_, mutant, server_.pool.bytes);
    memcpy(server_.pool.kept.data(), server_.pool.bytes.data(), POOL_BYTES);
    server_.entropy = epochs;
    err = server_.start();
    if (err != 0) {
        // A superblock without its magic number looks like a pool that is not formatted.
        bool unformatted = err == RPM_E_NOENT && mutant.at == 0 && mutant.bit < 0;

        tally_.refused++;
        if (err != RPM_E_CORRUPT && err != RPM_E_FOREIGN && err != RPM_E_VERSION && !unformatted)
            wrong(std::string("the pool is refused by ") + rpm_error_name(err));
        return;
    }
    Setup setup = ++turn_ % 2 == 0 ? queued() : synchronous();
    if (connect(server_, setup, nullptr, &conn_) != 0)
        return wrong("no connection");
    look_at_names();
    for (const LogModel &log : world_.logs) {
        use_reader(log);
        use_writer(log);
    }
    use_region();
    rpm_conn_close(&conn_);
}

Tally try_all(const World &world, const std::vector<Mutant> &mutants)
{
    Tally tally;
    Trial trial(world, tally);

    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_ERROR);
    for (const Mutant &mutant : mutants)
        trial.run(mutant);
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    printf("mutants %u refused %u told %u untold %u wrong %zu\n", tally.mutants, tally.refused,
           tally.told, tally.untold, tally.wrong.size());
    for (size_t i = 0; i < std::min<size_t>(tally.wrong.size(), 10); i++)
        printf("  %s\n", tally.wrong[i].c_str());
    return tally;
}

// Runs with a rule removed while the pool is made, or while it is used.
struct Without {
    explicit Without(rpmi_canary which)
    {
        rpmi_canary_now = which;
    }
    Without(const Without &) = delete;
    ~Without()
    {
        rpmi_canary_now = RPMI_CANARY_NONE;
    }
};

} // namespace

TEST_CASE("damage: a pool without damage gives no error", "[damage]")
{
    World world = make_world();
    Tally tally = try_all(world, { { 36864 - 1, 0, -1, -1 } });

    CHECK(tally.wrong.empty());
    CHECK(tally.refused + tally.told + tally.untold == 0);
}

TEST_CASE("damage: a flipped bit of a pool is reported, healed, or harmless", "[damage]")
{
    World world = make_world();
    Tally tally = try_all(world, bit_mutants(world));

    CHECK(tally.wrong.empty());
    CHECK(tally.refused > 0);
    CHECK(tally.told > 0);
}

TEST_CASE("damage: a zeroed block or a stale line is reported, healed, or harmless", "[damage]")
{
    World world = make_world();
    Tally tally = try_all(world, block_mutants(world));

    CHECK(tally.wrong.empty());
    CHECK(tally.refused > 0);
    CHECK(tally.told > 0);
}

TEST_CASE("damage: one copy of the head instead of two is found out", "[damage]")
{
    Without rule(RPMI_CANARY_ONE_HEAD);
    World world = make_world();

    CHECK(!try_all(world, block_mutants(world)).wrong.empty());
}

TEST_CASE("damage: checksums that are not checked are found out", "[damage]")
{
    World world = make_world();
    Without rule(RPMI_CANARY_NO_SUM);

    CHECK(!try_all(world, bit_mutants(world)).wrong.empty());
}
