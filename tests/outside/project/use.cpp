// SPDX-License-Identifier: BSD-3-Clause
// use.cpp: an outside program in C++. Writes to a region of a modelled server and reads it back;
// the handles close themselves.
#include <cstdio>
#include <librpm.h>
#include <memory>
#include <string>

namespace
{

struct CloseConn {
    void operator()(rpm_conn *conn) const
    {
        rpm_conn_close(&conn);
    }
};

struct CloseRegion {
    void operator()(rpm_region *region) const
    {
        rpm_region_close(&region);
    }
};

int use(const char *url)
{
    rpm_conn *raw_conn = nullptr;
    if (int err = rpm_conn_open(url, nullptr, &raw_conn))
        return err;
    std::unique_ptr<rpm_conn, CloseConn> conn(raw_conn);

    rpm_region_opts opts = rpm_region_opts_init();
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 4096;
    rpm_region *raw_region = nullptr;
    if (int err = rpm_region_open(conn.get(), "outside", &opts, &raw_region))
        return err;
    std::unique_ptr<rpm_region, CloseRegion> region(raw_region);

    const std::string sent = "hello";
    std::string got(sent.size(), '\0');
    if (int err = rpm_region_write(region.get(), 128, sent.data(), sent.size()))
        return err;
    if (int err = rpm_region_read(region.get(), 128, &got[0], got.size()))
        return err;
    std::printf("read %s\n", got.c_str());
    return got == sent ? 0 : RPM_E_TORN;
}

} // namespace

int main(int argc, char **argv)
{
    int err = use(argc > 1 ? argv[1] : "sim:seed=1,preset=adr");
    if (err)
        std::fprintf(stderr, "%s: %s\n", rpm_error_name(err), rpm_last_error());
    return err ? 1 : 0;
}
