/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.c: see choose.h.
 *
 * Tests: tests/unit/set/choose_test.cpp
 */
#include "set/choose.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_BYTES 512

const char *rpmi_choose_lacks(const struct rpmi_found *found)
{
    RPM_ASSERT(found->wrong == NULL);
    if (RPMI_CANARY(COUNT_SHORT))
        return NULL;
    if (found->end_lsn < found->base_lsn)
        return "it has lost records in front of its last writer's";
    if (found->end_lsn < found->commit_lsn)
        return "it has lost records that were acknowledged";
    return NULL;
}

/* Names the members that do not count, each with the reason. */
static int too_few(const struct rpmi_found *found, uint32_t n, uint32_t counted, uint32_t needed)
{
    char text[TEXT_BYTES] = "";
    int at = 0;

    for (uint32_t i = 0; i < n && at < TEXT_BYTES; i++)
        if (found[i].wrong != NULL)
            at += snprintf(text + at, (size_t)(TEXT_BYTES - at), "%s%s: %s", at > 0 ? "; " : "",
                           found[i].name, found[i].wrong);
    return rpmi_fail(RPM_E_QUORUM,
                     "%u of %u members can be used, %u are needed; start the others (%s)", counted,
                     n, needed, text);
}

static bool is_better(const struct rpmi_found *one, const struct rpmi_found *other)
{
    if (one->sealed != other->sealed && !RPMI_CANARY(LONGEST_LOG))
        return one->sealed > other->sealed;
    return one->end_lsn > other->end_lsn;
}

/* Is the best member's log as long as a set with these members must have it? */
static int check_best(const struct rpmi_found *found, uint32_t n, uint32_t installed,
                      const struct rpmi_found *best)
{
    if (best->sealed < installed)
        return rpmi_fail(
            RPM_E_CORRUPT,
            "the latest epoch on the members is %" PRIu32 ", on %s, but epoch %" PRIu32
            " was installed; the pools of its members were restored from older copies: "
            "start members that have it",
            best->sealed, best->name, installed);
    for (uint32_t i = 0; i < n; i++)
        if (found[i].commit_lsn > best->end_lsn)
            return rpmi_fail(
                RPM_E_CORRUPT,
                "the longest log, on %s, ends at LSN %" PRIu64 ", but records up to %" PRIu64
                " were acknowledged, by the commit word on %s; start members that have "
                "them",
                best->name, best->end_lsn, found[i].commit_lsn, found[i].name);
    return 0;
}

int rpmi_choose(const struct rpmi_found *found, uint32_t n, uint32_t acks, uint32_t installed,
                struct rpmi_chosen *chosen)
{
    uint32_t needed = n - acks + (RPMI_CANARY(FEW_CLAIMS) ? 0 : 1);
    uint32_t counted = 0;
    uint32_t best = n;
    int err;

    RPM_ASSERT(n >= 1 && n <= RPMI_COPIES_MAX && acks >= 1 && acks <= n);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].wrong != NULL)
            continue;
        RPM_ASSERT(rpmi_choose_lacks(&found[i]) == NULL);
        counted++;
        if (best == n || is_better(&found[i], &found[best]))
            best = i;
    }
    if (counted < needed || best == n)
        return too_few(found, n, counted, needed);
    err = check_best(found, n, installed, &found[best]);
    if (err != 0)
        return err;
    *chosen = (struct rpmi_chosen){ best, found[best].end_lsn };
    return 0;
}
