/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ours.cc: librpm as a contender, through its public functions.
 */
#include "bench/ours.h"

#include <algorithm>

namespace bench
{

OurLog::OurLog(const std::string &url, const std::string &name, Shape shape, uint64_t capacity,
               const ClientOptions &options)
    : shape_(shape), payload_(shape.bytes, 'x'), name_(name), capacity_(capacity),
      slices_(shape.depth, rpm_slice{ payload_.data(), shape.bytes })
{
    rpm_conn_opts conn_opts = rpm_conn_opts_init();
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *fresh = nullptr;

    conn_opts.method = options.method;
    conn_opts.pace = options.pace;
    conn_opts.hints = options.hints;
    conn_ = cli::connect(url, &conn_opts);

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.level = options.level;
    opts.capacity_bytes = capacity;
    opts.staging_bytes = 8u << 20;
    cli::check(name, rpm_log_open(conn_.get(), name.c_str(), &opts, &fresh));
    log_.reset(fresh);
    touch();
}

/* Append once around the ring, so that every page is touched; in batches, since links may be slow.
 * */
void OurLog::touch()
{
    static constexpr uint32_t kMany = 64;
    std::vector<rpm_slice> many(kMany, rpm_slice{ payload_.data(), shape_.bytes });
    uint64_t written = 0;
    uint64_t since = 0;

    for (; written < capacity_; written += kMany * (shape_.bytes + 24)) {
        cli::check("append", rpm_log_append_batch(log_.get(), many.data(), kMany, nullptr));
        since += kMany;
        if (since + kMany > burst_max()) {
            reset();
            since = 0;
        }
    }
    reset();
}

OurLog::~OurLog()
{
    log_.reset();
    (void)!rpm_conn_remove(conn_.get(), name_.c_str());
}

uint64_t OurLog::burst_max() const
{
    return capacity_ / (2 * (shape_.bytes + 24 + 256));
}

void OurLog::append(uint64_t n)
{
    int err = 0;

    for (uint64_t i = 0; i < n && err == 0; i += shape_.depth)
        err = shape_.depth == 1
                  ? rpm_log_append(log_.get(), payload_.data(), shape_.bytes, nullptr)
                  : rpm_log_append_batch(log_.get(), slices_.data(), shape_.depth, nullptr);
    cli::check("append", err);
}

uint64_t OurLog::read_tail() const
{
    struct rpm_log_info info = rpm_log_info_init();

    cli::check("info", rpm_log_info(log_.get(), &info));
    return info.tail_lsn;
}

void OurLog::reset()
{
    next_lsn_ = read_tail();
    cli::check("trim", rpm_log_trim(log_.get(), next_lsn_));
}

/* Asynchronous appends, of which as many are outstanding as the depth says. */
class OurAsyncLog : public OurLog
{
  public:
    using OurLog::OurLog;

    void append(uint64_t n) override
    {
        uint64_t submitted = 0;
        uint64_t completed = 0;

        while (completed < n) {
            rpm_completion done[32];
            int found;

            while (submitted < n && submitted - completed < shape_.depth) {
                int err =
                    rpm_log_append_async(log(), payload_.data(), shape_.bytes, 0, nullptr, nullptr);

                if (err == RPM_E_BUSY)
                    break;
                cli::check("append", err);
                submitted++;
            }
            found = cli::check("wait", rpm_log_wait(log(), done, 32, 1, UINT64_MAX));
            for (int i = 0; i < found; i++)
                cli::check("append", done[i].status);
            completed += static_cast<uint64_t>(found);
        }
    }
};

ContenderPtr make_ours(const std::string &url, const std::string &name, Shape shape,
                       uint64_t capacity, const ClientOptions &options)
{
    return std::make_unique<OurLog>(url, name, shape, capacity, options);
}

ContenderPtr make_ours_async(const std::string &url, const std::string &name, Shape shape,
                             uint64_t capacity, const ClientOptions &options)
{
    return std::make_unique<OurAsyncLog>(url, name, shape, capacity, options);
}

double burst(Contender &contender, uint64_t n, uint32_t depth)
{
    uint64_t start;

    end_if_stopped();
    contender.reset();
    contender.append(depth);
    start = now_ns();
    contender.append(n);
    start = now_ns() - start;
    contender.pause();
    return static_cast<double>(start) / static_cast<double>(n);
}

uint64_t burst_records(Contender &contender, uint32_t depth)
{
    uint64_t most = contender.burst_max() - 2 * depth;
    double ns = burst(contender, std::max<uint64_t>(depth, 64 / depth * depth), depth);
    double wish = std::min(1e6 / ns, static_cast<double>(most));

    return std::max<uint64_t>(depth, static_cast<uint64_t>(wish) / depth * depth);
}

} // namespace bench
