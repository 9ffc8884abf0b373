/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.c: open a link by a sim: URL: a world of its own, with one server and, with agent=soc, an
 * agent on its SoC.
 *
 * Tests: tests/unit/transport/sim/url_test.cpp
 */
#include "base/err.h"
#include "transport/sim/sim.h"

#include <inttypes.h>
#include <string.h>

/* A number among the URL's options; @fallback when it is not there. */
static int number(const struct rpmi_url *url, const char *key, uint64_t fallback, uint64_t max,
                  uint64_t *value)
{
    const char *text = rpmi_url_get(url, key, NULL);
    int err;

    *value = fallback;
    if (text == NULL)
        return 0;
    err = rpmi_parse_bytes(text, value);
    if (err != 0)
        return err;
    if (*value > max)
        return rpmi_fail(RPM_E_INVAL, "sim: %s of %" PRIu64 ", maximum %" PRIu64, key, *value, max);
    return 0;
}

static int url_read(const struct rpmi_url *url, struct rpm_sim_opts *opts)
{
    static const char *const known[] = { "seed", "preset", "pool",         "dram",  "loss",
                                         "dup",  "delay",  "native_flush", "agent", "carry" };
    uint64_t value[4] = { 0 };
    int err = rpmi_url_known(url, known, sizeof(known) / sizeof(known[0]));

    *opts = rpm_sim_opts_init();
    if (err == 0 && url->address[0] != '\0')
        err = rpmi_fail(RPM_E_INVAL, "sim: \"%s\" is not an option, such as seed=1", url->address);
    if (err == 0)
        err = number(url, "seed", 0, UINT64_MAX, &opts->seed);
    if (err == 0)
        err = number(url, "pool", 0, UINT64_MAX, &opts->pool_bytes);
    if (err == 0)
        err = number(url, "dram", 0, UINT64_MAX, &opts->dram_bytes);
    if (err == 0)
        err = number(url, "loss", 0, 1000000, &value[0]);
    if (err == 0)
        err = number(url, "dup", 0, 1000000, &value[1]);
    if (err == 0)
        err = number(url, "delay", 0, 1000000000, &value[2]);
    if (err == 0)
        err = number(url, "native_flush", 0, 1, &value[3]);
    opts->preset = rpmi_url_get(url, "preset", "adr");
    opts->loss_ppm = (uint32_t)value[0];
    opts->duplicate_ppm = (uint32_t)value[1];
    opts->delay_ns = (uint32_t)value[2];
    opts->native_flush = (uint32_t)value[3];
    opts->agent_on_soc = 1; /* without effect if the URL has no agent=soc */
    return err;
}

/* Does the agent carry records? RPM_E_INVAL: the server declares no agent of this name. */
static int carries(const struct rpmi_url *url, bool *carries)
{
    const char *name = rpmi_url_get(url, "carry", NULL);

    *carries = name != NULL;
    if (name != NULL && strcmp(name, RPMI_SIM_AGENT) != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "sim: carry=%s; the modelled server declares one agent only: carry=%s",
                         name, RPMI_SIM_AGENT);
    return 0;
}

int rpmi_sim_url_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                         struct rpmi_link **link)
{
    bool agent = rpmi_url_get(url, "agent", NULL) != NULL;
    struct rpm_sim_opts sim_opts;
    bool carry;
    struct rpm_sim *sim;
    int err = url_read(url, &sim_opts);

    if (err == 0)
        err = carries(url, &carry);
    if (err == 0)
        err = rpm_sim_open(&sim_opts, &sim);
    if (err == 0)
        err = rpmi_sim_link_make(sim, true, 0, opts, link);
    if (err == 0 && agent)
        err = rpmi_sim_add_agent(sim, 0, opts, carry, link);
    return err;
}
