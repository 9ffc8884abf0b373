/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.h: what operations cost on connections to running servers. The user says which path a
 * connection takes; the connection's facts say who carries out reads and writes on it.
 *
 * Each row takes a fixed time, and fails if nothing completes for the connection's timeout.
 */
#ifndef RPM_PATHS_LIVE_H
#define RPM_PATHS_LIVE_H

#include "model.h"

#include <nlohmann/json.hpp>

namespace paths
{

using Json = nlohmann::ordered_json;

struct LiveOptions {
    std::vector<std::string> urls;
    std::vector<std::string> paths; /* of each URL; empty: 1, then 2 */
    uint32_t threads = 1;
    uint32_t depth_max = 1;  /* of all rows */
    uint64_t bytes_max = 64; /* of all rows */
    double seconds = 0.2;    /* of a row */
    double timeout = 5;      /* seconds, of each connection */
};

/* The facts of a server. Throws Failure if it is a modelled one. */
rpm_facts facts_of_running(const rpm_conn *conn, const std::string &url);

/* The connections of all threads to one server, and the memory there that they use: one volatile
 * region, which is removed at the end. */
class LivePath
{
  public:
    /* Of the @number-th URL. */
    LivePath(const LiveOptions &options, size_t number);
    ~LivePath();
    LivePath(const LivePath &) = delete;
    LivePath &operator=(const LivePath &) = delete;

    /* Its name, its URL, and who carries out what. */
    Json description() const;

    /* Why these operations cannot be measured; "": they can. */
    std::string missing(uint32_t op, uint64_t bytes) const;

    /* The row of rpm-pathbench for these operations. */
    Json row(uint32_t op, uint64_t bytes, uint32_t depth);

  private:
    struct Client;

    const LiveOptions &options_;
    std::string path_;
    std::string url_;
    std::string region_;
    bool direct_ = false; /* the clients map the server's memory */
    std::vector<std::unique_ptr<Client>> clients_;
};

} // namespace paths

#endif
