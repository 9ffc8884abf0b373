/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_verbs.c: replaces all files that include rdma-core's headers, in a build without them.
 *
 * Tests: tests/unit/transport/parts_test.cpp, in preset nordma
 */
#include "base/err.h"
#include "transport/transport.h"

#include <librpm/device.h>

#define REMEDY "librpm was built without rdma-core; build it with -DLIBRPM_RDMA=ON"

static int no_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link)
{
    (void)url, (void)opts, (void)link;
    return rpmi_fail(RPM_E_NOCAP, "verbs: " REMEDY ", or use tcp://HOST:PORT/POOL");
}

const struct rpmi_transport_ops rpmi_verbs_transport = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "verbs",
    .connect = no_connect,
};

int rpm_device_probe(uint32_t index, const char *path, struct rpm_device *device)
{
    rpmi_begin();

    (void)index, (void)path, (void)device;
    return rpmi_fail(RPM_E_NOCAP, "cannot probe RDMA devices: " REMEDY);
}
