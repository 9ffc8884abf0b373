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

struct client {
    const char *name;
    struct rpm_conn *conn;
    struct rpm_log *log;
    int fd; /* RPM_E_NOCAP: the device model has no descriptor; its time advances in polls */
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

static void begin(struct client *client, const char *name, const char *url, int set)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };
    struct rpm_log_opts opts = rpm_log_opts_init();

    client->name = name;
    must(rpm_conn_open(url, NULL, &client->conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 128 << 10;
    opts.inflight_max = INFLIGHT;
    must(rpm_log_open(client->conn, name, &opts, &client->log), "open");
    client->fd = rpm_conn_fd(client->conn);
    if (client->fd == RPM_E_NOCAP)
        return;
    must(client->fd, "descriptor");
    if (epoll_ctl(set, EPOLL_CTL_ADD, client->fd, &event) != 0)
        must(RPM_E_NOMEM, "epoll_ctl");
}

/* Reap completions, then append as many records as fit. */
static void serve(struct client *client)
{
    struct rpm_completion done[INFLIGHT];
    int n = rpm_log_poll(client->log, done, INFLIGHT);

    must(n, "poll");
    for (int i = 0; i < n; i++) {
        must(done[i].status, "completion");
        if (done[i].context != &client->number[client->done++])
            must(RPM_E_PROTO, "order");
    }
    while (client->sent < RECORDS) {
        uint32_t *number = &client->number[client->sent];
        int err;

        *number = client->sent;
        err = rpm_log_append_async(client->log, number, sizeof(*number), 0, number, NULL);
        if (err == RPM_E_BUSY)
            return; /* INFLIGHT are outstanding */
        must(err, "append");
        client->sent++;
    }
}

/* 0: the descriptor will become readable. 1: an event is pending; call serve() at once. */
static int arm(struct client *client)
{
    int pending;

    if (client->fd < 0)
        return 1;
    pending = rpm_conn_arm(client->conn);
    must(pending, "arm");
    return pending;
}

int main(int argc, char **argv)
{
    static struct client clients[2];
    const char *url = argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio";
    int set = epoll_create1(EPOLL_CLOEXEC);

    must(set < 0 ? RPM_E_NOMEM : 0, "epoll_create1");
    begin(&clients[0], "left", url, set);
    begin(&clients[1], "right", argc > 2 ? argv[2] : url, set);

    for (int i = 0; i < 2; i++)
        serve(&clients[i]);
    while (clients[0].done + clients[1].done < 2 * RECORDS) {
        struct epoll_event events[2];
        int pending[2] = { arm(&clients[0]), arm(&clients[1]) };
        int n = epoll_wait(set, events, 2, pending[0] + pending[1] > 0 ? 0 : -1);

        for (int i = 0; i < n; i++)
            serve(events[i].data.ptr);
        for (int i = 0; i < 2; i++)
            if (pending[i])
                serve(&clients[i]);
    }
    for (int i = 0; i < 2; i++) {
        printf("%s: %u appends durable, in order\n", clients[i].name, clients[i].done);
        rpm_log_close(&clients[i].log);
        rpm_conn_close(&clients[i].conn);
    }
    (void)close(set);
    return 0;
}
