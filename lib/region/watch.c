/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.c: a list that begins with a WATCH where the server cannot hold it: over a direct link, in
 * the device model, and at an older server. The client then reads the word itself, at growing
 * intervals.
 *
 * Tests: tests/unit/region/watch_test.cpp, tests/conform/watch_test.cpp
 */
#include "region/region.h"

#define PAUSE_MIN_NS 1000u
#define PAUSE_MAX_NS 1000000u
#define NS_IN_US 1000u

bool rpmi_watch_needs_polls(const struct rpm_step *steps)
{
    return steps->kind == RPM_STEP_WATCH && steps->region != NULL &&
           (steps->region->conn->link->flags & RPMI_LINK_WATCH) == 0;
}

uint64_t rpmi_watch_us(const struct rpm_step *step)
{
    uint64_t most_us = step->region->conn->timeout_ns / (2 * NS_IN_US);

    RPM_ASSERT(step->kind == RPM_STEP_WATCH && step->operand > 0);
    if (most_us == 0)
        most_us = 1;
    return step->operand < most_us ? step->operand : most_us;
}

int rpmi_watch_poll(const struct rpm_step *step, uint64_t *word)
{
    struct rpm_conn *conn = step->region->conn;
    uint64_t until_ns = conn->link->ops->now_ns(conn->link) + rpmi_watch_us(step) * NS_IN_US;
    uint64_t pause_ns = PAUSE_MIN_NS;

    RPM_ASSERT(rpmi_is_aligned(step->offset, sizeof(*word))); /* or a value would be torn */
    for (;;) {
        bool over = conn->link->ops->now_ns(conn->link) >= until_ns;
        int err = rpm_region_read(step->region, step->offset, word, sizeof(*word));

        if (err != 0 || over || *word != step->expect)
            return err;
        rpmi_conn_pause(conn, pause_ns, until_ns);
        pause_ns = 2 * pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : PAUSE_MAX_NS;
    }
}
