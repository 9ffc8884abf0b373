/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_verbs.c: replaces this folder's other files, in a build without rdma-core.
 *
 * Tests: tests/unit/transport/parts_test.cpp, in preset nordma
 */
#include "serve/listener.h"

#include "base/err.h"

static int no_open(struct rpm_server *server, const struct rpmi_url *url,
                   struct rpmi_listener **listener)
{
    (void)server, (void)url, (void)listener;
    return rpmi_fail(RPM_E_NOCAP,
                     "verbs: librpm was built without rdma-core; build it with -DLIBRPM_RDMA=ON, "
                     "or listen at tcp://HOST:PORT/POOL");
}

const struct rpmi_listener_ops rpmi_verbs_listener = { .scheme = "verbs", .open = no_open };
