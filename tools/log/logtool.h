/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logtool.h: the subcommands of rpm-log, their options, and their connection.
 */
#ifndef RPM_TOOLS_LOG_LOGTOOL_H
#define RPM_TOOLS_LOG_LOGTOOL_H

#include "tool.h"

#include <chrono>

namespace logtool
{

struct Common {
    std::string url;
    std::string name;
    double timeout = 5;      /* seconds a call may take */
    double reconnect = 0;    /* seconds to retry while the server cannot be reached */
    std::string secret_file; /* holds the shared secret */
    std::string hints = "all";
    uint32_t method = 0;     /* enum rpm_method */
    uint32_t level = 0;      /* enum rpm_level */
    std::string tier;        /* folder of segments; empty: none */
    bool agent_tier = false; /* of an append: what the agent of the connection has, not a folder */
    bool json = false;
};

struct AppendOptions : Common {
    std::string file = "-";
    std::string ack_file;
    uint64_t capacity = 0; /* 0: the library's default */
    uint64_t record_bytes = 4096;
    uint32_t batch = 1;
    uint32_t async = 1;
    double rate = 0;
    bool no_create = false;
    bool takeover = false;
    bool resume = false;
    bool binary = false;
    bool quiet = false;
};

struct CatOptions : Common {
    uint64_t from = 0;
    uint64_t count = UINT64_MAX;
    uint64_t last = 10;
    std::string segments; /* read this folder alone; empty: a server */
    bool lsn = false;
    bool follow = false;
};

struct SegmentsOptions {
    std::string folder;
    std::string log; /* name or id; empty: all */
    uint64_t drop = 0;
    bool verify = false;
    bool json = false;
};

struct TrimOptions : Common {
    uint64_t lsn = UINT64_MAX;
    uint64_t keep = UINT64_MAX;
    bool all = false;
};

struct RepairOptions : Common {
    uint64_t from = UINT64_MAX;
    bool write = false;
    bool discard = false;
    bool takeover = false;
};

/* A connection and the objects opened on it, declared so that a dependent object is closed
 * first. */
struct Session {
    explicit Session(const Common &common);
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    rpm_conn_opts conn_opts;
    std::string secret;
    cli::Tier tier;
    cli::Conn conn;
    cli::Log log;
    cli::Reader reader;
    uint64_t memory = 0; /* bytes that the library allocated for these objects */
    double reconnect;    /* seconds */

    /* Connect; retry for as long as --reconnect says. */
    void open(const std::string &url);
    void open_log(const Common &common, rpm_log_opts opts);
    void open_reader(uint64_t from, uint32_t level, bool through_tier = true);
    rpm_facts facts() const;
};

using Clock = std::chrono::steady_clock;

inline uint64_t now_ns()
{
    return static_cast<uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

void sleep_ns(uint64_t ns);

using cli::is_unreachable;

/* Write all bytes to @fd, named @path in an error; false: its reader has closed it. */
bool write_all(int fd, const std::string &path, const char *data, size_t len);

struct TierReaderClose {
    void operator()(rpm_tier_reader *reader) const
    {
        rpm_tier_reader_close(&reader);
    }
};
using TierReader = std::unique_ptr<rpm_tier_reader, TierReaderClose>;

/* Open a folder of segments. */
cli::Tier open_tier(const std::string &folder);

/* The logs of a folder of segments, or only the one of this name or id, which must be there. */
std::vector<rpm_tier_log> tier_logs(rpm_tier *tier, const std::string &folder,
                                    const std::string &log);

/* "durable, by store (domain adr, declared)" */
std::string domain_text(const rpm_facts &facts);

int append(const AppendOptions &options);
int cat(const CatOptions &options);
int tail(const CatOptions &options);
int segments(const SegmentsOptions &options);
int info(const Common &common);
int verify(const Common &common);
int trim(const TrimOptions &options);
int repair(const RepairOptions &options);
int list(const Common &common);
int room(const Common &common);
int remove(const Common &common);

} // namespace logtool
#endif
