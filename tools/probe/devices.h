/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * devices.h: rpm-probe --devices.
 */
#ifndef RPM_TOOLS_PROBE_DEVICES_H
#define RPM_TOOLS_PROBE_DEVICES_H

#include <string>
#include <vector>

/* Print what each RDMA device is and can do, alone, with anonymous memory and with each path. The
 * exit code. */
int probe_devices(const std::vector<std::string> &paths, bool as_json);

#endif
