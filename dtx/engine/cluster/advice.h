/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * advice.h: the ends of error texts about a server: what an operator can do, by the commands of the
 * program that keeps the database.
 *
 * Tests: tests/unit/dtx/engine/cluster/advice_test.cpp
 */
#ifndef DTX_ENGINE_ADVICE_H
#define DTX_ENGINE_ADVICE_H

#include "engine/cluster/view.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

/* A command about servers: "dtx-check promote --server 1 URL...", or of a volume, which its comment
 * tells: "rpm-fs promote home --server 1 [--conf FILE or --url URL...]". Without @servers:
 * "--server N". */
std::string operator_command(const Cluster &cluster, const char *what,
                             const std::vector<uint32_t> &servers);

/* About a server that does not answer: to check its URL, to start it, and only if it is lost to
 * continue without it, provided that other servers have copies of all rows. @without: the servers
 * that are dead in it are not used any more. */
std::string away_advice(const Cluster &cluster, uint32_t server, const View &without);

/* About a server whose pool is lost or damaged: the commands that rebuild it, in order. */
std::string rebuild_advice(const Cluster &cluster, uint32_t server);

/* About a connection that was refused with @why, librpm's text, for a reason that an operator can
 * end although the server is not away: it has its maximum of clients, or its host's name has no
 * address. Empty: the reason is another one. The error code is RPM_E_REFUSED for all of them. */
std::string refusal_advice(const std::string &why);

} // namespace dtx
#endif
