/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 04_async.c: keep many appends outstanding. Each has exactly one completion, in order.
 *
 *     04_async [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 1000u
#define INFLIGHT 32u

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static uint32_t numbers[RECORDS];

/* Wait for at least one completion. Returns their number, and checks their order. */
static uint32_t reap(struct rpm_log *log, uint32_t next)
{
    struct rpm_completion done[INFLIGHT];
    int n = rpm_log_wait(log, done, INFLIGHT, 1, UINT64_MAX);

    must(n, "wait");
    for (int i = 0; i < n; i++) {
        must(done[i].status, "completion");
        if (done[i].context != &numbers[next + (uint32_t)i])
            must(RPM_E_PROTO, "order");
    }
    return (uint32_t)n;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_conn *conn;
    struct rpm_log *log;
    uint32_t sent = 0;
    uint32_t done = 0;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 128 << 10;
    opts.inflight_max = INFLIGHT;
    must(rpm_log_open(conn, "numbers", &opts, &log), "open");

    while (done < RECORDS) {
        while (sent < RECORDS) {
            int err;

            numbers[sent] = sent;
            err = rpm_log_append_async(log, &numbers[sent], sizeof(numbers[sent]), 0,
                                       &numbers[sent], NULL);
            if (err == RPM_E_BUSY)
                break; /* INFLIGHT are outstanding: reap first */
            must(err, "append");
            sent++;
        }
        done += reap(log, done);
    }
    printf("%u appends durable, completed in order\n", done);

    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return 0;
}
