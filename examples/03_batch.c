/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 03_batch.c: append several records with one flush.
 *
 *     03_batch [URL]      default: the device model, so that it runs anywhere
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

int main(int argc, char **argv)
{
    static const char *const words[] = { "write", "ahead", "of", "everything", "else" };
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_slice records[WORDS];
    struct rpm_reader *reader;
    struct rpm_record record;
    struct rpm_conn *conn;
    struct rpm_log *log;
    uint64_t lsns[WORDS];
    int more;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 64 << 10;
    must(rpm_log_open(conn, "words", &opts, &log), "open");

    for (int i = 0; i < WORDS; i++)
        records[i] = (struct rpm_slice){ .data = words[i], .len = strlen(words[i]) };
    must(rpm_log_append_batch(log, records, WORDS, lsns), "batch");
    printf("%d records durable, the last at lsn %llu\n", WORDS,
           (unsigned long long)lsns[WORDS - 1]);

    must(rpm_reader_open(log, NULL, &reader), "reader");
    while ((more = rpm_reader_next(reader, &record)) > 0)
        printf("lsn %llu: %.*s\n", (unsigned long long)record.lsn, (int)record.len,
               (const char *)record.data);
    must(more, "read");

    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return 0;
}
