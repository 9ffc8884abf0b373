/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_library.h: the device model, which is a library of its own: librpm-sim. A process that opens
 * no sim: address does not load it.
 *
 * Invariants
 *   librpm-sim uses librpm's functions, by symbols whose version node names the exact version of
 *   librpm: the loader refuses to put two libraries of different versions together
 *   a process has one instance of librpm-sim, also when the program itself is linked with it
 *
 * Tests: tests/unit/transport/sim_library_test.cpp, tests/outside/sim
 */
#ifndef RPMI_SIM_LIBRARY_H
#define RPMI_SIM_LIBRARY_H

#include "transport/transport.h"

/* The table of the model's transport. @ops is set only on 0, and static. RPM_E_NOCAP: librpm-sim is
 * not there, or is of another version. */
int rpmi_sim_library(const struct rpmi_transport_ops **ops);

#endif
