/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loads.c: connects to the address that it is given and says how many files called librpm-sim this
 * process has mapped. Linked with librpm-sim it also calls the model's functions on the connection:
 * they abort on a connection of another instance of that library.
 */
#include <librpm.h>
#include <stdio.h>
#include <string.h>

/* The lines of /proc/self/maps that map a librpm-sim from its beginning. */
static int mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int n = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, "librpm-sim") != NULL && strstr(line, " 00000000 ") != NULL;
    if (maps != NULL)
        fclose(maps);
    return n;
}

static int connect_to(const char *url, struct rpm_conn **conn)
{
    int err = rpm_conn_open(url, NULL, conn);

    if (err != 0)
        printf("%s: %s\n", rpm_error_name(err), rpm_last_error());
#ifdef LINKED
    if (err == 0)
        rpm_sim_kill_client(*conn);
#endif
    return err;
}

int main(int argc, char **argv)
{
    struct rpm_conn *conn = NULL;

    if (argc != 2 || connect_to(argv[1], &conn) != 0)
        return 1;
    printf("connected, librpm-sim %d\n", mapped());
    rpm_conn_close(&conn);
    return 0;
}
