/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * devices.h: rpm-probe --devices, the capabilities of the RDMA devices of this machine.
 */
#ifndef RPM_TOOLS_PROBE_DEVICES_H
#define RPM_TOOLS_PROBE_DEVICES_H

#include <string>
#include <vector>

/* Print the attributes and capabilities of each RDMA device, by itself, with anonymous memory and
 * with each path. Returns the exit code. */
int probe_devices(const std::vector<std::string> &paths, bool as_json);

#endif
