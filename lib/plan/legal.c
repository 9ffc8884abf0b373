/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * legal.c: the legality matrix, the one place that says which method proves which level where.
 *
 * Invariants
 *   levels nest: what is legal at a level is legal at every lower one
 *   a cell says yes only for what the published ordering rules prove (PCIe: a read pushes posted
 *     writes ahead of it to the memory controller, not out of a cache; RC: a completion of WRITE
 *     proves that the remote NIC has the bytes, not where they are)
 *   unknown facts count as the worse case, and facts that contradict each other prove nothing
 *
 * Tests: tests/unit/plan/legal_test.cpp pins every cell; tests/crash/ tests them in the device
 *        model.
 */
#include "plan/legal.h"
#include "base/assert.h"
#include "base/canary.h"

#include <stdbool.h>

enum verdict { NO = 0, YES = 1, IF_FLUSH = 2 /* if facts->native_flush says so */ };

struct cell {
    enum verdict verdict;
    const char *reason;
};

/* clang-format off */
#define WRITE_NO \
    { NO, "a WRITE completion only says that the remote NIC took the bytes, not where they are" }
#define OTHER_NO \
    { NO, "queue pairs have no order between them: the READ may overtake the WRITE" }
#define MSYNC_NIC \
    { NO, "bytes end in a page cache: only an msync by the server CPU brings them to the device" }
#define NO_DOMAIN \
    { NO, "this memory loses its contents with the power: it has no persistence domain" }
#define CPU_FLUSH { YES, "the server CPU flushes the range out of its caches before it answers" }
#define CPU_FENCE { YES, "CPU caches survive, so the server CPU needs no more than a fence to answer" }
#define CPU_MSYNC { YES, "the server CPU calls msync on the range before it answers" }
#define CPU_COPY { YES, "what the server CPU copies has left its caches before it answers" }
#define CPU_COPY_EADR { YES, "CPU caches survive: the server CPU copies and fences, then answers" }
#define CPU_COPY_MSYNC { YES, "the server CPU copies and calls msync before it answers" }
#define NIC_FLUSH { IF_FLUSH, "the NIC answers a FLUSH once the bytes are in the persistence domain" }
#define CERTIFIED \
    { YES, "the server CPU reads the records, makes them durable, and only then certifies them" }
#define CARRIED \
    { YES, "the server CPU stores the records, makes them durable, and only then certifies them" }
#define STORED { YES, "stores past the client CPU's cache are in the memory controller after a fence" }

static const struct cell matrix[RPM_METHOD_COUNT][RPMI_PLATFORMS] = {
    [RPM_METHOD_WRITE] = { WRITE_NO, WRITE_NO, WRITE_NO, WRITE_NO, NO_DOMAIN },
    [RPM_METHOD_READ] = {
        { NO, "DDIO is on or unknown: the READ pushes bytes into a CPU cache, which loses them" },
        { YES, "the READ pushes earlier WRITEs of its queue pair to the memory controller" },
        { YES, "the READ pushes earlier WRITEs to cache or memory, and both survive" },
        MSYNC_NIC, NO_DOMAIN },
    [RPM_METHOD_READ_OTHER] = { OTHER_NO, OTHER_NO, OTHER_NO, OTHER_NO, NO_DOMAIN },
    [RPM_METHOD_MESSAGE] = { CPU_FLUSH, CPU_FLUSH, CPU_FENCE, CPU_MSYNC, NO_DOMAIN },
    [RPM_METHOD_IMMEDIATE] = { CPU_FLUSH, CPU_FLUSH, CPU_FENCE, CPU_MSYNC, NO_DOMAIN },
    [RPM_METHOD_COPY] = { CPU_COPY, CPU_COPY, CPU_COPY_EADR, CPU_COPY_MSYNC, NO_DOMAIN },
    [RPM_METHOD_FLUSH] = { NIC_FLUSH, NIC_FLUSH, NIC_FLUSH, MSYNC_NIC, NO_DOMAIN },
    [RPM_METHOD_STORE] = { STORED, STORED, STORED,
        { NO, "stores end in a page cache, which a fence does not bring to the device" },
        NO_DOMAIN },
    [RPM_METHOD_ORDER] = { CERTIFIED, CERTIFIED, CERTIFIED, CERTIFIED, NO_DOMAIN },
    [RPM_METHOD_CARRY] = { CARRIED, CARRIED, CARRIED, CARRIED, NO_DOMAIN },
};
/* clang-format on */

static const char *const no_flush =
    "native FLUSH(persistence) is not reported for this region, or not known to be";
static const char *const placed = "the answer comes after the bytes are placed in memory";
static const char *const anonymous = "anonymous memory is lost when the server process ends";
static const char *const stands_in =
    "only because the operator declared a domain: this is anonymous memory";

/* Why the facts contradict each other; NULL if they do not. On a platform with contradicting facts
 * no method is legal. */
static const char *contradiction(const struct rpm_facts *facts)
{
    bool by_cache = facts->domain == RPM_DOMAIN_ADR || facts->domain == RPM_DOMAIN_EADR;

    switch (facts->medium) {
    case RPM_MEDIUM_FILE:
        return by_cache ? "a file lies behind a page cache: its domain can only be msync" : NULL;
    case RPM_MEDIUM_TMPFS:
        return facts->domain != RPM_DOMAIN_NONE && facts->domain_declared == 0
                   ? "tmpfs loses its contents with the power, unless the operator declares a "
                     "domain"
                   : NULL;
    default:
        return NULL;
    }
}

enum rpmi_platform rpmi_platform_of(const struct rpm_facts *facts)
{
    if (contradiction(facts) != NULL)
        return RPMI_PLATFORM_NONE;
    switch (facts->domain) {
    case RPM_DOMAIN_ADR:
        return facts->ddio == RPM_NO ? RPMI_PLATFORM_ADR_NO_DDIO : RPMI_PLATFORM_ADR_DDIO;
    case RPM_DOMAIN_EADR:
        return RPMI_PLATFORM_EADR;
    case RPM_DOMAIN_MSYNC:
        return RPMI_PLATFORM_MSYNC;
    default:
        return RPMI_PLATFORM_NONE;
    }
}

static int is_anonymous(const struct rpm_facts *facts)
{
    return facts->medium == RPM_MEDIUM_DRAM || facts->medium == RPM_MEDIUM_HUGE;
}

static int declared_to_survive(const struct rpm_facts *facts)
{
    return facts->domain_declared != 0 && rpmi_platform_of(facts) != RPMI_PLATFORM_NONE;
}

int rpmi_outlives_process(const struct rpm_facts *facts)
{
    if (is_anonymous(facts))
        return declared_to_survive(facts);
    if (facts->medium == RPM_MEDIUM_UNKNOWN || facts->medium > RPM_MEDIUM_DEVDAX)
        return rpmi_platform_of(facts) != RPMI_PLATFORM_NONE;
    return 1;
}

/* Does the acknowledgement of @method prove that the bytes are in remote memory? */
static int reaches_visible(const struct rpm_facts *facts, enum rpm_method method,
                           const char **reason)
{
    *reason = matrix[method][RPMI_PLATFORM_ADR_DDIO].reason;
    if (method == RPM_METHOD_WRITE || method == RPM_METHOD_READ_OTHER)
        return 0;
    if (method == RPM_METHOD_FLUSH && facts->native_flush != RPM_YES) {
        *reason = no_flush;
        return 0;
    }
    *reason = placed;
    return 1;
}

static int reaches_process(const struct rpm_facts *facts, enum rpm_method method,
                           const char **reason)
{
    if (!reaches_visible(facts, method, reason))
        return 0;
    if (!rpmi_outlives_process(facts)) {
        *reason = is_anonymous(facts) ? anonymous
                                      : "the memory is not known to outlive the server process";
        return 0;
    }
    *reason = is_anonymous(facts) ? stands_in
                                  : "the bytes are placed in memory that outlives the process";
    return 1;
}

static int reaches_durable(const struct rpm_facts *facts, enum rpm_method method,
                           const char **reason)
{
    enum rpmi_platform platform = rpmi_platform_of(facts);
    const struct cell *cell = &matrix[method][platform];
    const char *impossible = contradiction(facts);

    if (impossible != NULL) {
        *reason = impossible;
        return 0;
    }
    if (RPMI_CANARY(READ_DDIO) && method == RPM_METHOD_READ && platform == RPMI_PLATFORM_ADR_DDIO)
        cell = &matrix[method][RPMI_PLATFORM_ADR_NO_DDIO];
    *reason = cell->reason;
    if (cell->verdict == NO)
        return 0;
    if (!reaches_process(facts, method, reason))
        return 0;
    if (!is_anonymous(facts))
        *reason = cell->reason;
    return 1;
}

int rpm_legal(const struct rpm_facts *facts, enum rpm_method method, enum rpm_level level,
              const char **reason)
{
    const char *unused;

    RPM_ASSERT(facts != NULL);
    if (reason == NULL)
        reason = &unused;
    if (method <= RPM_METHOD_DEFAULT || method >= RPM_METHOD_COUNT) {
        *reason = "no such method";
        return 0;
    }
    switch (level) {
    case RPM_POSTED:
        *reason = "posted promises nothing";
        return 1;
    case RPM_VISIBLE:
        return reaches_visible(facts, method, reason);
    case RPM_PROCESS:
        return reaches_process(facts, method, reason);
    case RPM_LEVEL_DEFAULT:
    case RPM_DURABLE:
        return reaches_durable(facts, method, reason);
    default:
        *reason = "no such level";
        return 0;
    }
}
