/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capability_name.c: the names of the capabilities that rpm_device_probe() reports. In a file of
 * its own, because a build without rdma-core has them too.
 *
 * Tests: tests/unit/transport/verbs/device_test.cpp
 */
#include <librpm/device.h>

const char *rpm_device_capability_name(enum rpm_device_capability capability)
{
    static const char *const names[RPM_DEVICE_CAPABILITIES] = {
        [RPM_DEVICE_CONNECT] = "connections",
        [RPM_DEVICE_FLUSH] = "native FLUSH",
        [RPM_DEVICE_ATOMIC_WRITE] = "native ATOMIC WRITE",
        [RPM_DEVICE_ATOMICS] = "atomics",
        [RPM_DEVICE_ATOMICS_GLOBAL] = "atomics against CPUs",
        [RPM_DEVICE_WINDOW] = "memory windows",
        [RPM_DEVICE_ON_DEMAND] = "on-demand paging",
        [RPM_DEVICE_MEMORY_READ] = "registered to read",
        [RPM_DEVICE_MEMORY_WRITE] = "registered to write",
        [RPM_DEVICE_MEMORY_FLUSH] = "registered with FLUSH",
        [RPM_DEVICE_MEMORY_ON_DEMAND] = "registered on demand",
    };

    return (uint32_t)capability < RPM_DEVICE_CAPABILITIES ? names[capability] : "unknown";
}
