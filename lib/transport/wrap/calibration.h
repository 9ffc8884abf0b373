/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibration.h: estimates of how long agent and server take to make records durable, by size
 * class, which a link begins with and replaces by what it measures. They are read from a file that
 * rpm-pathbench --calibrate has written.
 *
 * A file is text. Its first line is "rpm-calibration 1"; then each line has a number of bytes,
 * which stands for its size class (base/select.h), the word agent or server, and nanoseconds, 1 to
 * 10 s. Lines that begin with '#', and empty ones, are skipped.
 *
 * Tests: tests/unit/transport/wrap/calibration_test.cpp
 */
#ifndef RPMI_WRAP_CALIBRATION_H
#define RPMI_WRAP_CALIBRATION_H

#include "base/select.h"

struct rpmi_calibration {
    uint64_t agent_ns[RPMI_SELECT_CLASSES]; /* 0: no estimate */
    uint64_t server_ns[RPMI_SELECT_CLASSES];
};

/* Read a file. RPM_E_NOENT, RPM_E_DENIED, RPM_E_IO; RPM_E_INVAL: it is not a calibration, and the
 * error text says in which line. */
int rpmi_calibration_read(const char *path, struct rpmi_calibration *calibration);

#endif
