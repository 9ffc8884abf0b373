// SPDX-License-Identifier: BSD-3-Clause
// URLs that need a part which this build lacks are refused, and the error names the option that
// builds it; other errors do not name the option.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/err.h"
}
#include <librpm.h>
#include <string>

namespace
{

// Is @err the refusal of a part that @option would build?
bool left_out(int err, const std::string &option)
{
    return err == RPM_E_NOCAP &&
           std::string(rpm_last_error()).find("-D" + option + "=ON") != std::string::npos;
}

int connect(const char *url)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;
    int err;

    opts.timeout_us = 1000;
    err = rpm_conn_open(url, &opts, &conn);
    CHECK(err != 0);
    CHECK(conn == nullptr);
    return err;
}

int listen_at(const char *url)
{
    rpm_server_opts opts = rpm_server_opts_init();

    opts.listen = url;
    opts.flags = RPM_SERVER_CREATE;
    opts.pool_bytes = 16 << 20;
    opts.tls_cert = opts.tls_key =
        std::string(url).find("tls=on") != std::string::npos ? "/none" : nullptr;
    return support::try_server(opts);
}

} // namespace

TEST_CASE("parts: without rdma-core verbs: is refused and says what to do", "[parts]")
{
    rpm_device device = rpm_device_init();

    CHECK(left_out(connect("verbs://127.0.0.1:1/pool"), "LIBRPM_RDMA") == !RPMI_WITH_RDMA);
    CHECK(left_out(listen_at("verbs://127.0.0.1:1/pool"), "LIBRPM_RDMA") == !RPMI_WITH_RDMA);
    CHECK(left_out(rpm_device_probe(0, nullptr, &device), "LIBRPM_RDMA") == !RPMI_WITH_RDMA);
    CHECK(std::string(rpm_device_capability_name(RPM_DEVICE_FLUSH)) == "native FLUSH");
}

TEST_CASE("parts: without libssl tls= is refused and says what to do", "[parts]")
{
    CHECK(left_out(connect("tcp://127.0.0.1:1,tls=on"), "LIBRPM_TLS") == !RPMI_WITH_TLS);
    CHECK(left_out(listen_at("tcp://127.0.0.1:0,tls=on"), "LIBRPM_TLS") == !RPMI_WITH_TLS);
    CHECK(listen_at("tcp://127.0.0.1:0") == 0);
}
