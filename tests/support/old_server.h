// SPDX-License-Identifier: BSD-3-Clause
// old_server.h: connections that behave as those to a server of an older librpm, for tests that
// else see only what is installed.
#ifndef TESTS_SUPPORT_OLD_SERVER_H
#define TESTS_SUPPORT_OLD_SERVER_H

extern "C" {
#include "base/sum.h"
#include "conn/conn.h"
}
#include <librpm.h>

#include <functional>
#include <string>
#include <vector>

namespace support
{

// For dtx::Options::dial: to servers that do not say that they compute checksums.
inline std::function<int(uint32_t, const rpm_conn_opts *, rpm_conn **)>
dial_without_sums(const std::vector<std::string> &urls)
{
    return [urls](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        int err = rpm_conn_open(urls[server].c_str(), opts, conn);

        if (err == 0)
            rpmi_conn_link(*conn)->flags &= ~static_cast<uint32_t>(RPMI_LINK_SUM);
        return err;
    };
}

} // namespace support
#endif
