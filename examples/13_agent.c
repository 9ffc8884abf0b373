/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 13_agent.c: an agent has a writer's records certified, and ends; the writer goes on without it.
 *
 * An agent sends the flush requests of many writers to the server as one message. Here it has one
 * writer, and runs in three threads of the same program; where it is another program, run
 * rpm-agent --listen. It ends halfway: from then on the server flushes for the writer.
 *
 *     13_agent [URL]     default: a server in this program, so that it runs anywhere
 */
#include <librpm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 100u /* with the agent, and as many without it */

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    exit(1);
}

/* Each loop runs until its server or agent is stopped. */
static void *engine(void *server)
{
    must(rpm_server_engine(server), "engine");
    return NULL;
}

static void *control(void *server)
{
    must(rpm_server_run(server), "control");
    return NULL;
}

static void *work(void *agent)
{
    must(rpm_agent_work(agent), "agent");
    return NULL;
}

static pthread_t started(void *(*loop)(void *), void *of)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, loop, of) != 0) {
        fprintf(stderr, "cannot start a thread\n");
        exit(1);
    }
    return thread;
}

static struct rpm_server *open_server(const char *listen)
{
    struct rpm_server_opts opts = rpm_server_opts_init();
    struct rpm_server *server;

    opts.listen = listen;
    opts.pool_bytes = 8u << 20;
    opts.domain = RPM_DOMAIN_ADR; /* this memory stands in for persistent memory */
    opts.flags = RPM_SERVER_NO_SPIN;
    must(rpm_server_open(&opts, &server), "server");
    return server;
}

static struct rpm_agent *open_agent(const char *server, const char *listen)
{
    struct rpm_agent_opts opts = rpm_agent_opts_init();
    struct rpm_agent *agent;

    opts.server = server;
    opts.listen = listen;
    opts.flags = RPM_SERVER_NO_SPIN;
    must(rpm_agent_open(&opts, &agent), "agent");
    return agent;
}

static void append(struct rpm_log *log)
{
    for (unsigned i = 0; i < RECORDS; i++)
        must(rpm_log_append(log, "a record", 8, NULL), "append");
}

/* Appends with the agent, ends it, and appends again. */
static void write_records(const char *url, struct rpm_agent *agent)
{
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    struct rpm_server *front = rpm_agent_front(agent);
    pthread_t threads[] = { started(work, agent), started(engine, front), started(control, front) };
    struct rpm_conn *conn;
    struct rpm_log *log;

    must(rpm_conn_open(url, NULL, &conn), url);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.method = RPM_METHOD_ORDER; /* always, not only while it is faster */
    must(rpm_log_open(conn, "certified", &opts, &log), "log");
    append(log);
    rpm_agent_stop(agent);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        (void)pthread_join(threads[i], NULL);
    rpm_agent_close(&agent);
    append(log); /* each record is durable when its append returns */
    must(rpm_conn_stats(conn, &stats), "statistics");
    printf("%u records are durable; after the agent ended, the server %s for the writer\n",
           2 * RECORDS, stats.order_fallbacks >= RECORDS ? "flushed" : "did not flush");
    rpm_log_close(&log);
    rpm_conn_close(&conn);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/agent_XXXXXX";
    struct rpm_server *server = NULL;
    pthread_t threads[2] = { 0 };
    char own[64];
    char at[64];
    char url[512];
    const char *there = own;

    if (mkdtemp(folder) == NULL)
        must(RPM_E_IO, folder);
    snprintf(own, sizeof(own), "unix:%s/server", folder);
    snprintf(at, sizeof(at), "unix:%s/agent", folder);
    if (argc > 1) {
        there = argv[1];
    } else {
        server = open_server(own);
        threads[0] = started(engine, server);
        threads[1] = started(control, server);
    }
    snprintf(url, sizeof(url), "%s,agent=%s", there, at);
    write_records(url, open_agent(there, at));
    if (server != NULL) {
        rpm_server_stop(server);
        for (int i = 0; i < 2; i++)
            (void)pthread_join(threads[i], NULL);
        rpm_server_close(&server);
    }
    (void)rmdir(folder);
    return 0;
}
