/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_library.h: find the transport of the device model, which is in a library of its own,
 * librpm-sim. A process that opens no sim: address does not load that library.
 *
 * Invariants
 *   librpm-sim uses librpm's functions, by symbols whose version node names the exact version of
 *   librpm: the loader refuses to combine libraries of different versions
 *   a process has one instance of librpm-sim, also when the program itself is linked with it
 *
 * Tests: tests/unit/transport/sim_library_test.cpp, tests/outside/sim
 */
#ifndef RPMI_SIM_LIBRARY_H
#define RPMI_SIM_LIBRARY_H

#include "transport/transport.h"

/* The table of the model's transport. @ops is set only on 0, and static. RPM_E_NOCAP: librpm-sim is
 * not installed, or is of another version. */
int rpmi_sim_library(const struct rpmi_transport_ops **ops);

#endif
