/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 11_steps.c: lists of steps, which the server CPU carries out in one round trip.
 *
 * One list of steps locks and reads two accounts, another writes them back and unlocks them. The
 * write of an account is visible before the later step that unlocks it, so no client finds a lock
 * free before its account is written.
 *
 * A server frees no lock word, also not that of a client that has ended (the locks of
 * <librpm/lock.h> know their owner). So a transfer that cannot lock every account unlocks those
 * that it has locked.
 *
 *     11_steps [URL]             default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 2u
#define ME 1u
#define OTHER 2u /* another client */

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

/* Change a lock word from @from to @to; the list ends here if the word is not @from. */
static struct rpm_step change(struct rpm_region *locks, uint64_t i, uint64_t from, uint64_t to)
{
    struct rpm_step step = { .kind = RPM_STEP_CAS, .flags = RPM_STEP_MUST, .region = locks };

    step.offset = i * 8;
    step.expect = from;
    step.operand = to;
    return step;
}

/* The same as a list of one step. */
static void change_alone(struct rpm_region *locks, uint64_t i, uint64_t from, uint64_t to)
{
    struct rpm_step step = change(locks, i, from, to);
    uint32_t done;

    must(rpm_steps_run(locks, &step, 1, &done), "change a lock");
}

static void transfer(struct rpm_region *rows, struct rpm_region *locks, int64_t cents)
{
    struct rpm_step steps[2 * ACCOUNTS];
    int64_t balance[ACCOUNTS];
    uint32_t done;

    for (uint64_t i = 0; i < ACCOUNTS; i++) {
        steps[2 * i] = change(locks, i, 0, ME);
        steps[2 * i + 1] = (struct rpm_step){
            .kind = RPM_STEP_READ, .region = rows, .offset = i * 64, .into = &balance[i], .len = 8
        };
    }
    must(rpm_steps_run(rows, steps, 2 * ACCOUNTS, &done), "lock and read");
    if (done < 2 * ACCOUNTS) { /* the list ended at a lock that another client holds */
        for (uint64_t i = 0; i < done / 2; i++)
            change_alone(locks, i, ME, 0);
        printf("another client holds the lock of account %u: try later\n", done / 2);
        return;
    }
    balance[0] -= cents;
    balance[1] += cents;
    for (uint64_t i = 0; i < ACCOUNTS; i++) {
        steps[2 * i] = (struct rpm_step){
            .kind = RPM_STEP_WRITE, .region = rows, .offset = i * 64, .data = &balance[i], .len = 8
        };
        steps[2 * i + 1] = change(locks, i, ME, 0);
    }
    must(rpm_steps_run(rows, steps, 2 * ACCOUNTS, &done), "write and unlock");
    printf("%lld %lld after %u steps\n", (long long)balance[0], (long long)balance[1], done);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr";
    struct rpm_region_opts opts = rpm_region_opts_init();
    struct rpm_region *locks;
    struct rpm_region *rows;
    struct rpm_conn *conn;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = ACCOUNTS * 64;
    must(rpm_region_open(conn, "step-accounts", &opts, &rows), "accounts");
    opts.flags |= RPM_REGION_DRAM;
    opts.bytes = ACCOUNTS * 8;
    must(rpm_region_open(conn, "step-locks", &opts, &locks), "locks");

    for (int i = 1; i <= 3; i++)
        transfer(rows, locks, i * 100);

    change_alone(locks, 1, 0, OTHER); /* a transfer that finds a lock held changes nothing */
    transfer(rows, locks, 400);
    change_alone(locks, 1, OTHER, 0);
    transfer(rows, locks, 400);

    rpm_region_close(&locks);
    rpm_region_close(&rows);
    rpm_conn_close(&conn);
    return 0;
}
