/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 06_region_and_lock.c: write slots of a region in place, durably, under a lock. The lock is in the
 * server's DRAM: atomics on persistent memory would be slow and would need a flush (H8).
 *
 *     06_region_and_lock [URL]      default: the device model, so that it runs anywhere
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 16u
#define SLOT 64u

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

struct account {
    uint64_t balance;
    uint64_t changes;
};

static void deposit(struct rpm_region *accounts, struct rpm_locks *locks, uint64_t index,
                    uint64_t amount)
{
    struct account account;

    must(rpm_lock_try(locks, index), "lock");
    must(rpm_region_read(accounts, index * SLOT, &account, sizeof(account)), "read");
    account.balance += amount;
    account.changes++;
    must(rpm_region_write(accounts, index * SLOT, &account, sizeof(account)), "write");
    must(rpm_lock_release(locks, index), "release");
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    struct rpm_region_opts opts = rpm_region_opts_init();
    struct rpm_region *accounts;
    struct rpm_region *words;
    struct rpm_locks *locks;
    struct rpm_conn *conn;
    struct account account;
    uint64_t before;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = ACCOUNTS * SLOT;
    opts.slot_bytes = SLOT; /* each slot has one writer: a write may pad to 64 bytes (H6) */
    must(rpm_region_open(conn, "accounts", &opts, &accounts), "accounts");
    must(rpm_locks_open(conn, "account-locks", ACCOUNTS, &locks), "locks");

    for (int i = 0; i < 3; i++)
        deposit(accounts, locks, 7, 100);
    must(rpm_region_read(accounts, 7 * SLOT, &account, sizeof(account)), "read");
    printf("account 7: balance %llu after %llu changes, durable\n",
           (unsigned long long)account.balance, (unsigned long long)account.changes);

    must(rpm_lock_try(locks, 7), "lock");
    printf("taking a held lock: %s\n", rpm_error_name(rpm_lock_try(locks, 7)));
    must(rpm_lock_release(locks, 7), "release");

    opts = rpm_region_opts_init();
    opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
    opts.bytes = 4096;
    must(rpm_region_open(conn, "tickets", &opts, &words), "tickets");
    must(rpm_region_faa(words, 0, 1, &before), "add");
    must(rpm_region_faa(words, 0, 1, &before), "add");
    printf("second ticket: %llu, volatile\n", (unsigned long long)before);

    rpm_region_close(&words);
    rpm_locks_close(&locks);
    rpm_region_close(&accounts);
    rpm_conn_close(&conn);
    return 0;
}
