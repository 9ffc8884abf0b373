/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 09_event_loop.c: two logs on two connections in one epoll loop, which sleeps while neither has an
 * event.
 *
 *     09_event_loop [URL [URL]]      default: the device model, so that it runs anywhere
 *
 * Before each sleep every connection is armed. If rpm_conn_arm() returns 1, an event is pending and
 * the program does not sleep.
 */
#include <librpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RECORDS 500u
#define INFLIGHT 16u

struct side {
    const char *name;
    struct rpm_conn *conn;
    struct rpm_log *log;
    int fd; /* RPM_E_NOCAP: the device model has none; its time advances in polls */
    uint32_t number[RECORDS];
    uint32_t sent;
    uint32_t done;
};

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

static void begin(struct side *side, const char *name, const char *url, int set)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = side };
    struct rpm_log_opts opts = rpm_log_opts_init();

    side->name = name;
    must(rpm_conn_open(url, NULL, &side->conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 128 << 10;
    opts.inflight_max = INFLIGHT;
    must(rpm_log_open(side->conn, name, &opts, &side->log), "open");
    side->fd = rpm_conn_fd(side->conn);
    if (side->fd == RPM_E_NOCAP)
        return;
    must(side->fd, "descriptor");
    if (epoll_ctl(set, EPOLL_CTL_ADD, side->fd, &event) != 0)
        must(RPM_E_NOMEM, "epoll_ctl");
}

/* One turn: reap completions, then append as many records as there is room for. */
static void turn(struct side *side)
{
    struct rpm_completion done[INFLIGHT];
    int n = rpm_log_poll(side->log, done, INFLIGHT);

    must(n, "poll");
    for (int i = 0; i < n; i++) {
        must(done[i].status, "completion");
        if (done[i].context != &side->number[side->done++])
            must(RPM_E_PROTO, "order");
    }
    while (side->sent < RECORDS) {
        uint32_t *number = &side->number[side->sent];
        int err;

        *number = side->sent;
        err = rpm_log_append_async(side->log, number, sizeof(*number), 0, number, NULL);
        if (err == RPM_E_BUSY)
            return; /* INFLIGHT are outstanding */
        must(err, "append");
        side->sent++;
    }
}

/* 0: wait for the descriptor. 1: take another turn at once. */
static int arm(struct side *side)
{
    int there;

    if (side->fd < 0)
        return 1;
    there = rpm_conn_arm(side->conn);
    must(there, "arm");
    return there;
}

int main(int argc, char **argv)
{
    static struct side sides[2];
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    int set = epoll_create1(EPOLL_CLOEXEC);

    must(set < 0 ? RPM_E_NOMEM : 0, "epoll_create1");
    begin(&sides[0], "left", url, set);
    begin(&sides[1], "right", argc > 2 ? argv[2] : url, set);

    for (int i = 0; i < 2; i++)
        turn(&sides[i]);
    while (sides[0].done + sides[1].done < 2 * RECORDS) {
        struct epoll_event events[2];
        int there[2] = { arm(&sides[0]), arm(&sides[1]) };
        int n = epoll_wait(set, events, 2, there[0] + there[1] > 0 ? 0 : -1);

        for (int i = 0; i < n; i++)
            turn(events[i].data.ptr);
        for (int i = 0; i < 2; i++)
            if (there[i])
                turn(&sides[i]);
    }
    for (int i = 0; i < 2; i++) {
        printf("%s: %u appends durable, in order\n", sides[i].name, sides[i].done);
        rpm_log_close(&sides[i].log);
        rpm_conn_close(&sides[i].conn);
    }
    (void)close(set);
    return 0;
}
