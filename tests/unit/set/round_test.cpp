// SPDX-License-Identifier: BSD-3-Clause
// round_test.cpp: rounds by hand, and worlds: writers that run rounds, append and trim, while
// servers stop, lose power or memory and come back, and messages are lost at random. After each
// round that succeeds, its log must have every record that was acknowledged, once and in order.
#include "support/rounds.h"
#include "unit/log/kinds.h"
#include "unit/set/members.h"

#include <map>
#include <set>

using members::Servers;
using members::Shape;
using members::text_has;
using members::Writer;

namespace
{

using Strings = std::vector<std::string>;

// What went wrong in a world; empty: nothing.
struct Wrong {
    std::string text;
};

// What worlds have done.
struct Tally {
    uint64_t rounds = 0;
    uint64_t acknowledged = 0;
    uint64_t filled = 0; // bytes
    uint64_t rejoined = 0;
};

class World
{
  public:
    World(uint64_t seed, const Shape &shape, Tally &tally)
        : tally_(tally), servers_(shape), forgetful_(shape.copies), base_(shape.copies)
    {
        rpmi_rng_seed(&rng_, seed);
    }
    // Throws Wrong.
    void run(uint32_t steps)
    {
        for (uint32_t i = 0; i < steps; i++)
            step();
        for (auto &server : servers_.all)
            if (!server->up)
                must(server->start(), "start");
        writers_.clear();
        auto last = std::make_unique<Writer>(servers_);

        for (uint32_t i = 0; i < servers_.shape.copies; i++)
            if (!last->open(i))
                throw Wrong{ "a member cannot be opened: " + std::string(rpm_last_error()) };
        must(last->round(), "the last round");
        check(*last);
    }

  private:
    struct Session {
        std::unique_ptr<Writer> writer;
        bool works = false;     // its round has succeeded, and no append has failed since
        uint64_t acked_lsn = 0; // of the last record that is acknowledged,
        uint64_t end_lsn = 0;   // and behind it
    };

    uint64_t below(uint64_t bound)
    {
        return rpmi_rng_below(&rng_, bound);
    }
    static void must(int err, const char *what)
    {
        if (err != 0)
            throw Wrong{ std::string(what) + ": " + rpm_error_name(err) + ", " + rpm_last_error() };
    }

    void step()
    {
        switch (below(8)) {
        case 0:
        case 1:
            begin();
            break;
        case 2:
            if (below(3) == 0)
                damage();
            else if (!writers_.empty())
                stop_writer();
            break;
        case 3:
            break_server();
            break;
        case 4:
            for (auto &server : servers_.all)
                if (!server->up)
                    must(server->start(), "start");
            break;
        default:
            if (!writers_.empty())
                use(writers_[below(writers_.size())]);
        }
    }

    // Another client opens members and runs a round; the older one may still be there.
    void begin()
    {
        if (writers_.size() == 3)
            stop_writer();
        writers_.emplace_back();

        Session &session = writers_.back();

        session.writer = std::make_unique<Writer>(servers_);
        for (uint32_t i = 0; i < servers_.shape.copies; i++)
            if (below(4) != 0)
                (void)session.writer->open(i);
        spoil(*session.writer);
        take(session);
    }

    void stop_writer()
    {
        writers_.erase(writers_.begin() + static_cast<ptrdiff_t>(below(writers_.size())));
    }

    // One of its links fails soon.
    void spoil(Writer &writer)
    {
        uint32_t i = static_cast<uint32_t>(below(servers_.shape.copies));
        loop::Link *link = writer.link(i);

        if (link == nullptr || below(2) == 0)
            return;
        link->faults.lose_torn = below(2) == 0;
        link->faults.lose_reply = link->faults.lose_late = below(2) == 0;
        if (below(2) == 0)
            link->faults.lose_call = 1 + below(8);
        else
            link->faults.lose_op = 1 + below(40);
    }

    void take(Session &session)
    {
        int err = session.writer->round();

        session.works = err == 0;
        if (err != 0 && err != RPM_E_QUORUM && err != RPM_E_FENCED && err != RPM_E_LOST)
            must(err, "a round");
        if (err != 0)
            return;
        tally_.rounds++;
        tally_.filled += session.writer->last.filled;
        session.acked_lsn = session.end_lsn = session.writer->last.tail_lsn;
        for (uint32_t i = 0; i < servers_.shape.copies; i++)
            if (session.writer->leg(i).sealed) {
                forgetful_[i] = false;
                base_[i] = session.writer->last.tail_lsn;
            }
        check(*session.writer);
    }

    void use(Session &session)
    {
        if (!session.works || below(8) == 0) {
            take(session);
            return;
        }
        for (uint64_t n = 1 + below(4); n > 0 && session.works; n--)
            append(session);
        if (session.works && below(3) == 0)
            trim(session);
        for (uint32_t i = 0; i < servers_.shape.copies && session.works; i++)
            if (below(2) == 0 && !session.writer->leg(i).sealed &&
                session.writer->leg(i).log != nullptr && servers_.all[i]->up)
                rejoin(session, i);
        if (below(4) == 0)
            spoil(*session.writer);
    }

    void rejoin(Session &session, uint32_t i)
    {
        int err = session.writer->rejoin(i);

        if (err != 0 && err != RPM_E_FENCED && err != RPM_E_QUORUM && err != RPM_E_LOST &&
            err != RPM_E_CORRUPT)
            must(err, "a rejoin");
        if (err != 0)
            return;
        tally_.rejoined++;
        forgetful_[i] = false;
        check(*session.writer);
    }

    // Up to three records at a time.
    void append(Session &session)
    {
        std::vector<std::pair<uint64_t, uint64_t>> sent; // LSN and number
        rpmi_legs &set = session.writer->legs;
        rpm_completion done = {};
        size_t ended = 0;

        for (uint64_t n = 1 + below(3); n > 0; n--) {
            uint64_t id = ++last_id_;
            std::string data = "#" + std::to_string(id) + "#" + loop::payload(id, 1 + below(400));
            uint64_t lsn = 0;

            if (rpmi_legs_submit(&set, data.data(), static_cast<uint32_t>(data.size()), nullptr,
                                 &lsn) == 0)
                sent.emplace_back(lsn, id);
        }
        session.works = rpmi_legs_flush(&set) == 0;
        for (; rpmi_legs_poll(&set, &done, 1) == 1; ended++) {
            if (ended == sent.size() || done.lsn != sent[ended].first)
                throw Wrong{ "a record completed out of order" };
            if (done.status != 0)
                continue;
            records_[done.lsn] = sent[ended].second;
            tally_.acknowledged++;
            session.acked_lsn = done.lsn;
        }
        if (ended != sent.size())
            throw Wrong{ "a record did not complete" };
        session.end_lsn = set.committed_lsn;
        if (session.works && below(3) == 0)
            for (rpmi_leg &leg : session.writer->all())
                if (leg.sealed && leg.log->dead == 0)
                    (void)!rpmi_member_commit(leg.log, session.end_lsn);
    }

    // To the last record that is acknowledged, or behind it.
    void trim(Session &session)
    {
        uint64_t lsn = below(2) == 0 ? session.end_lsn : session.acked_lsn;

        trimmed_ = std::max(trimmed_, lsn);
        (void)!rpmi_legs_trim(&session.writer->legs, lsn);
    }

    // At most acks - 1 members may have lost records.
    bool may_forget(uint32_t i) const
    {
        uint32_t others = 0;

        for (uint32_t k = 0; k < servers_.shape.copies; k++)
            others += k != i && forgetful_[k] ? 1 : 0;
        return others + 1 < servers_.shape.acks;
    }

    // A bit changes in a record in front of a member's epoch.
    void damage()
    {
        uint32_t i = static_cast<uint32_t>(below(servers_.shape.copies));
        loop::Mem &pool = servers_.all[i]->pool;
        auto at = records_.lower_bound(trimmed_);

        if (!may_forget(i) || at == records_.end() || at->first >= base_[i])
            return;
        uint64_t position = RING + at->first % members::CAPACITY + RPMI_FRAME_HEADER_BYTES;

        forgetful_[i] = true;
        pool.bytes[position] ^= 1;
        pool.kept[position] ^= 1;
    }

    // A power cut takes records below RPM_DURABLE, and a process that ends below RPM_PROCESS.
    void break_server()
    {
        uint32_t i = static_cast<uint32_t>(below(servers_.shape.copies));
        loop::Server &server = *servers_.all[i];
        bool power = below(2) == 0;
        bool forgets = servers_.shape.level < (power ? RPM_DURABLE : RPM_PROCESS);

        if (!server.up || (forgets && !may_forget(i)))
            return;
        forgetful_[i] = forgetful_[i] || forgets;
        if (power)
            server.power_cut();
        else
            server.stop();
    }

    // What the sealed members have, as far as they can be read: links fail here as well.
    void check(Writer &writer)
    {
        std::vector<std::vector<loop::Record>> logs;

        for (uint32_t i = 0; i < servers_.shape.copies; i++)
            if (writer.leg(i).sealed) {
                logs.emplace_back();
                if (!read(writer.leg(i).log, forgetful_[i], logs.back()))
                    logs.pop_back();
            }
        for (const auto &log : logs) {
            check_records(log);
            compare(logs[0], log);
        }
    }
    // Records that are in front of an epoch's base stay, acknowledged or not.
    void check_records(const std::vector<loop::Record> &found)
    {
        std::map<uint64_t, uint64_t> here;
        std::set<uint64_t> ids;

        for (const loop::Record &record : found) {
            uint64_t id = strtoull(record.data.c_str() + 1, nullptr, 10);

            here[record.lsn] = id;
            if (!ids.insert(id).second)
                throw Wrong{ "record " + std::to_string(id) + " is there twice" };
        }
        for (const auto &[lsn, id] : records_)
            if (lsn >= trimmed_ && (here.count(lsn) == 0 || here[lsn] != id))
                throw Wrong{ "record " + std::to_string(id) + " at " + std::to_string(lsn) +
                             " is lost" };
        records_.insert(here.begin(), here.end());
    }
    // False: the link was lost, or the member is damaged, and it may be.
    static bool read(rpm_log *log, bool damaged, std::vector<loop::Record> &found)
    {
        rpm_reader_opts opts = rpm_reader_opts_init();
        rpm_reader *reader = nullptr;
        rpm_record record = {};
        int err;

        opts.from_lsn = log->head.trim_lsn;
        err = rpm_reader_open(log, &opts, &reader);
        while (err == 0 && (err = rpm_reader_next(reader, &record)) == 1) {
            found.push_back({ std::string(static_cast<const char *>(record.data), record.len),
                              record.lsn, record.epoch });
            err = 0;
        }
        rpm_reader_close(&reader);
        if (err != RPM_E_LOST && !(damaged && err == RPM_E_CORRUPT))
            must(err, "read");
        return err == 0;
    }
    static void compare(const std::vector<loop::Record> &one,
                        const std::vector<loop::Record> &other)
    {
        size_t n = std::min(one.size(), other.size()); // one may be trimmed further

        for (size_t i = 1; i <= n; i++)
            if (!(one[one.size() - i] == other[other.size() - i]))
                throw Wrong{ "two sealed members differ" };
    }

    Tally &tally_;
    Servers servers_;
    rpmi_rng rng_ = {};
    std::vector<Session> writers_;
    std::vector<bool> forgetful_; // members that have lost records since they were sealed last
    std::vector<uint64_t> base_;  // where they were sealed last
    std::map<uint64_t, uint64_t> records_; // by LSN: those that every later round must have
    uint64_t trimmed_ = 0;
    uint64_t last_id_ = 0;
};

struct Size {
    uint32_t copies;
    uint32_t acks;
};

const Size SIZES[] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 1 }, { 3, 2 }, { 3, 3 }, { 5, 3 } };

Shape shape_of(const Size &size, uint32_t level, bool queued)
{
    Shape shape;

    shape.copies = size.copies;
    shape.acks = size.acks;
    shape.level = level;
    shape.setup = members::probed(queued ? loop::queued() : loop::synchronous());
    if (queued) // what is visible is not durable
        shape.setup.ddio = RPM_YES;
    if (level < RPM_DURABLE) { // what a READ has made visible stays in the CPU's cache
        shape.setup = members::probed(loop::queued(loop::bit(RPM_METHOD_READ)));
        shape.setup.ddio = RPM_YES;
    }
    return shape;
}

// Runs worlds until one goes wrong: the number of its seed and what went wrong.
std::string run_worlds(uint64_t first, uint64_t count, const Size &size, uint32_t level,
                       Tally &tally)
{
    for (uint64_t seed = first; seed < first + count; seed++)
        try {
            World(seed, shape_of(size, level, seed % 2 == 0), tally).run(60);
        } catch (const Wrong &wrong) {
            return "seed " + std::to_string(seed) + ": " + wrong.text;
        }
    return "";
}

} // namespace

TEST_CASE("round: a new set is claimed, sealed, and written", "[unit]")
{
    Servers servers(shape_of({ 3, 2 }, RPM_DURABLE, GENERATE(false, true)));
    Writer writer(servers);
    uint64_t lsn = 0;

    writer.open_all();
    REQUIRE(writer.round() == 0);
    CHECK(writer.last.epoch == 2); // the members were created with epoch 1
    CHECK(writer.last.tail_lsn == members::FIRST);
    CHECK(writer.append("one", &lsn) == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(writer.read(i) == Strings{ "one" });
    REQUIRE(writer.round() == 0); // its own
    CHECK(writer.last.epoch == 3);
    CHECK(writer.last.filled == 0);
    CHECK(writer.append("two", &lsn) == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(writer.read(i) == Strings{ "one", "two" });
}

TEST_CASE("round: a living writer is fenced only if that is asked for", "[unit]")
{
    Servers servers(shape_of({ 3, 2 }, RPM_DURABLE, GENERATE(false, true)));
    Writer older(servers);
    Writer newer(servers);
    uint64_t lsn = 0;

    older.open_all();
    newer.open_all();
    REQUIRE(older.round() == 0);
    CHECK(older.append("one", &lsn) == 3);
    CHECK(newer.round(0) == RPM_E_OWNED);
    CHECK(older.append("two", &lsn) == 3);
    REQUIRE(newer.round() == 0);
    CHECK(older.append("fenced", &lsn) == 0);
    CHECK(newer.append("three", &lsn) == 3);
    CHECK(newer.read(2) == Strings{ "one", "two", "three" });
}

TEST_CASE("round: a member that was away gets what it lacks, and counts again", "[unit]")
{
    Servers servers(shape_of({ 3, 2 }, RPM_DURABLE, GENERATE(false, true)));
    uint64_t lsn = 0;

    servers.all[2]->stop();
    {
        Writer writer(servers);

        REQUIRE(writer.open(0));
        REQUIRE(writer.open(1));
        REQUIRE(writer.round() == 0);
        CHECK(writer.append("one", &lsn) == 2);
        CHECK(writer.append("two", &lsn) == 2);
    }
    servers.all[0]->stop();
    REQUIRE(servers.all[2]->start() == 0);
    Writer writer(servers);

    REQUIRE(writer.open(1));
    CHECK(writer.round() == RPM_E_QUORUM);
    CHECK(text_has("1 of 3 members can be used, 2 are needed"));
    CHECK(text_has("member 0: its server cannot be reached"));
    REQUIRE(writer.open(2));
    REQUIRE(writer.round() == 0);
    CHECK(writer.last.filled == 128);
    CHECK(writer.append("three", &lsn) == 2);
    CHECK(writer.read(2) == Strings{ "one", "two", "three" });
}

TEST_CASE("round: memory that was lost does not count below the level that survives it", "[unit]")
{
    uint32_t level = GENERATE(RPM_VISIBLE, RPM_PROCESS, RPM_DURABLE);
    bool power = GENERATE(false, true);
    bool declared = GENERATE(false, true);
    Servers servers(shape_of({ 2, 2 }, level, false));
    uint64_t lsn = 0;
    bool counts = (level == RPM_DURABLE && !declared) || (level >= RPM_PROCESS && !power);

    servers.shape.setup.declared = declared;
    {
        Writer writer(servers);

        writer.open_all();
        REQUIRE(writer.round() == 0);
        CHECK(writer.append("one", &lsn) == 2);
    }
    if (power)
        servers.all[0]->power_cut();
    else
        servers.all[0]->stop();
    servers.all[1]->stop();
    REQUIRE(servers.all[0]->start() == 0);
    CAPTURE(level, power, declared);
    Writer writer(servers);

    REQUIRE(writer.open(0));
    CHECK(writer.round() == RPM_E_QUORUM);
    CHECK(text_has(counts ? "1 of 2 members could be sealed" : "was started again") == !counts);
}

TEST_CASE("round: worlds of writers and servers lose no acknowledged record", "[unit]")
{
    Size size = GENERATE(from_range(std::begin(SIZES), std::end(SIZES)));
    uint32_t level = GENERATE(RPM_DURABLE, RPM_PROCESS, RPM_VISIBLE);
    Tally tally;

    CAPTURE(size.copies, size.acks, level);
    CHECK(run_worlds(first_seed(1), rounds(60), size, level, tally) == "");
    CHECK(tally.rounds > rounds(60));
    CHECK(tally.acknowledged >= rounds(60));
    if (!kSlow) { // in fewer worlds it may not come to that
        CHECK((tally.filled > 0) == (size.copies > 1));
        CHECK((tally.rejoined > 0) == (size.copies > size.acks));
    }
}

TEST_CASE("round: worlds lose a record if a rule is removed", "[unit]")
{
    struct Rule {
        rpmi_canary canary;
        const char *without;
    };
    static const Rule RULES[] = {
#define ROW(name, without) { RPMI_CANARY_##name, without },
        RPMI_SET_CANARIES(ROW)
#undef ROW
    };

    for (const Rule &rule : RULES) {
        std::string wrong;
        Tally tally;

        rpmi_canary_now = rule.canary;
        for (uint32_t level : { RPM_DURABLE, RPM_PROCESS, RPM_VISIBLE })
            for (const Size &size : { Size{ 3, 2 }, Size{ 5, 3 } })
                wrong += wrong.empty() ? run_worlds(1, 400, size, level, tally) : "";
        rpmi_canary_now = RPMI_CANARY_NONE;
        INFO(rule.without);
        CHECK(wrong != "");
    }
}
