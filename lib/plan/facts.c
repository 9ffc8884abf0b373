/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.c: facts as text, for people and scripts: one "name: value" a line. A value that was not
 * probed says so: "(declared)", or "modelled" as the source.
 *
 * Tests: tests/unit/plan/facts_test.cpp
 */
#include "base/opts.h"
#include "plan/text.h"

#include <librpm/facts.h>

static const char *answer(uint32_t value, const char *yes, const char *no)
{
    return value == RPM_YES ? yes : value == RPM_NO ? no : "unknown";
}

static void add_node(struct rpmi_text *text, const char *name, int32_t node)
{
    if (node < 0)
        rpmi_text_add(text, "%s: unknown\n", name);
    else
        rpmi_text_add(text, "%s: %d\n", name, node);
}

static void add_bytes(struct rpmi_text *text, const char *name, uint32_t bytes)
{
    if (bytes == 0)
        rpmi_text_add(text, "%s: unknown\n", name);
    else
        rpmi_text_add(text, "%s: %u bytes\n", name, bytes);
}

static void add_methods(struct rpmi_text *text, uint32_t methods)
{
    const char *comma = "";

    rpmi_text_add(text, "methods: ");
    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++) {
        if ((methods & (1u << m)) == 0)
            continue;
        rpmi_text_add(text, "%s%s", comma, rpm_method_name((enum rpm_method)m));
        comma = ", ";
    }
    rpmi_text_add(text, "%s\n", comma[0] == '\0' ? "none" : "");
}

int rpm_facts_text(const struct rpm_facts *facts, char *buffer, size_t bytes)
{
    struct rpm_facts known = rpm_facts_init();
    struct rpmi_text text;
    int err = rpmi_opts_in(&known, sizeof(known), facts);

    if (err != 0)
        return err;
    rpmi_text_open(&text, buffer, bytes);
    rpmi_text_add(&text, "medium: %s\n", rpm_medium_name((enum rpm_medium)known.medium));
    rpmi_text_add(&text, "domain: %s%s\n", rpm_domain_name((enum rpm_domain)known.domain),
                  known.domain_declared != 0 ? " (declared)" : "");
    rpmi_text_add(&text, "ddio: %s\n", answer(known.ddio, "on", "off"));
    rpmi_text_add(&text, "native flush: %s\n", answer(known.native_flush, "yes", "no"));
    rpmi_text_add(&text, "atomic write: %s\n", answer(known.atomic_write, "yes", "no"));
    rpmi_text_add(&text, "memory windows: %s\n", answer(known.memory_window, "yes", "no"));
    add_bytes(&text, "store granularity", known.granularity_bytes);
    add_bytes(&text, "media line", known.line_bytes);
    add_methods(&text, known.methods);
    add_node(&text, "memory node", known.memory_node);
    add_node(&text, "port node", known.port_node);
    if (known.pool_starts != 0)
        rpmi_text_add(&text, "pool starts: %u\n", known.pool_starts);
    rpmi_text_add(&text, "source: %s\n",
                  known.modelled != 0 ? "device model (modelled, not measured)"
                                      : "the machine that holds the memory");
    return (int)text.len;
}
