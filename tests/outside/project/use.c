/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * use.c: an outside program in C. Appends a record to a log of a modelled server, makes it durable
 * and reads it back.
 */
#include <librpm.h>
#include <stdio.h>

static int read_back(struct rpm_log *log)
{
    struct rpm_reader *reader = NULL;
    struct rpm_record record;
    int err = rpm_reader_open(log, NULL, &reader);

    if (err)
        return err;
    err = rpm_reader_next(reader, &record);
    if (err == 1)
        printf("read %.*s\n", (int)record.len, (const char *)record.data);
    rpm_reader_close(&reader);
    return err == 1 ? 0 : RPM_E_RANGE;
}

static int append(struct rpm_conn *conn)
{
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log *log = NULL;
    int err;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 65536;
    err = rpm_log_open(conn, "outside", &opts, &log);
    if (err)
        return err;
    err = rpm_log_append(log, "hello", 5, NULL);
    if (!err)
        err = read_back(log);
    rpm_log_close(&log);
    return err;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr";
    struct rpm_conn *conn = NULL;
    int err = rpm_conn_open(url, NULL, &conn);

    if (!err)
        err = append(conn);
    rpm_conn_close(&conn);
    if (err)
        fprintf(stderr, "%s: %s\n", rpm_error_name(err), rpm_last_error());
    return err ? 1 : 0;
}
