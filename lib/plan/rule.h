/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule.h: the rules. A rule applies one hint: it makes a small change to a plan, if the hint is on,
 * and describes in a sentence what it changed.
 *
 * Invariant: a rule changes how fast a level is reached, never which level is.
 */
#ifndef RPMI_RULE_H
#define RPMI_RULE_H

#include "plan/plan.h"

struct rpmi_rule {
    uint32_t hint; /* k of Hk */

    /* Called whether the hint is on or off, see plan->hints. 0, or RPM_E_NOCAP. */
    int (*apply)(const struct rpm_facts *facts, const struct rpm_request *request,
                 struct rpmi_plan *plan);

    /* What the rule changed in this plan, or why it changed nothing. Static. */
    const char *(*describe)(const struct rpm_facts *facts, const struct rpm_request *request,
                            const struct rpmi_plan *plan);
};

extern const struct rpmi_rule rpmi_rule_numa;     /* H1, rule_numa.c */
extern const struct rpmi_rule rpmi_rule_spread;   /* H2, rule_spread.c */
extern const struct rpmi_rule rpmi_rule_ddio;     /* H3, rule_ddio.c */
extern const struct rpmi_rule rpmi_rule_copy;     /* H4, rule_copy.c */
extern const struct rpmi_rule rpmi_rule_xpline;   /* H5, rule_xpline.c */
extern const struct rpmi_rule rpmi_rule_word_nic; /* H6, rule_word.c */
extern const struct rpmi_rule rpmi_rule_word_cpu; /* H7, rule_word.c */
extern const struct rpmi_rule rpmi_rule_lock;     /* H8, rule_lock.c */
extern const struct rpmi_rule rpmi_rule_chain;    /* H9, rule_chain.c */

#define RPMI_RULES 9u

/* In the order of application: rule i is hint i + 1. */
extern const struct rpmi_rule *const rpmi_rules[RPMI_RULES]; /* planner.c */

static inline bool rpmi_hint_on(const struct rpmi_plan *plan, uint32_t k)
{
    return (plan->hints & RPM_HINT(k)) != 0;
}

/* Does a CPU, of the client or the server, write the bytes, rather than a NIC? */
static inline bool rpmi_cpu_writes(const struct rpmi_plan *plan)
{
    return plan->method == RPM_METHOD_COPY || plan->method == RPM_METHOD_STORE;
}

/* Is the medium persistent memory, rather than DRAM or a page cache? */
static inline bool rpmi_is_persistent(const struct rpm_facts *facts)
{
    return facts->domain == RPM_DOMAIN_ADR || facts->domain == RPM_DOMAIN_EADR;
}

#endif
