/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * power.h: power cuts of a machine, the death of its server process, and restarts.
 *
 * Tests: tests/unit/sim/device/power_test.cpp, legal_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_POWER_H
#define RPMI_SIM_DEVICE_POWER_H

#include <stdint.h>

struct rpmi_machine;

/* Numbers of enum rpm_cut in <librpm/sim.h>. */
enum rpmi_cut {
    RPMI_CUT_NONE = 0,
    RPMI_CUT_DROP = 1,
    RPMI_CUT_TEAR = 2,
    RPMI_CUT_REORDER = 3,
    RPMI_CUT_KILL = 4 /* the process dies, the power stays */
};

void rpmi_power_cut(struct rpmi_machine *machine, enum rpmi_cut cut);
void rpmi_power_kill(struct rpmi_machine *machine);

/* The agents' process on the SoC dies, and nothing else. */
void rpmi_power_kill_agent(struct rpmi_machine *machine);

/* Power is back and a server process starts. The caller then starts its service and, if that
 * succeeds, calls rpmi_power_serve(). */
void rpmi_power_on(struct rpmi_machine *machine);
void rpmi_power_serve(struct rpmi_machine *machine);

#endif
