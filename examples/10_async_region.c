/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 10_async_region.c: asynchronous reads and atomics of regions, and writes guarded by the claim of
 * a log.
 *
 * The program locks and reads two accounts at the same time, and writes them back under the claim
 * of the log "transfers": after another client has taken that log over, no write of this program
 * changes the accounts any more.
 *
 *     10_async_region [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 2u

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

/* Wait until all operations have completed; 09_event_loop.c shows how to sleep meanwhile. */
static void reap(struct rpm_region *region, uint32_t n)
{
    struct rpm_completion done[ACCOUNTS];

    while (n > 0) {
        int got = rpm_region_poll(region, done, n);

        must(got, "poll");
        for (int i = 0; i < got; i++)
            must(done[i].status, "completion");
        n -= (uint32_t)got;
    }
}

static void transfer(struct rpm_region *rows, struct rpm_region *locks, int64_t cents)
{
    uint64_t held[ACCOUNTS];
    int64_t balance[ACCOUNTS];

    for (uint64_t i = 0; i < ACCOUNTS; i++) {
        must(rpm_region_cas_async(locks, i * 8, 0, 1, &held[i], NULL), "lock");
        must(rpm_region_read_async(rows, i * 64, &balance[i], sizeof(balance[i]), NULL), "read");
    }
    reap(locks, ACCOUNTS);
    reap(rows, ACCOUNTS);
    if (held[0] != 0 || held[1] != 0)
        must(RPM_E_OWNED, "lock"); /* this example has no other client */
    balance[0] -= cents;
    balance[1] += cents;
    for (uint64_t i = 0; i < ACCOUNTS; i++)
        must(rpm_region_write_async(rows, i * 64, &balance[i], sizeof(balance[i]), NULL), "write");
    reap(rows, ACCOUNTS);
    for (uint64_t i = 0; i < ACCOUNTS; i++)
        must(rpm_region_cas_async(locks, i * 8, 1, 0, &held[i], NULL), "unlock");
    reap(locks, ACCOUNTS);
    printf("%lld %lld\n", (long long)balance[0], (long long)balance[1]);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_log_opts log_opts = rpm_log_opts_init();
    struct rpm_region_opts opts = rpm_region_opts_init();
    struct rpm_region *locks;
    struct rpm_region *rows;
    struct rpm_conn *conn;
    struct rpm_log *log;

    must(rpm_conn_open(url, NULL, &conn), url);
    log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
    log_opts.capacity_bytes = 128 << 10;
    must(rpm_log_open(conn, "transfers", &log_opts, &log), "log");
    opts.claim = log; /* writes through both end when another client takes the log over */
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = ACCOUNTS * 64;
    opts.slot_bytes = 64;
    must(rpm_region_open(conn, "accounts", &opts, &rows), "accounts");
    opts.flags |= RPM_REGION_DRAM;
    opts.bytes = ACCOUNTS * 8;
    opts.slot_bytes = 0;
    must(rpm_region_open(conn, "account-locks", &opts, &locks), "locks");

    for (int i = 1; i <= 3; i++)
        transfer(rows, locks, i * 100);

    rpm_region_close(&locks);
    rpm_region_close(&rows);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return 0;
}
