/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 01_append.c: connect, open a log, append one record durably.
 *
 *     01_append [URL]      default: the device model, so that it runs anywhere
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
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    const char *text = "hello, remote memory";
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_conn *conn;
    struct rpm_log *log;
    uint64_t lsn;

    must(rpm_conn_open(url, NULL, &conn), url);

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.level = RPM_DURABLE; /* refused here, with a reason, if it cannot be proven */
    opts.capacity_bytes = 64 << 10;
    must(rpm_log_open(conn, "greetings", &opts, &log), "open");

    /* One write and one flush, one round trip. On 0 the record survives power loss. */
    must(rpm_log_append(log, text, strlen(text), &lsn), "append");
    printf("durable at lsn %llu: \"%s\"\n", (unsigned long long)lsn, text);

    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return 0;
}
