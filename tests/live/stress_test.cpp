// SPDX-License-Identifier: BSD-3-Clause
// stress_test.cpp: many clients at once, each a thread with a connection of its own: logs that are
// appended to, trimmed and followed, region writes, locks and atomics, while connections are
// dropped on purpose and, in the laboratory, the cable loses packets. Each byte that is read is
// compared with what its writer wrote.
//
// LIBRPM_STRESS_SEED is the seed, LIBRPM_STRESS_SECONDS the duration.
#include "live/stress.h"

#include "kill/model.h"
#include "kill/pipeline.h"

#include <functional>
#include <vector>

using namespace live;
using namespace stress;
using kill_suite::Entry;
using kill_suite::kPayloadMax;
using kill_suite::Model;
using kill_suite::payload_check;
using kill_suite::payload_make;
using kill_suite::PayloadHead;

namespace
{

const uint32_t kInflight = 32;
const uint64_t kLogBytes = 512 << 10;
const uint64_t kRegionBytes = 64 << 10;
const uint64_t kLocks = 4;

uint64_t number(const char *name, uint64_t otherwise)
{
    return env(name).empty() ? otherwise : std::stoull(env(name));
}

std::string log_name(uint64_t index)
{
    return "log" + std::to_string(index);
}

// Appends to a log of its own, singly, in batches and pipelined; trims it when it is full.
class Appender : public Client
{
  public:
    Appender(World &world, uint64_t index)
        : Client(world, "appender", index), log_name_(name(log_name(index))), room_(8 * kPayloadMax)
    {
        model.begin(1);
    }
    ~Appender() override
    {
        rpm_log_close(&log_);
    }
    Model model;

  private:
    int open() override
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        opts.level = RPM_VISIBLE; // no power cut happens in this test
        opts.capacity_bytes = kLogBytes;
        opts.inflight_max = kInflight;
        return rpm_log_open(conn_, log_name_.c_str(), &opts, &log_);
    }
    int step() override
    {
        int err = below(3) == 0 ? alone() : below(2) == 0 ? batch() : pipelined();

        return err == RPM_E_FULL ? make_room() : err;
    }
    int finish() override
    {
        int err = settle();

        // Appends that were outstanding when the time ended and the connection was closed.
        return is_loss(err) ? 0 : err;
    }
    void ack(uint32_t seq, uint64_t lsn)
    {
        if (seq != acked_)
            wrong("record " + std::to_string(seq) + " acknowledged before " +
                  std::to_string(acked_));
        acked_ = seq + 1;
        last_lsn_ = lsn;
        model.hear({ kill_suite::kAck, seq, lsn });
        done++;
    }
    int alone()
    {
        size_t len = payload_make(1, next_, room_.data());
        uint64_t lsn = 0;
        int err = settle();

        if (err == 0)
            err = rpm_log_append(log_, room_.data(), len, &lsn);
        if (err == 0)
            ack(next_++, lsn);
        return err;
    }
    int batch()
    {
        const uint32_t n = static_cast<uint32_t>(1 + below(8));
        rpm_slice slices[8];
        uint64_t lsns[8];
        int err = settle();

        for (uint32_t i = 0; i < n; i++) {
            unsigned char *at = room_.data() + i * kPayloadMax;
            slices[i] = { at, payload_make(1, next_ + i, at) };
        }
        if (err == 0)
            err = rpm_log_append_batch(log_, slices, n, lsns);
        for (uint32_t i = 0; err == 0 && i < n; i++)
            ack(next_++, lsns[i]);
        return err;
    }
    int pipelined()
    {
        int err = 0;

        for (uint64_t n = 1 + below(64); n > 0 && err == 0; n--) {
            size_t len = payload_make(1, next_, room_.data());
            uint32_t flags = below(4) == 0 ? static_cast<uint32_t>(RPM_MORE) : 0;
            void *context = kill_suite::context_of(next_);

            err = rpm_log_append_async(log_, room_.data(), len, flags, context, nullptr);
            if (err == 0)
                next_++;
            else if (err == RPM_E_BUSY)
                err = settle();
            if (err == 0)
                err = reap();
        }
        return err;
    }
    int reap()
    {
        return kill_suite::reap(log_, [this](uint32_t seq, uint64_t lsn) { ack(seq, lsn); });
    }
    int settle()
    {
        return kill_suite::settle(log_, [this](uint32_t seq, uint64_t lsn) { ack(seq, lsn); });
    }
    int make_room()
    {
        int err = settle();

        if (err == 0)
            model.hear({ kill_suite::kTrim, 0, last_lsn_ });
        return err != 0 ? err : rpm_log_trim(log_, last_lsn_);
    }
    // Takes the outcomes of resume, and appends absent records again.
    int reopen() override
    {
        rpm_outcome outcomes[kInflight];
        uint32_t count = 0;

        // Appends that succeeded before the loss are not among the outcomes: they come first.
        if (log_ != nullptr)
            (void)reap();
        // It was never opened: the first try failed.
        int err = log_ == nullptr ? open() : rpm_log_resume(log_, outcomes, kInflight, &count);

        if (err == RPM_E_OWNED) // by the claim of the connection that was just closed
            return RPM_E_LOST;
        for (uint32_t i = 0; err == 0 && i < count; i++)
            if (outcomes[i].present)
                ack(acked_, outcomes[i].lsn);
        if (err == 0)
            next_ = acked_;
        return err;
    }

    std::string log_name_;
    rpm_log *log_ = nullptr;
    uint32_t next_ = 0;
    uint32_t acked_ = 0;
    uint64_t last_lsn_ = 0;
    std::vector<unsigned char> room_;
};

// Follows a log: records are whole and in order, with gaps only where the writer trimmed.
class Follower : public Client
{
  public:
    Follower(World &world, uint64_t number, uint64_t index)
        : Client(world, "follower", number), log_name_(name(log_name(index)))
    {
    }
    ~Follower() override
    {
        close();
    }

  private:
    void close()
    {
        rpm_reader_close(&reader_);
        rpm_log_close(&log_);
    }
    int open() override
    {
        close();
        fresh_ = true;
        int err = rpm_log_open(conn_, log_name_.c_str(), nullptr, &log_);
        if (err == 0)
            err = rpm_reader_open(log_, nullptr, &reader_);
        // The writer has not created the log yet, or has trimmed the record: step() tries again.
        return err == RPM_E_NOENT || err == RPM_E_TRIMMED ? 0 : err;
    }
    int reopen() override
    {
        return open();
    }
    int step() override
    {
        PayloadHead head = {};
        rpm_record record;

        if (reader_ == nullptr) {
            rpmi_clock_sleep_ns(1000000);
            return open();
        }
        int got = rpm_reader_wait(reader_, 20000, &record);
        if (got == RPM_E_TRIMMED)
            return open();
        if (got <= 0)
            return got;
        if (!payload_check(record.data, record.len, &head))
            return wrong("a record that no writer wrote");
        if (!fresh_ && head.seq != last_ + 1)
            return wrong("records out of order");
        fresh_ = false;
        last_ = head.seq;
        done++;
        return 0;
    }

    std::string log_name_;
    rpm_log *log_ = nullptr;
    rpm_reader *reader_ = nullptr;
    bool fresh_ = true;
    uint32_t last_ = 0;
};

// Writes of any size anywhere in a region of its own, which it reads back.
class Editor : public Client
{
  public:
    Editor(World &world, uint64_t number)
        : Client(world, "editor", number), region_name_(name("region" + std::to_string(number))),
          want_(kRegionBytes), got_(kRegionBytes)
    {
    }
    ~Editor() override
    {
        rpm_region_close(&region_);
    }

  private:
    int open() override
    {
        rpm_region_opts opts = rpm_region_opts_init();

        rpm_region_close(&region_);
        opts.flags = RPM_REGION_CREATE;
        opts.level = RPM_VISIBLE;
        opts.bytes = kRegionBytes;
        return rpm_region_open(conn_, region_name_.c_str(), &opts, &region_);
    }
    // The lost write may be there in part: write it again.
    int reopen() override
    {
        int err = open();

        return err != 0 ? err : rpm_region_write(region_, 0, want_.data(), kRegionBytes);
    }
    int step() override
    {
        uint64_t len = 1 + below(below(8) == 0 ? 20000 : 300);
        uint64_t offset = below(kRegionBytes - len);

        if (below(3) == 0)
            return look(offset, len);
        for (uint64_t i = 0; i < len; i++)
            want_[offset + i] = static_cast<unsigned char>(below(256));
        done++;
        return rpm_region_write(region_, offset, want_.data() + offset, len);
    }
    int finish() override
    {
        int err = look(0, kRegionBytes);

        return is_loss(err) ? 0 : err;
    }
    int look(uint64_t offset, uint64_t len)
    {
        int err = rpm_region_read(region_, offset, got_.data(), len);

        if (err != 0 || std::memcmp(got_.data(), want_.data() + offset, len) == 0)
            return err;
        return wrong("a region holds bytes that no client wrote");
    }

    std::string region_name_;
    rpm_region *region_ = nullptr;
    std::vector<unsigned char> want_;
    std::vector<unsigned char> got_;
};

// Increments words that all share: by read and write under a lock, and by an atomic beside it.
class Counter : public Client
{
  public:
    Counter(World &world, uint64_t number)
        : Client(world, "counter", number), locks_name_(name("locks")), words_name_(name("words"))
    {
    }
    ~Counter() override
    {
        close();
    }
    // The sums of all increments, under locks and by atomics.
    int read(uint64_t *locked, uint64_t *atomic)
    {
        uint64_t words[2 * kLocks];
        int err = conn_ != nullptr ? open() : RPM_E_REFUSED;

        if (err == 0)
            err = rpm_region_read(words_, 0, words, sizeof(words));
        for (uint64_t i = 0; err == 0 && i < kLocks; i++) {
            *locked += words[i];
            *atomic += words[kLocks + i];
        }
        return err;
    }
    uint64_t unknown = 0; // lost: the increment may have happened

  private:
    void close()
    {
        rpm_locks_close(&locks_);
        rpm_region_close(&words_);
    }
    int open() override
    {
        rpm_region_opts opts = rpm_region_opts_init();

        close();
        opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
        opts.bytes = 4096;
        int err = rpm_region_open(conn_, words_name_.c_str(), &opts, &words_);
        return err != 0 ? err : rpm_locks_open(conn_, locks_name_.c_str(), kLocks, &locks_);
    }
    int reopen() override
    {
        return open();
    }
    int step() override
    {
        uint64_t index = below(kLocks);
        uint64_t value = 0;
        uint64_t before = 0;
        int err = rpm_lock_acquire(locks_, index);

        if (err != 0)
            return err;
        err = rpm_region_read(words_, 8 * index, &value, sizeof(value));
        if (err != 0)
            return err;
        value++;
        unknown++;
        err = rpm_region_write(words_, 8 * index, &value, sizeof(value));
        if (err == 0)
            err = rpm_region_faa(words_, 8 * (kLocks + index), 1, &before);
        if (err != 0)
            return err;
        unknown--;
        done++;
        return rpm_lock_release(locks_, index);
    }

    std::string locks_name_;
    std::string words_name_;
    rpm_locks *locks_ = nullptr;
    rpm_region *words_ = nullptr;
};

void sh(const char *command)
{
    CHECK(std::system(command) == 0);
}

// Faults of the cable for requests and for answers, changed at run time.
void cable(const char *verb, const char *requests, const char *answers)
{
    sh((std::string("tc qdisc ") + verb + " dev lab1 root netem " + requests).c_str());
    sh((std::string("tc qdisc ") + verb + " dev lab0 root netem " + answers).c_str());
}

// Lets the clients run for @seconds, and up to four times as long until they have done @enough: on
// a busy machine the writers may trim all that a follower has not reached yet. With faults
// requested, the cable is bad in one second of three.
bool weather(World &world, uint64_t seconds, const std::function<bool()> &enough)
{
    bool bad = !support::is_remote() && !env("LIBRPM_STRESS_LOSS").empty();
    uint64_t start = rpmi_clock_ns();
    auto runs = [&] {
        uint64_t past = rpmi_clock_ns() - start;

        return past < seconds * kSecond || (past < 4 * seconds * kSecond && !enough());
    };

    if (bad)
        cable("add", "delay 0ms", "delay 0ms");
    for (int second = 0; runs() && !world.stop; second++) {
        if (bad && second % 3 == 2)
            cable("change", "delay 1ms loss 3%", "delay 1ms");
        rpmi_clock_sleep_ns(kSecond);
        if (bad && second % 3 == 2)
            cable("change", "delay 0ms loss 0%", "delay 0ms");
    }
    world.stop = true;
    return bad;
}

// All records of a log, read by a client that opens it afterwards.
void judge(World &world, uint64_t index, Model &model)
{
    rpm_conn_opts opts = conn_opts();
    struct rpm_log_info info = rpm_log_info_init();
    std::vector<Entry> found;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    rpm_record record;

    REQUIRE(rpm_conn_open(world.server.url().c_str(), &opts, &conn) == 0);
    REQUIRE(rpm_log_open(conn, world.server.name(log_name(index)).c_str(), nullptr, &log) == 0);
    REQUIRE(rpm_log_info(log, &info) == 0);
    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    while (rpm_reader_next(reader, &record) == 1) {
        PayloadHead head = {};
        bool whole = payload_check(record.data, record.len, &head);

        found.push_back({ head.life, head.seq, record.lsn, whole });
    }
    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    kill_suite::Verdict verdict = model.judge(found, info.head_lsn);
    CAPTURE(index, verdict.text);
    CHECK(verdict.lost == 0);
    CHECK(verdict.invented == 0);
}

template <typename Kind> uint64_t total(const std::vector<std::unique_ptr<Kind>> &all)
{
    uint64_t sum = 0;

    for (const auto &each : all)
        sum += each->done;
    return sum;
}

} // namespace

TEST_CASE("stress: ten clients at once, and every byte is accounted for", "[live]")
{
    World world(number("LIBRPM_STRESS_SEED", 1));
    std::vector<std::unique_ptr<Appender>> appenders;
    std::vector<std::unique_ptr<Follower>> followers;
    std::vector<std::unique_ptr<Editor>> editors;
    std::vector<std::unique_ptr<Counter>> counters;
    std::vector<std::thread> threads;
    uint64_t locked = 0;
    uint64_t atomic = 0;
    uint64_t unknown = 0;

    for (uint64_t i = 0; i < 3; i++) {
        appenders.push_back(std::make_unique<Appender>(world, i));
        counters.push_back(std::make_unique<Counter>(world, 10 + i));
    }
    for (uint64_t i = 0; i < 2; i++) {
        followers.push_back(std::make_unique<Follower>(world, 20 + i, i));
        editors.push_back(std::make_unique<Editor>(world, 30 + i));
    }
    auto start = [&threads](auto &all) {
        for (auto &each : all)
            threads.emplace_back([&each] { each->run(); });
    };
    start(appenders);
    start(counters);
    start(followers);
    start(editors);
    bool bad = weather(world, number("LIBRPM_STRESS_SECONDS", 20), [&] {
        return total(appenders) > 100 && total(followers) > 100 && total(editors) > 100 &&
               total(counters) > 20;
    });
    for (auto &thread : threads)
        thread.join();
    if (bad)
        cable("del", "", "");

    CAPTURE(world.seed);
    CHECK(world.first == "");
    for (uint64_t i = 0; i < appenders.size(); i++)
        judge(world, i, appenders[i]->model);
    for (const auto &counter : counters)
        unknown += counter->unknown;
    REQUIRE(Counter(world, 40).read(&locked, &atomic) == 0);
    for (uint64_t counted : { locked, atomic }) {
        CHECK(counted >= total(counters));
        CHECK(counted <= total(counters) + unknown);
    }
    printf("seed %llu: %llu records appended, %llu followed, %llu written in place, %llu counted; "
           "%llu connections lost\n",
           static_cast<unsigned long long>(world.seed),
           static_cast<unsigned long long>(total(appenders)),
           static_cast<unsigned long long>(total(followers)),
           static_cast<unsigned long long>(total(editors)),
           static_cast<unsigned long long>(total(counters)),
           static_cast<unsigned long long>(world.losses.load()));
    CHECK(total(appenders) > 100);
    CHECK(total(followers) > 100);
    CHECK(total(editors) > 100);
    CHECK(total(counters) > 20);
}
