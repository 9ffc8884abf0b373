/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ours.cc: the library, called as any program would.
 */
#include "bench/ours.h"

#include <algorithm>

namespace bench
{

OurLog::OurLog(const std::string &url, const std::string &name, Shape shape, uint64_t capacity)
    : name_(name), shape_(shape), capacity_(capacity), payload_(shape.bytes, 'x'),
      slices_(shape.depth, rpm_slice{ payload_.data(), shape.bytes }), conn_(cli::connect(url))
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *fresh = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = capacity;
    opts.staging_bytes = 8u << 20;
    cli::check(name, rpm_log_open(conn_.get(), name.c_str(), &opts, &fresh));
    log_.reset(fresh);
    /* One lap, so that every page has been touched. */
    for (uint64_t lap = 0; lap < 2 * capacity; lap += burst_max() * (shape.bytes + 24)) {
        append(burst_max() / shape.depth * shape.depth);
        reset();
    }
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

ContenderPtr make_ours(const std::string &url, const std::string &name, Shape shape,
                       uint64_t capacity)
{
    return std::make_unique<OurLog>(url, name, shape, capacity);
}

double burst(Contender &contender, uint64_t n, uint32_t depth)
{
    uint64_t start;

    end_if_stopped();
    contender.reset();
    contender.append(depth);
    start = now_ns();
    contender.append(n);
    return static_cast<double>(now_ns() - start) / static_cast<double>(n);
}

uint64_t burst_records(Contender &contender, uint32_t depth)
{
    uint64_t most = contender.burst_max() - 2 * depth;
    double ns = burst(contender, std::max<uint64_t>(depth, 64 / depth * depth), depth);
    double wish = std::min(1e6 / ns, static_cast<double>(most));

    return std::max<uint64_t>(depth, static_cast<uint64_t>(wish) / depth * depth);
}

} // namespace bench
