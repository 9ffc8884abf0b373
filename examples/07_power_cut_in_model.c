/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 07_power_cut_in_model.c: cut the server's power after every event of an append, and check that
 * the acknowledged records survive. Test the recovery of your own program in this way.
 *
 * The last line shows that the check can fail: an acknowledgement that promises only "visible"
 * leaves bytes in the server's CPU cache, which a power cut loses.
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 3

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static struct rpm_log *open_log(struct rpm_conn *conn, enum rpm_level level)
{
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log *log;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.level = level;
    opts.capacity_bytes = 16 << 10;
    must(rpm_log_open(conn, "journal", &opts, &log), "open");
    return log;
}

/* The number of records found by recovery after the restart. */
static uint64_t recover(struct rpm_sim *sim)
{
    struct rpm_log_info info = { .size = sizeof(info) };
    struct rpm_conn *conn;
    struct rpm_log *log;

    must(rpm_sim_restart(sim, 0), "restart");
    must(rpm_sim_connect(sim, 0, NULL, &conn), "connect");
    log = open_log(conn, RPM_DURABLE);
    must(rpm_log_info(log, &info), "info");
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return info.records;
}

/* Append, with a power cut after @events. Returns whether the cut happened; counts in @lost if too
 * few records were recovered. */
static int cut_at(uint64_t events, enum rpm_level level, enum rpm_cut cut, uint64_t *lost)
{
    struct rpm_sim_opts world = rpm_sim_opts_init();
    struct rpm_sim *sim;
    struct rpm_conn *conn;
    struct rpm_log *log;
    uint64_t acknowledged = 0;
    int happened;

    world.seed = events;
    world.preset = "adr";
    must(rpm_sim_open(&world, &sim), "world");
    must(rpm_sim_connect(sim, 0, NULL, &conn), "connect");
    log = open_log(conn, level);
    rpm_sim_cut_at(sim, 0, events, cut);
    for (int i = 0; i < RECORDS; i++)
        if (rpm_log_append(log, "precious", strlen("precious"), NULL) == 0)
            acknowledged++;
    happened = rpm_sim_cut_happened(sim, 0);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    if (happened && recover(sim) < acknowledged)
        *lost += 1;
    rpm_sim_close(&sim);
    return happened;
}

static uint64_t cut_everywhere(enum rpm_level level, enum rpm_cut cut)
{
    uint64_t lost = 0;

    for (uint64_t events = 1; cut_at(events, level, cut, &lost);)
        events++;
    return lost;
}

int main(void)
{
    static const char *const names[] = { "none", "drop", "tear", "reorder" };

    for (int cut = RPM_CUT_NONE; cut <= RPM_CUT_REORDER; cut++)
        printf("durable, power cut after every event, %s: lost %llu\n", names[cut],
               (unsigned long long)cut_everywhere(RPM_DURABLE, (enum rpm_cut)cut));
    printf("visible, power cut after every event, drop: lost %s\n",
           cut_everywhere(RPM_VISIBLE, RPM_CUT_DROP) > 0 ? "some" : "none");
    return 0;
}
