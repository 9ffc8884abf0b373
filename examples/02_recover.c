/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 02_recover.c: recover from a lost connection. The results of the outstanding appends are unknown
 * until rpm_log_resume() delivers exactly one outcome for each.
 *
 *     02_recover [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 20u

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static uint32_t numbers[RECORDS];

static void append(struct rpm_log *log, uint32_t *number)
{
    must(rpm_log_append_async(log, number, sizeof(*number), 0, number, NULL), "append");
}

/* Read the whole log, and count how often each number is in it. */
static void count(struct rpm_log *log, uint32_t *seen)
{
    struct rpm_reader *reader;
    struct rpm_record record;
    int more;

    must(rpm_reader_open(log, NULL, &reader), "reader");
    while ((more = rpm_reader_next(reader, &record)) > 0)
        seen[*(const uint32_t *)record.data]++;
    must(more, "read");
    rpm_reader_close(&reader);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts opts = rpm_log_opts_init();
    static struct rpm_outcome outcomes[256]; /* as many as appends can be outstanding */
    uint32_t seen[RECORDS] = { 0 };
    uint32_t settled;
    uint32_t lost = 0;
    uint32_t doubled = 0;
    struct rpm_conn *conn;
    struct rpm_log *log;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 64 << 10;
    must(rpm_log_open(conn, "numbers", &opts, &log), "open");

    for (uint32_t i = 0; i < RECORDS; i++) {
        numbers[i] = i;
        append(log, &numbers[i]);
    }

    /* No completion was polled: this drops the connection with all appends outstanding. */
    must(rpm_conn_reconnect(conn), "reconnect");
    must(rpm_log_resume(log, outcomes, 256, &settled), "resume");
    for (uint32_t i = 0; i < settled; i++)
        if (!outcomes[i].present)
            append(log, outcomes[i].context); /* it is not in the log, and never will be */
    must(rpm_log_persist(log), "persist");

    count(log, seen);
    for (uint32_t i = 0; i < RECORDS; i++) {
        lost += seen[i] == 0;
        doubled += seen[i] > 1;
    }
    printf("appended %u, lost %u, doubled %u\n", RECORDS, lost, doubled);

    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return lost + doubled == 0 ? 0 : 1;
}
