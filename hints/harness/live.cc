/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.cc: measure points over a link to a server, in real time: one connection for each thread,
 * each with one operation outstanding. A point that depends on what a link cannot select (sockets,
 * modules, the state of DDIO, the server's own cores) has a note and no numbers; so has a point
 * about a hint that does not apply to the link, such as H9 if no NIC writes.
 *
 * The regions that are written have the process ID in their names and are removed at the end.
 */
#include "platform.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

namespace hints
{

namespace
{

using Clock = std::chrono::steady_clock;

constexpr uint64_t kRegionBytes = 8 << 20;
constexpr uint64_t kDramBytes = 4096;
constexpr uint64_t kSpanMost = 1 << 20;
constexpr auto kLongest = std::chrono::milliseconds(500);

struct Worker {
    cli::Conn conn;
    cli::Region region;
    rpm_hist latency_ps;
    std::string failure;
};

uint64_t ps_since(Clock::time_point start)
{
    return static_cast<uint64_t>(
               std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()) *
           1000;
}

class Live : public Platform
{
  public:
    explicit Live(const std::string &url) : url_(url), conn_(cli::connect(url))
    {
        facts_ = rpm_facts_init();
        cli::check(url, rpm_conn_facts(conn_.get(), &facts_));
        nic_ = (facts_.methods & 1u << RPM_METHOD_READ) != 0;
        std::signal(SIGPIPE, SIG_IGN); /* with `| head` the regions must still be removed */
    }

    ~Live() override
    {
        for (bool dram : { false, true }) {
            int err = rpm_conn_remove(conn_.get(), name_of(dram).c_str());

            if (err != 0 && err != RPM_E_NOENT)
                std::fprintf(stderr, "rpm-hints: cannot remove region %s: %s\n",
                             name_of(dram).c_str(), rpm_last_error());
        }
    }

    Live(const Live &) = delete;
    Live &operator=(const Live &) = delete;

    rpm_facts facts(const Point &) override
    {
        return facts_;
    }

    Row measure(const Point &point) override
    {
        Row row;

        row.point = point;
        row.modelled = false;
        row.ddio = nic_ ? facts_.ddio : 0;
        row.note = cannot_show(point);
        if (row.note.empty())
            run(&row);
        return row;
    }

  private:
    static std::string name_of(bool dram)
    {
        return "rpm-hints-" + std::to_string(getpid()) + (dram ? "-dram" : "");
    }

    /* Why this platform cannot show a point; "" if it can. */
    std::string cannot_show(const Point &point) const
    {
        const rpm_load &load = point.load;
        std::string why;

        if (load.by == RPM_BY_CORE)
            return "a link cannot use the server's own cores";
        if (load.remote_socket != 0)
            return "a link cannot select the socket of the memory or of the port";
        if (load.use_dimms != 0 || !point.set.empty())
            return "a link cannot select memory modules";
        if (load.pattern == RPM_LOAD_APPEND || load.passes > 1 || load.words != 0 ||
            load.interval_ps != 0)
            return "appends, passes, few words and intervals are for the model only";
        if (load.op == RPM_LOAD_CAS && load.memory == RPM_LOAD_NVM)
            return "the library does not do atomics on persistent memory (H8)";
        if (load.op != RPM_LOAD_CAS && load.memory == RPM_LOAD_DRAM)
            return "the library reads and writes memory of the pool only, not DRAM";
        if (load.op == RPM_LOAD_READ && load.by == RPM_BY_CALL)
            return "the library reads one-sided only";
        if (load.bytes > kSpanMost || load.skew_bytes != 0)
            return "over a link an operation has at most 1 MiB and begins at a line (skew 0)";
        if (point.about == 3 && !nic_)
            return "no NIC writes here: DDIO has no effect";
        if (load.region_bytes != 0 && load.region_bytes < slot_of(load))
            return "the region has no room for one operation";
        why = load.by == RPM_BY_CALL ? calls_show(load) : hint_shows(point);
        return !why.empty() || !nic_ ? why : ddio_is(load);
    }

    static std::string calls_show(const rpm_load &load)
    {
        if (load.copy == RPM_COPY_STORE)
            return "the library acknowledges no write that is only in the caches";
        return "";
    }

    /* Why one-sided operations on this link cannot show the point's hint; "" if they can. */
    std::string hint_shows(const Point &point) const
    {
        const rpm_load &load = point.load;

        if (load.op == RPM_LOAD_WRITE && load.persist == RPM_PERSIST_NONE)
            return "the library acknowledges no write without proof that it is durable";
        if (point.about == 5 && facts_.line_bytes != 256)
            return "the media line of this server is not known to have 256 bytes";
        if (point.about == 6 && !nic_)
            return "no NIC writes here: for writes by a CPU see H7";
        if ((point.about == 9 || load.persist == RPM_PERSIST_WAIT) && !nic_ &&
            load.op == RPM_LOAD_WRITE)
            return "no NIC writes here: no READ follows the write";
        if (point.about == 9 && load.flush_memory == RPM_LOAD_NVM)
            return "the READ of the library reads DRAM";
        return "";
    }

    std::string ddio_is(const rpm_load &load) const
    {
        if (load.ddio == 0 || load.ddio == facts_.ddio)
            return "";
        return std::string("DDIO is ") +
               (facts_.ddio == RPM_UNKNOWN ? "unknown"
                : facts_.ddio == RPM_YES   ? "on"
                                           : "off") +
               " at this server, and a client cannot change that";
    }

    rpm_region_opts region_opts(const rpm_load &load) const
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = load.region_bytes != 0 ? load.region_bytes : kRegionBytes;
        if (load.op == RPM_LOAD_CAS) {
            opts.flags |= RPM_REGION_DRAM;
            opts.bytes = kDramBytes;
        } else if (load.pad_bytes > 1) {
            opts.slot_bytes = static_cast<uint32_t>(slot_of(load));
        }
        return opts;
    }

    static uint64_t slot_of(const rpm_load &load)
    {
        uint64_t align = std::max<uint64_t>(load.align_bytes, 64);

        return (load.bytes + align - 1) / align * align;
    }

    void open(Worker *worker, const Point &point) const
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_region_opts region = region_opts(point.load);
        rpm_region *opened = nullptr;
        std::string text = spec_of(hints_of(point));
        std::string name = name_of(point.load.op == RPM_LOAD_CAS);

        opts.hints = text.c_str();
        if (point.load.by == RPM_BY_CALL)
            opts.method = RPM_METHOD_COPY;
        worker->conn = cli::connect(url_, &opts);
        cli::check(name, rpm_region_open(worker->conn.get(), name.c_str(), &region, &opened));
        worker->region = cli::Region(opened);
    }

    /* The hints with which the library copies and persists as the options of a sweep say. */
    static uint32_t hints_of(const Point &point)
    {
        const rpm_load &load = point.load;

        if (load.by == RPM_BY_CALL)
            return load.bytes > 128 && load.copy == RPM_COPY_CLWB ? point.hints & ~RPM_HINT(4)
                                                                  : point.hints;
        if (load.persist == RPM_PERSIST_WAIT)
            return point.hints & ~RPM_HINT(9);
        return load.persist == RPM_PERSIST_CHAIN ? point.hints | RPM_HINT(9) : point.hints;
    }

    /* As rpm_hints_parse() reads it. */
    static std::string spec_of(uint32_t hints)
    {
        std::string text = hints_text(hints);

        std::replace(text.begin(), text.end(), '+', ',');
        return text;
    }

    static int one(Worker *worker, uint32_t op, uint64_t offset, std::string *data)
    {
        uint64_t found;

        if (op == RPM_LOAD_CAS)
            return rpm_region_cas(worker->region.get(), offset, 0, 0, &found);
        if (op == RPM_LOAD_READ)
            return rpm_region_read(worker->region.get(), offset, &(*data)[0], data->size());
        return rpm_region_write(worker->region.get(), offset, data->data(), data->size());
    }

    static void work(Worker *worker, const rpm_load &load, uint64_t seed, uint64_t ops)
    {
        std::string data(load.bytes, 'x');
        uint64_t slot = load.op == RPM_LOAD_CAS ? sizeof(uint64_t) : slot_of(load);
        uint64_t slots = rpm_region_bytes(worker->region.get()) / slot;
        Clock::time_point end = Clock::now() + kLongest;

        rpm_hist_init(&worker->latency_ps);
        for (uint64_t i = 0; i < ops && Clock::now() < end && !cli::stopped(); i++) {
            Clock::time_point start = Clock::now();

            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t nth = load.pattern == RPM_LOAD_SEQUENTIAL ? i % slots : (seed >> 33) % slots;
            uint32_t op = load.op;

            if (op == RPM_LOAD_MIX)
                op = (seed >> 20) % 100 < load.write_percent ? RPM_LOAD_WRITE : RPM_LOAD_READ;
            int err = one(worker, op, nth * slot, &data);

            if (err != 0) {
                worker->failure = cli::RpmFailure("operation", err).what();
                return;
            }
            rpm_hist_add(&worker->latency_ps, ps_since(start));
        }
    }

    void run(Row *row) const
    {
        const rpm_load &load = row->point.load;
        uint32_t asked = std::max(load.threads, 1u) * std::max(load.depth, 1u);
        uint32_t threads = std::min(asked, 2 * cores());
        std::vector<Worker> workers(threads);
        std::vector<std::thread> running;

        try {
            for (Worker &worker : workers)
                open(&worker, row->point);
        } catch (const cli::RpmFailure &failure) {
            if (failure.err != RPM_E_NOCAP)
                throw;
            row->note = failure.what(); /* the platform cannot prove the requested level */
            return;
        }
        Clock::time_point start = Clock::now();

        for (uint32_t i = 0; i < threads; i++)
            running.emplace_back(work, &workers[i], load, load.seed + i, load.ops / threads + 1);
        for (std::thread &thread : running)
            thread.join();
        sum_up(row, workers, ps_since(start));
        row->durable = load.op == RPM_LOAD_WRITE;
        if (!nic_ && load.by == RPM_BY_NIC && load.op != RPM_LOAD_READ) {
            row->point.load.persist = RPM_PERSIST_NONE;
            row->note = "no NIC here: done by a CPU";
        }
        if (threads < asked)
            row->note += (row->note.empty() ? "" : "; ") + std::to_string(threads) + " of " +
                         std::to_string(asked) + " at a time: more than this machine has cores for";
        row->point.load.threads = threads;
        row->point.load.depth = 1;
        row->point.load.cores = 0;
    }

    static uint32_t cores()
    {
        return std::max(1u, std::thread::hardware_concurrency());
    }

    static void sum_up(Row *row, const std::vector<Worker> &workers, uint64_t duration_ps)
    {
        rpm_hist all;

        rpm_hist_init(&all);
        for (const Worker &worker : workers) {
            if (!worker.failure.empty())
                throw cli::Failure(row->point.label + ": " + worker.failure);
            rpm_hist_merge(&all, &worker.latency_ps);
        }
        if (all.count == 0)
            return;
        row->cost.ops = all.count;
        row->cost.duration_ps = duration_ps;
        row->cost.bytes =
            all.count * (row->point.load.op == RPM_LOAD_CAS ? 8 : row->point.load.bytes);
        row->cost.p50_ps = rpm_hist_percentile(&all, 500);
        row->cost.p90_ps = rpm_hist_percentile(&all, 900);
        row->cost.p99_ps = rpm_hist_percentile(&all, 990);
        row->cost.p999_ps = rpm_hist_percentile(&all, 999);
        row->cost.max_ps = all.max;
        row->cost.mean_ps = all.sum / all.count;
        row->measured = true;
    }

    std::string url_;
    cli::Conn conn_;
    rpm_facts facts_;
    bool nic_; /* a NIC writes and reads, not a CPU */
};

} // namespace

std::unique_ptr<Platform> open_live(const std::string &url)
{
    return std::make_unique<Live>(url);
}

} // namespace hints
