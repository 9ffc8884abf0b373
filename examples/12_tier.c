/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 12_tier.c: a log that is never full, and keeps all of its records.
 *
 * The program writes three times as many bytes as the log has room for. An archiver stores records
 * as segments in a folder; the writer trims what they have when the log is full. A reader then
 * reads everything, from the segments first and then from the log. Where the archiver is another
 * program, run rpm-agent; where it is on another machine, which the writer does not share a folder
 * with, <librpm/decision.h> says how the writer trims.
 *
 *     12_tier [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 3000u
#define CAPACITY (64u << 10)

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static void write_all(struct rpm_log *log, struct rpm_archiver *archiver)
{
    char text[32];

    for (unsigned i = 0; i < RECORDS; i++) {
        int len = snprintf(text, sizeof(text), "record %u", i);
        int err = rpm_log_append(log, text, (size_t)len, NULL);

        if (err == RPM_E_FULL) { /* nothing is stored that could be trimmed: store, and try again */
            must(rpm_archiver_turn(archiver, 1), "archiver");
            err = rpm_log_append(log, text, (size_t)len, NULL);
        }
        must(err, "append");
    }
}

static unsigned read_all(struct rpm_log *log, struct rpm_tier *tier)
{
    struct rpm_reader_opts opts = rpm_reader_opts_init();
    struct rpm_reader *reader;
    struct rpm_record record;
    char wanted[32];
    unsigned n = 0;
    int found;

    opts.tier = tier; /* from its oldest record on */
    must(rpm_reader_open(log, &opts, &reader), "reader");
    while ((found = rpm_reader_next(reader, &record)) == 1) {
        int len = snprintf(wanted, sizeof(wanted), "record %u", n++);

        if (record.len != (size_t)len || memcmp(record.data, wanted, record.len) != 0)
            must(RPM_E_CORRUPT, "another record than was written");
    }
    must(found, "read");
    rpm_reader_close(&reader);
    return n;
}

/* What this example has stored is not needed any more. */
static void remove_all(struct rpm_tier *tier, const char *folder)
{
    struct rpm_tier_log stored = rpm_tier_log_init();
    char path[64];

    must(rpm_tier_entry(tier, 0, &stored), "entry");
    must(rpm_tier_drop(tier, stored.log_id, UINT64_MAX), "drop");
    snprintf(path, sizeof(path), "%s/%016llx", folder, (unsigned long long)stored.log_id);
    (void)rmdir(path);
    (void)rmdir(folder);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log_info info = rpm_log_info_init();
    char folder[] = "/tmp/segments_XXXXXX";
    struct rpm_archiver *archiver;
    struct rpm_tier *tier;
    struct rpm_conn *conn;
    struct rpm_log *log;

    if (mkdtemp(folder) == NULL)
        must(RPM_E_IO, folder);
    must(rpm_tier_open(folder, NULL, &tier), folder);
    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = CAPACITY;
    opts.tier = tier; /* trim what it has when the log is full */
    must(rpm_log_open(conn, "endless", &opts, &log), "log");
    must(rpm_archiver_open(tier, log, &archiver), "archiver");

    write_all(log, archiver);
    must(rpm_log_info(log, &info), "info");
    printf("laps %u, records %u\n", (unsigned)(info.tail_lsn / CAPACITY), read_all(log, tier));

    rpm_archiver_close(&archiver);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    remove_all(tier, folder);
    rpm_tier_close(&tier);
    return 0;
}
