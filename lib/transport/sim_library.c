/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_library.c: load librpm-sim when the first sim: address is opened. It is never unloaded,
 * because links point into it. A static librpm cannot load it, because that would load a second
 * librpm; a program with a static librpm must be linked with librpm-sim.
 *
 * Tests: tests/unit/transport/sim_library_test.cpp, tests/outside/sim
 */
#include "transport/sim_library.h"
#include "base/assert.h"
#include "base/err.h"

#include <dlfcn.h>
#include <librpm/version.h>

#ifdef RPMI_SIM_SONAME

static int find_table(const struct rpmi_transport_ops **ops)
{
    void *library = dlopen(RPMI_SIM_SONAME, RTLD_NOW | RTLD_LOCAL);
    const char *why;

    *ops = library == NULL ? NULL : dlsym(library, "rpmi_sim_transport");
    if (*ops != NULL)
        return 0;
    why = dlerror();
    return rpmi_fail(RPM_E_NOCAP, "sim: needs %s: install librpm-sim %s (%s)", RPMI_SIM_SONAME,
                     rpm_version(), why != NULL ? why : "no reason given");
}

#else

extern const struct rpmi_transport_ops rpmi_sim_transport __attribute__((weak));

static int find_table(const struct rpmi_transport_ops **ops)
{
    *ops = &rpmi_sim_transport;
    if (*ops != NULL)
        return 0;
    return rpmi_fail(RPM_E_NOCAP, "sim: this program was linked with a static librpm and without "
                                  "librpm-sim: link it with librpm::sim (pkg-config librpm-sim)");
}

#endif

int rpmi_sim_library(const struct rpmi_transport_ops **ops)
{
    const struct rpmi_transport_ops *found = NULL;
    int err = find_table(&found);

    if (err != 0)
        return err;
    /* Of this version, so complete: the model's own file lists every operation. */
    RPM_ASSERT(found->size == sizeof(*found));
    *ops = found;
    return 0;
}
