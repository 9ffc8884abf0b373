/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.cc: READs, WRITEs and message calls to a running server. A READ and a WRITE are those of a
 * volatile region, at the level visible: one operation of the transport each. A message call is a
 * list of one step, which carries the bytes, and which the server's CPU carries out and answers.
 *
 * Tests: tests/tools/pathbench_live_test
 */
#include "live.h"

#include "timed.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace paths
{

namespace
{

constexpr uint64_t kLine = 64;
constexpr uint64_t kRange = 512u << 10;    /* of memory that is used, if there is as much */
constexpr uint64_t kBytesMax = 512u << 10; /* of an operation that does not wait for the server */
constexpr uint64_t kSendMax = 4080;        /* in the one step of a list of 4096 bytes */

uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

std::string scheme_of(const std::string &url)
{
    return url.substr(0, url.find(':'));
}

std::string path_of_url(const LiveOptions &options, size_t number)
{
    static const char *const usual[] = { "1", "2" };

    if (options.paths.empty())
        return usual[number];
    return options.paths[number];
}

/* What a row measures. */
struct Work {
    uint32_t op;
    uint64_t bytes;
    uint32_t depth;
    double timeout;
};

} // namespace

/* One thread: its connection, and its operations outstanding. */
struct LivePath::Client {
    cli::Conn conn;
    cli::Region region;
    uint64_t range = 0;
    std::vector<unsigned char> buffer; /* a part for each operation outstanding */
    std::vector<rpm_step> step;
    std::vector<uint64_t> start_ns;
    uint64_t offset = 0;
    uint64_t most = 0; /* operations outstanding at once */
    rpm_hist hist;

    void open(const LiveOptions &options, const std::string &url);
    void map(const LiveOptions &options, const std::string &name, uint64_t bytes, bool create);
    void run(const Work &work, const Stage &stage);

  private:
    int submit(const Work &work, uint64_t seq);
    uint32_t reap(const Work &work, uint64_t completed, const Stage &stage);
};

void LivePath::Client::open(const LiveOptions &options, const std::string &url)
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = static_cast<uint64_t>(std::ceil(options.timeout * 1e6));
    conn = cli::connect(url, &opts);
}

void LivePath::Client::map(const LiveOptions &options, const std::string &name, uint64_t bytes,
                           bool create)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *raw = nullptr;

    opts.flags = RPM_REGION_DRAM | (create ? RPM_REGION_CREATE : 0);
    opts.inflight_max = options.depth_max;
    opts.bytes = bytes;
    cli::check(name, rpm_region_open(conn.get(), name.c_str(), &opts, &raw));
    region.reset(raw);
    range = bytes;
    buffer.assign(options.depth_max * round_up(options.bytes_max, kLine), 'p');
    step.assign(options.depth_max, rpm_step{});
    start_ns.assign(options.depth_max, 0);
}

int LivePath::Client::submit(const Work &work, uint64_t seq)
{
    size_t slot = seq % work.depth;
    unsigned char *bytes = &buffer[slot * round_up(work.bytes, kLine)];
    int err;

    if (offset + work.bytes > range)
        offset = 0;
    start_ns[slot] = now_ns();
    if (work.op == RPM_PATH_READ) {
        err = rpm_region_read_async(region.get(), offset, bytes, work.bytes, nullptr);
    } else if (work.op == RPM_PATH_WRITE) {
        err = rpm_region_write_async(region.get(), offset, bytes, work.bytes, nullptr);
    } else {
        rpm_step one = {};

        one.kind = RPM_STEP_WRITE;
        one.region = region.get();
        one.offset = offset;
        one.data = bytes;
        one.len = work.bytes;
        step[slot] = one;
        err = rpm_steps_async(region.get(), &step[slot], 1, nullptr);
    }
    if (err == 0)
        offset += round_up(work.bytes, kLine);
    return err;
}

/* The number of operations that have completed since. */
uint32_t LivePath::Client::reap(const Work &work, uint64_t completed, const Stage &stage)
{
    rpm_completion done[16];
    uint32_t n = static_cast<uint32_t>(
        cli::check("poll", rpm_region_poll(region.get(), done, std::size(done))));
    uint64_t now = n > 0 ? now_ns() : 0;

    for (uint32_t i = 0; i < n; i++) {
        cli::check(op_names()[work.op], done[i].status);
        if (stage.counts())
            rpm_hist_add(&hist, now - start_ns[(completed + i) % work.depth]);
    }
    return n;
}

void LivePath::Client::run(const Work &work, const Stage &stage)
{
    uint64_t submitted = 0;
    uint64_t completed = 0;
    uint64_t idle_ns = now_ns(); /* since when nothing has completed */

    rpm_hist_init(&hist);
    offset = most = 0;
    for (;;) {
        while (!stage.ended() && submitted - completed < work.depth) {
            int err = submit(work, submitted);

            if (err == RPM_E_BUSY)
                break;
            cli::check(op_names()[work.op], err);
            submitted++;
        }
        most = std::max(most, submitted - completed);
        if (submitted == completed)
            return;
        uint32_t n = reap(work, completed, stage);

        completed += n;
        if (n > 0) {
            idle_ns = now_ns();
            continue;
        }
        if (static_cast<double>(now_ns() - idle_ns) > work.timeout * 1e9)
            throw cli::Failure(op_names()[work.op] + ": no operation completed within --timeout");
        std::this_thread::yield(); /* the server may be waiting for this CPU */
    }
}

rpm_facts facts_of_running(const rpm_conn *conn, const std::string &url)
{
    rpm_facts facts = rpm_facts_init();

    cli::check(url, rpm_conn_facts(conn, &facts));
    if (facts.modelled != 0)
        throw cli::Failure(url + ": --url measures running servers, and this one is modelled; "
                                 "leave --url out for the performance model");
    return facts;
}

LivePath::LivePath(const LiveOptions &options, size_t number)
    : options_(options), path_(path_of_url(options, number)), url_(options.urls[number]),
      region_("pathbench-" + std::to_string(getpid()))
{
    rpm_room room = rpm_room_init();
    uint64_t bytes;

    for (uint32_t i = 0; i < options.threads; i++) {
        clients_.push_back(std::make_unique<Client>());
        clients_.back()->open(options, url_);
    }
    rpm_conn *conn = clients_[0]->conn.get();
    direct_ = (facts_of_running(conn, url_).methods & 1u << RPM_METHOD_STORE) != 0;
    cli::check(url_, rpm_conn_room(conn, RPM_KIND_DRAM, &room));
    bytes = std::min(kRange, room.largest_bytes / kLine * kLine);
    bytes = std::max(bytes, round_up(options.bytes_max, kLine));
    if (bytes > room.largest_bytes)
        throw cli::Failure(url_ + ": operations of " + std::to_string(options.bytes_max) +
                           " bytes need as much volatile memory, and the server has " +
                           std::to_string(room.largest_bytes) +
                           "; give a smaller --size, or rpm-server a larger --dram");
    for (size_t i = 0; i < clients_.size(); i++)
        clients_[i]->map(options, region_, bytes, i == 0);
}

LivePath::~LivePath()
{
    for (auto &client : clients_)
        client->region.reset();
    if (!clients_.empty() && clients_[0]->conn != nullptr)
        (void)!rpm_conn_remove(clients_[0]->conn.get(), region_.c_str());
}

Json LivePath::description() const
{
    std::string scheme = scheme_of(url_);
    const char *one_sided = direct_             ? "the client's CPU, in a mapping of the memory"
                            : scheme == "verbs" ? "the server's RDMA device"
                                                : "the server's CPU, by messages";

    return { { "path", path_ },
             { "url", url_ },
             { "reads_and_writes_by", one_sided },
             { "sends_answered_by", direct_ ? Json() : Json("the server's CPU") },
             { "memory", "volatile, of the server process" } };
}

std::string LivePath::missing(uint32_t op, uint64_t bytes) const
{
    if (op == RPM_PATH_SEND && direct_)
        return "this connection sends no messages: its client maps the server's memory";
    if (op == RPM_PATH_SEND && bytes > kSendMax)
        return "a message call carries at most " + std::to_string(kSendMax) + " bytes";
    if (bytes > kBytesMax)
        return "an operation has at most " + std::to_string(kBytesMax) + " bytes";
    return "";
}

Json LivePath::row(uint32_t op, uint64_t bytes, uint32_t depth)
{
    Work work = { op, bytes, depth, options_.timeout };
    rpm_hist all;
    uint64_t most = 0;
    double seconds =
        run_timed(clients_.size(), options_.seconds, options_.timeout,
                  [&](size_t i, const Stage &stage) { clients_[i]->run(work, stage); });

    rpm_hist_init(&all);
    for (auto &client : clients_) {
        rpm_hist_merge(&all, &client->hist);
        most = std::max(most, client->most);
    }
    return { { "path", path_ },
             { "op", op_names()[op] },
             { "bytes", bytes },
             { "threads", clients_.size() },
             { "depth", depth },
             { "outstanding_max", most },
             { "mops", static_cast<double>(all.count) / seconds / 1e6 },
             { "gbs", static_cast<double>(all.count * bytes) / seconds / 1e9 },
             { "p50_ns", static_cast<double>(rpm_hist_percentile(&all, 500)) },
             { "p99_ns", static_cast<double>(rpm_hist_percentile(&all, 990)) },
             { "pcie0_bytes", Json() },
             { "pcie1_bytes", Json() },
             { "bytes_moved", all.count * bytes } };
}

} // namespace paths
