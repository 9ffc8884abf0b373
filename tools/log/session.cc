/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.cc: connect, and retry while the server cannot be reached.
 */
#include "log/logtool.h"

#include "output.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace logtool
{

Session::Session(const Common &common)
    : conn_opts(rpm_conn_opts_init()), reconnect(common.reconnect)
{
    conn_opts.timeout_us = static_cast<uint64_t>(std::ceil(common.timeout * 1e6));
    conn_opts.method = common.method;
    conn_opts.hints = common.hints.c_str();
    if (!common.tier.empty() && !common.agent_tier)
        tier = open_tier(common.tier);
    if (!common.secret_file.empty()) {
        secret = cli::read_secret(common.secret_file);
        conn_opts.secret = secret.c_str();
    }
}

void Session::open(const std::string &url)
{
    uint64_t deadline = now_ns() + static_cast<uint64_t>(reconnect * 1e9);
    rpm_conn *fresh = nullptr;
    int err;

    while ((err = rpm_conn_open(url.c_str(), &conn_opts, &fresh)) != 0) {
        if (!is_unreachable(err) || now_ns() >= deadline || cli::stopped())
            throw cli::RpmFailure(url, err);
        sleep_ns(20000000);
    }
    conn.reset(fresh);
    memory = rpm_conn_mem_bytes(&conn_opts);
}

void Session::open_log(const Common &common, rpm_log_opts opts)
{
    uint64_t deadline = now_ns() + static_cast<uint64_t>(reconnect * 1e9);
    rpm_log *fresh = nullptr;
    int err;

    opts.tier = tier.get();
    while ((err = rpm_log_open(conn.get(), common.name.c_str(), &opts, &fresh)) != 0) {
        /* A writer that was just killed may still count as alive, and the server may go down. */
        bool retry = is_unreachable(err) || (err == RPM_E_OWNED && reconnect > 0);

        if (!retry || now_ns() >= deadline || cli::stopped())
            throw cli::RpmFailure(common.name, err);
        sleep_ns(20000000);
        if (is_unreachable(err))
            (void)!rpm_conn_reconnect(conn.get());
    }
    log.reset(fresh);
    memory += rpm_log_mem_bytes(&opts);
}

void Session::open_reader(uint64_t from, uint32_t level, bool through_tier)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *fresh = nullptr;

    opts.from_lsn = from;
    opts.level = level;
    opts.tier = through_tier ? tier.get() : nullptr;
    cli::check("read", rpm_reader_open(log.get(), &opts, &fresh));
    reader.reset(fresh);
    memory += 256u << 10;
}

rpm_facts Session::facts() const
{
    rpm_facts facts = rpm_facts_init();

    cli::check("facts", rpm_conn_facts(conn.get(), &facts));
    return facts;
}

void sleep_ns(uint64_t ns)
{
    struct timespec pause = {};

    pause.tv_sec = static_cast<time_t>(ns / 1000000000);
    pause.tv_nsec = static_cast<long>(ns % 1000000000);
    (void)nanosleep(&pause, nullptr);
}

bool write_all(int fd, const std::string &path, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE)
            return false;
        if (n < 0)
            cli::fail_output(path, errno);
        data += n;
        len -= static_cast<size_t>(n);
    }
    return true;
}

std::string domain_text(const rpm_facts &facts)
{
    std::string text = rpm_medium_name(static_cast<rpm_medium>(facts.medium));

    text += ", domain ";
    text += rpm_domain_name(static_cast<rpm_domain>(facts.domain));
    if (facts.domain_declared != 0)
        text += " (declared, not probed)";
    if (facts.modelled != 0)
        text += " (modelled)";
    return text;
}

} // namespace logtool
