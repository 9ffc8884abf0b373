/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h: the capabilities of a device as answers for people: yes, or no with the reason and the
 * remedy.
 *
 * Tests: tests/unit/transport/verbs/device_test.cpp
 */
#ifndef RPMI_VERBS_DEVICE_H
#define RPMI_VERBS_DEVICE_H

#include "transport/verbs/nic.h"

#include <librpm/device.h>

/* Folders in which the kernel lists its devices. */
struct rpmi_device_roots {
    const char *devices; /* /sys/class/infiniband */
    const char *verbs;   /* /sys/class/infiniband_verbs */
    const char *dev;     /* /dev/infiniband */
};

/* Why rdma-core lists no device, into the thread's last error. Always RPM_E_NOCAP. */
int rpmi_device_none(const struct rpmi_device_roots *roots);

/* What @attr says of FLUSH, ATOMIC WRITE, atomics, windows and on-demand paging. @nic: the
 * capabilities that this library uses. */
void rpmi_device_judge(const struct ibv_device_attr_ex *attr, const struct rpmi_nic *nic,
                       struct rpm_device *device);

/* A mapped piece of the memory at the probed path. */
struct rpmi_mr_probe {
    void *base;
    uint64_t bytes; /* of it that are mapped */
    uint64_t whole; /* that it has; anonymous: as many as are mapped */
    enum rpm_medium medium;
};

/* mr_probe.c: map @path, or anonymous memory for NULL. RPM_E_NOENT, RPM_E_DENIED, RPM_E_INVAL,
 * RPM_E_NOCAP, RPM_E_IO, RPM_E_NOMEM. */
int rpmi_mr_probe_open(const char *path, struct rpmi_mr_probe *probe);
void rpmi_mr_probe_close(struct rpmi_mr_probe *probe);
/* Register it in @pd in each way that a server would, and deregister it. */
void rpmi_mr_probe_run(const struct rpmi_nic *nic, struct ibv_pd *pd,
                       const struct rpmi_mr_probe *probe, struct rpm_device *device);

/* answer.c: set the answer to @capability. */
void rpmi_device_yes(struct rpm_device *device, enum rpm_device_capability capability);
void rpmi_device_no(struct rpm_device *device, enum rpm_device_capability capability,
                    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
