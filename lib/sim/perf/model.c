/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.c: <librpm/model.h>, <librpm/script.h>, <librpm/path.h>, <librpm/chain.h>: a preset, and
 * loads, scripts, flows and chains run on it.
 *
 * Tests: tests/unit/sim/perf/model_test.cpp
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "sim/path/path_model.h"
#include "sim/perf/cluster_model.h"
#include "sim/perf/server_model.h"
#include "sim/preset/preset.h"

struct rpm_model {
    struct rpmi_preset preset;
};

int rpm_model_open(const char *preset, struct rpm_model **out)
{
    rpmi_begin();

    struct rpm_model *model = rpmi_alloc(sizeof(*model), 64);
    int err;

    RPM_ASSERT(out != NULL);
    if (model == NULL)
        return RPM_E_NOMEM;
    err = rpmi_preset_read(preset != NULL ? preset : "hints", &model->preset);
    if (err != 0) {
        rpmi_free(model);
        return err;
    }
    *out = model;
    return 0;
}

void rpm_model_close(struct rpm_model **out)
{
    RPM_ASSERT(out != NULL);
    rpmi_free(*out);
    *out = NULL;
}

void rpm_model_facts(const struct rpm_model *model, struct rpm_facts *facts)
{
    RPM_ASSERT(model != NULL);
    rpmi_preset_facts(&model->preset, false, facts);
}

int rpm_model_param(const struct rpm_model *model, uint32_t index, struct rpm_model_number *param)
{
    rpmi_begin();
    RPM_ASSERT(model != NULL && param != NULL);
    if (index >= RPMI_PARAMS)
        return rpmi_fail(RPM_E_NOENT, "a preset has no number %u; they are counted from 0 to %u",
                         index, (unsigned)RPMI_PARAMS - 1);
    param->name = rpmi_param_table[index].name;
    param->value = model->preset.text[index].value;
    param->source = model->preset.text[index].source;
    param->what = rpmi_param_table[index].what;
    return 0;
}

int rpm_model_run(const struct rpm_model *model, const struct rpm_load *theirs,
                  struct rpm_cost *theirs_cost)
{
    rpmi_begin();

    struct rpm_load load = rpm_load_init();
    struct rpmi_server_model *server;
    struct rpm_cost cost;
    int err;

    RPM_ASSERT(model != NULL && theirs_cost != NULL);
    err = rpmi_opts_in(&load, sizeof(load), theirs);
    if (err == 0)
        err = rpmi_server_open(&model->preset.cost, model->preset.ddio, &load, &server);
    if (err != 0)
        return err;
    rpmi_server_run(server, &cost);
    rpmi_server_close(&server);
    return rpmi_opts_out(theirs_cost, &cost, sizeof(cost));
}

int rpm_model_run_scripts(const struct rpm_model *model, const struct rpm_script_load *theirs,
                          struct rpm_cost *theirs_cost)
{
    rpmi_begin();

    struct rpm_script_load load = rpm_script_load_init();
    struct rpmi_cluster_model *cluster;
    struct rpm_cost cost;
    int err;

    RPM_ASSERT(model != NULL && theirs != NULL && theirs_cost != NULL);
    err = rpmi_opts_in(&load, sizeof(load), theirs);
    if (err == 0)
        err = rpmi_cluster_open(&model->preset.cost, model->preset.ddio, &load, &cluster);
    if (err != 0)
        return err;
    err = rpmi_cluster_run(cluster, &cost);
    rpmi_cluster_close(&cluster);
    if (err != 0)
        return err;
    return rpmi_opts_out(theirs_cost, &cost, sizeof(cost));
}

int rpm_model_run_paths(const struct rpm_model *model, const struct rpm_path_load *theirs,
                        struct rpm_path_cost *costs)
{
    rpmi_begin();

    struct rpm_path_load load = rpm_path_load_init();
    int err;

    RPM_ASSERT(model != NULL && theirs != NULL && costs != NULL);
    err = rpmi_opts_in(&load, sizeof(load), theirs);
    if (err != 0)
        return err;
    return rpmi_paths_run(&model->preset.cost, &load, costs);
}

int rpm_model_run_chains(const struct rpm_model *model, const struct rpm_chain_load *theirs,
                         struct rpm_chain_cost *costs)
{
    rpmi_begin();

    struct rpm_chain_load load = rpm_chain_load_init();
    int err;

    RPM_ASSERT(model != NULL && theirs != NULL && costs != NULL);
    err = rpmi_opts_in(&load, sizeof(load), theirs);
    if (err != 0)
        return err;
    return rpmi_chains_run(&model->preset.cost, &load, costs);
}
