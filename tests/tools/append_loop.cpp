// SPDX-License-Identifier: BSD-3-Clause
// append_loop.cpp: appends (and reads) N records through an open log and does nothing else, so that
// the cost of one record can be measured from outside. Counts allocations itself: any after open is
// a failure. Run by cost_test.
//
//   append_loop URL NAME N append|batch|async|reserve|read
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <librpm.h>
#include <string>

static unsigned long allocations;

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

// Replaces the C library's functions, for everything in this process.
void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations++;
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ptr, size_t align, size_t bytes)
{
    allocations++;
    *ptr = __libc_memalign(align, bytes);
    return *ptr == nullptr ? ENOMEM : 0;
}
}

static constexpr unsigned kBatch = 32;
static constexpr size_t kBytes = 100;

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "append_loop: %s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static void reap(rpm_log *log)
{
    rpm_completion done[kBatch];
    int n = rpm_log_poll(log, done, kBatch);

    must(n, "poll");
    for (int i = 0; i < n; i++)
        must(done[i].status, "completion");
}

static void submit(rpm_log *log, const char *data, bool reserved)
{
    void *room;
    int err;

    while ((err = reserved ? rpm_log_reserve(log, kBytes, &room)
                           : rpm_log_append_async(log, data, kBytes, 0, nullptr, nullptr)) ==
           RPM_E_BUSY) {
        must(rpm_log_persist(log), "persist");
        reap(log);
    }
    must(err, "submit");
    if (!reserved)
        return;
    memcpy(room, data, kBytes);
    must(rpm_log_commit(log, kBytes, 0, nullptr, nullptr), "commit");
}

static void append(rpm_log *log, const std::string &kind, unsigned long n)
{
    static const char data[kBytes] = "a record";
    rpm_slice batch[kBatch];

    for (rpm_slice &slice : batch)
        slice = { data, kBytes };
    for (unsigned long i = 0; i < n; i += kind == "batch" ? kBatch : 1) {
        if (kind == "append")
            must(rpm_log_append(log, data, kBytes, nullptr), "append");
        else if (kind == "batch")
            must(rpm_log_append_batch(log, batch, kBatch, nullptr), "batch");
        else
            submit(log, data, kind == "reserve");
    }
    must(rpm_log_persist(log), "persist");
    reap(log);
}

static void read(rpm_reader *reader, unsigned long n)
{
    rpm_record record;

    for (unsigned long i = 0; i < n; i++) {
        int found = rpm_reader_next(reader, &record);

        must(found, "read");
        if (found == 0) {
            fprintf(stderr, "append_loop: only %lu records\n", i);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    unsigned long before;
    unsigned long n;
    std::string kind;

    if (argc != 5)
        return 2;
    n = strtoul(argv[3], nullptr, 10);
    kind = argv[4];
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 32 << 20;
    opts.inflight_max = kBatch;
    must(rpm_conn_open(argv[1], nullptr, &conn), "connect");
    must(rpm_log_open(conn, argv[2], &opts, &log), "open");
    must(rpm_reader_open(log, nullptr, &reader), "reader");
    before = allocations;
    if (kind == "read")
        read(reader, n);
    else
        append(log, kind, n);
    n = allocations - before;
    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    if (before == 0) {
        fprintf(stderr, "append_loop: allocations are not seen\n");
        return 1;
    }
    if (n != 0)
        fprintf(stderr, "append_loop: %lu allocations after open\n", n);
    return n == 0 ? 0 : 1;
}
