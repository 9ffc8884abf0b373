/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibration.c: read a file of estimates.
 *
 * Invariant: a file that is not understood as a whole gives no estimate.
 *
 * Tests: tests/unit/transport/wrap/calibration_test.cpp
 */
#include "transport/wrap/calibration.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LINE "rpm-calibration 1\n"
#define LINE_BYTES 256u

static int parse_line(const char *path, uint32_t number, const char *line,
                      struct rpmi_calibration *calibration)
{
    char way[8];
    char rest;
    uint64_t bytes;
    uint64_t ns;
    uint64_t *estimate;

    if (line[0] == '#' || line[0] == '\n')
        return 0;
    if (line[0] < '0' || line[0] > '9' ||
        sscanf(line, "%" SCNu64 " %7s %" SCNu64 " %c", &bytes, way, &ns, &rest) != 3)
        return rpmi_fail(RPM_E_INVAL,
                         "%s:%u: expected is a line like \"64 agent 23500\": bytes, agent or "
                         "server, nanoseconds",
                         path, number);
    if (strcmp(way, "agent") != 0 && strcmp(way, "server") != 0)
        return rpmi_fail(RPM_E_INVAL, "%s:%u: \"%s\", expected is agent or server", path, number,
                         way);
    if (ns == 0 || ns > RPMI_SELECT_GIVEN_MAX)
        return rpmi_fail(RPM_E_INVAL, "%s:%u: %" PRIu64 " ns, expected are 1 to %" PRIu64, path,
                         number, ns, RPMI_SELECT_GIVEN_MAX);
    estimate = way[0] == 'a' ? calibration->agent_ns : calibration->server_ns;
    estimate += rpmi_select_class(bytes);
    if (*estimate != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "%s:%u: the size class of %" PRIu64 " bytes has a time for the %s already",
                         path, number, bytes, way);
    *estimate = ns;
    return 0;
}

static int parse(FILE *file, const char *path, struct rpmi_calibration *calibration)
{
    char line[LINE_BYTES];
    uint32_t number = 0;
    int err = 0;

    while (err == 0 && fgets(line, sizeof(line), file) != NULL) {
        number++;
        if (strchr(line, '\n') == NULL)
            err = rpmi_fail(RPM_E_INVAL, "%s:%u: a line without end, or of more than %zu bytes",
                            path, number, sizeof(line) - 1);
        else if (number > 1)
            err = parse_line(path, number, line, calibration);
        else if (strcmp(line, FIRST_LINE) != 0)
            err = rpmi_fail(RPM_E_INVAL,
                            "%s: the first line is not \"rpm-calibration 1\"; make the file by "
                            "rpm-pathbench --calibrate",
                            path);
    }
    if (err == 0 && ferror(file) != 0)
        err = rpmi_fail(RPM_E_IO, "%s: it cannot be read", path);
    if (err == 0 && number == 0)
        err = rpmi_fail(RPM_E_INVAL, "%s is empty", path);
    return err;
}

int rpmi_calibration_read(const char *path, struct rpmi_calibration *calibration)
{
    FILE *file = fopen(path, "re");
    int err;

    if (file == NULL)
        return rpmi_fail(errno == ENOENT   ? RPM_E_NOENT
                         : errno == EACCES ? RPM_E_DENIED
                                           : RPM_E_IO,
                         "%s: %s", path, strerror(errno));
    memset(calibration, 0, sizeof(*calibration));
    err = parse(file, path, calibration);
    (void)fclose(file);
    if (err != 0)
        memset(calibration, 0, sizeof(*calibration));
    return err;
}
