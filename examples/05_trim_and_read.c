/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 05_trim_and_read.c: read from any record on, follow the tail, trim old records.
 *
 *     05_trim_and_read [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static uint64_t append(struct rpm_log *log, const char *text)
{
    uint64_t lsn;

    must(rpm_log_append(log, text, strlen(text), &lsn), "append");
    return lsn;
}

static void print_new(struct rpm_reader *reader)
{
    struct rpm_record record;
    int more;

    while ((more = rpm_reader_next(reader, &record)) > 0)
        printf("  %.*s\n", (int)record.len, (const char *)record.data);
    must(more, "read");
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_reader_opts from = rpm_reader_opts_init();
    struct rpm_log_info info = { .size = sizeof(info) };
    struct rpm_reader *reader;
    struct rpm_conn *conn;
    struct rpm_log *log;
    uint64_t third;
    int err;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 64 << 10;
    must(rpm_log_open(conn, "journal", &opts, &log), "open");
    append(log, "first");
    append(log, "second");
    third = append(log, "third");

    from.level = RPM_DURABLE; /* return only records that survive power loss */
    must(rpm_reader_open(log, &from, &reader), "reader");
    printf("all there is:\n");
    print_new(reader);
    append(log, "fourth");
    printf("and what came since:\n");
    print_new(reader);
    rpm_reader_close(&reader);

    must(rpm_log_trim(log, third), "trim");
    from.from_lsn = 64; /* where "second" was */
    err = rpm_reader_open(log, &from, &reader);
    printf("reading what was trimmed: %s\n", rpm_error_name(err));
    from.from_lsn = third;
    must(rpm_reader_open(log, &from, &reader), "reader");
    printf("what is left:\n");
    print_new(reader);
    must(rpm_log_info(log, &info), "info");
    printf("head %llu, tail %llu\n", (unsigned long long)info.head_lsn,
           (unsigned long long)info.tail_lsn);

    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return 0;
}
