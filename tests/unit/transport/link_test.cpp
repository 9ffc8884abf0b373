// SPDX-License-Identifier: BSD-3-Clause
#include "unit/transport/fake.h"

namespace
{

int open_url(const std::string &url)
{
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;
    int err;

    opts.timeout_us = 20000000;
    opts.depth = 64;
    opts.staging_bytes = 1 << 20;
    err = rpmi_link_open(url.c_str(), &opts, &link);
    if (err == 0)
        link->ops->close(link);
    else
        CHECK(link == nullptr);
    return err;
}

bool said(const char *text)
{
    return std::string(rpm_last_error()).find(text) != std::string::npos;
}

} // namespace

TEST_CASE("link: an unknown scheme, wrapper or option is refused by name", "[unit]")
{
    CHECK(open_url("nfs:somewhere") == RPM_E_INVAL);
    CHECK(said("no transport \"nfs\""));
    CHECK(open_url("sim:seed=1,wrap=trace+tracer") == RPM_E_INVAL);
    CHECK(said("no wrapper \"tracer\""));
    CHECK(open_url("sim:seed=1,wrap=") == RPM_E_INVAL);
    CHECK(open_url("sim:seed=1,wrap=trace+") == RPM_E_INVAL);
    CHECK(open_url("sim:seed=1,colour=red") == RPM_E_INVAL);
    CHECK(open_url("") == RPM_E_INVAL);
}

TEST_CASE("link: an option of a wrapper that the URL does not name is refused", "[unit]")
{
    CHECK(open_url("sim:seed=1,delay_ns=5") == RPM_E_INVAL);
    CHECK(open_url("sim:seed=1,wrap=trace,delay_ns=5") == RPM_E_INVAL);
    CHECK(open_url("sim:seed=1,wrap=delay,delay_ns=5") == 0);
    CHECK(open_url("sim:seed=1,wrap=delay,delay_ns=soon") == RPM_E_INVAL);
    CHECK(said("delay_ns=soon"));
    CHECK(open_url("sim:seed=1,wrap=fault,fault_kind=fire") == RPM_E_INVAL);
}

TEST_CASE("link: options of an agent are refused without one", "[unit]")
{
    CHECK(open_url("sim:seed=1,carry=dpu") == RPM_E_INVAL);
    CHECK(said("add agent=soc"));
    CHECK(open_url("sim:seed=1,calibration=/nowhere/times") == RPM_E_INVAL);
    CHECK(said("add agent=URL, or leave it out"));
    CHECK(open_url("sim:seed=1,agent=unix:/nowhere/agent,calibration=/nowhere/times") ==
          RPM_E_NOENT);
    CHECK(said("/nowhere/times: "));
}

TEST_CASE("link: too many wrappers are refused", "[unit]")
{
    std::string url = "sim:seed=1,wrap=trace";

    for (uint32_t i = 1; i < RPMI_WRAPS_MAX; i++)
        url += "+trace";
    CHECK(open_url(url) == 0);
    CHECK(open_url(url + "+trace") == RPM_E_INVAL);
}

TEST_CASE("link: wrappers go on in the order named, the last outermost", "[unit]")
{
    Wrapped wrapped("wrap=trace+count+delay+fault");
    rpmi_link *link = wrapped.link;

    CHECK(link->ops->scheme == std::string("fault"));
    link = reinterpret_cast<rpmi_wrap *>(link)->inner;
    CHECK(link->ops->scheme == std::string("delay"));
    link = reinterpret_cast<rpmi_wrap *>(link)->inner;
    CHECK(link->ops->scheme == std::string("count"));
    link = reinterpret_cast<rpmi_wrap *>(link)->inner;
    CHECK(link->ops->scheme == std::string("trace"));
    link = reinterpret_cast<rpmi_wrap *>(link)->inner;
    CHECK(link == &wrapped.fake.link);
}

TEST_CASE("link: a failed allocation in a wrapper closes what was opened", "[unit]")
{
    int survived = 0;

    for (uint64_t nth = 1; nth < 64 && survived == 0; nth++) {
        int err;

        rpmi_mem_fail_at(nth);
        err = open_url("sim:seed=1,wrap=trace+count+delay+fault");
        rpmi_mem_fail_at(0);
        CHECK((err == 0 || err == RPM_E_NOMEM));
        survived = err == 0;
    }
    CHECK(survived == 1);
}
