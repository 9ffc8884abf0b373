/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.c: open a link by URL: find the provider, connect, add the wrappers.
 *
 * Invariants
 *   a provider gets only its own options: rpmi_link_open() removes "wrap", "agent", "carry",
 *   "calibration" and the options of the wrappers named there first, so a provider refuses an
 *   option of a wrapper that is not named
 *   wrappers are added in the order named: the last one is the outermost
 *
 * Tests: tests/unit/transport/link_test.cpp
 */
#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/registry.h"
#include "transport/wrap/carry.h"
#include "transport/wrap/order.h"

#include <string.h>

struct link_chain {
    const struct rpmi_wrapper *wrapper[RPMI_WRAPS_MAX];
    uint32_t n;
};

/* Split "trace+count" into the wrappers it names. */
static int chain_parse(const char *text, struct link_chain *chain)
{
    const char *at = text;

    chain->n = 0;
    for (;;) {
        size_t len = strcspn(at, "+");
        const struct rpmi_wrapper *wrapper = rpmi_registry_wrapper(at, len);

        if (wrapper == NULL)
            return rpmi_fail(RPM_E_INVAL,
                             "wrap=%s: no wrapper \"%.*s\" (trace, count, fault, delay)", text,
                             (int)len, at);
        if (chain->n == RPMI_WRAPS_MAX)
            return rpmi_fail(RPM_E_INVAL, "wrap=%s: more than %u wrappers", text, RPMI_WRAPS_MAX);
        chain->wrapper[chain->n++] = wrapper;
        if (at[len] == '\0')
            return 0;
        at += len + 1;
    }
}

static bool is_wrapper_key(const struct link_chain *chain, const char *key)
{
    if (strcmp(key, "wrap") == 0 || strcmp(key, "agent") == 0 || strcmp(key, "carry") == 0 ||
        strcmp(key, "calibration") == 0)
        return true;
    for (uint32_t i = 0; i < chain->n; i++)
        for (const char *const *known = chain->wrapper[i]->keys; *known != NULL; known++)
            if (strcmp(*known, key) == 0)
                return true;
    return false;
}

/* The agent is a part of the device model: its options are for that. */
static bool is_agent_modelled(const struct rpmi_url *url)
{
    return strcmp(url->scheme, "sim") == 0 && strcmp(rpmi_url_get(url, "agent", ""), "soc") == 0;
}

/* Leave only the provider's options. The strings are not copied: they stay in @url. */
static void url_without_wrappers(const struct rpmi_url *url, const struct link_chain *chain,
                                 struct rpmi_url *bare)
{
    *bare = *url;
    bare->options = 0;
    for (uint32_t i = 0; i < url->options; i++) {
        bool is_agent = strcmp(url->key[i], "agent") == 0 || strcmp(url->key[i], "carry") == 0;

        if (is_wrapper_key(chain, url->key[i]) && !(is_agent && is_agent_modelled(url)))
            continue;
        bare->key[bare->options] = url->key[i];
        bare->value[bare->options] = url->value[i];
        bare->options++;
    }
}

static int chain_wrap(const struct link_chain *chain, const struct rpmi_url *url,
                      struct rpmi_link **link)
{
    for (uint32_t i = 0; i < chain->n; i++) {
        struct rpmi_link *outer = NULL;
        int err = chain->wrapper[i]->open(url, *link, &outer);

        if (err != 0)
            return err;
        RPM_ASSERT(outer != NULL && outer != *link);
        RPM_ASSERT(outer->fast_path == NULL); /* it would lead past the wrapper */
        *link = outer;
    }
    return 0;
}

int rpmi_link_wrap(const struct rpmi_url *url, struct rpmi_link **link)
{
    const char *names = rpmi_url_get(url, "wrap", NULL);
    struct link_chain chain;
    int err;

    if (names == NULL)
        return 0;
    err = chain_parse(names, &chain);
    return err != 0 ? err : chain_wrap(&chain, url, link);
}

static int dial_agent(void *context, const char *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link)
{
    (void)context;
    return rpmi_link_open(url, opts, link);
}

/* Options that say more about an agent, without one. */
static int expect_none(const struct rpmi_url *url, const char *carry, const char *calibration)
{
    if (carry != NULL && strcmp(url->scheme, "sim") == 0)
        return rpmi_fail(RPM_E_INVAL, "carry=%s names an agent in the model; add agent=soc", carry);
    if (carry != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "carry=%s names an agent that carries records, but no address; add "
                         "agent=URL, where rpm-agent --name %s listens",
                         carry, carry);
    if (calibration != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "calibration=%s is for the choice between an agent and the server; add "
                         "agent=URL, or leave it out",
                         calibration);
    return 0;
}

/* Put the agent that the URL names beside the link, as the innermost wrapper. */
static int add_agent(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                     struct rpmi_link **link)
{
    const char *text = rpmi_url_get(url, "agent", NULL);
    const char *carry = rpmi_url_get(url, "carry", NULL);
    const char *calibration = rpmi_url_get(url, "calibration", NULL);
    struct rpmi_agent_address address = { .dial = dial_agent };
    struct rpmi_link *outer = NULL;
    int err;

    if (text == NULL || is_agent_modelled(url))
        return expect_none(url, text == NULL ? carry : NULL, calibration);
    err = rpmi_agent_set_address(&address, text, opts->secret);
    if (err == 0 && carry != NULL)
        err = rpmi_carry_set_name(&address, carry);
    if (err == 0 && calibration != NULL)
        err = rpmi_calibration_read(calibration, &address.calibration);
    if (err == 0)
        err = rpmi_order_open(*link, &address, opts->timeout_us, &outer);
    if (err == 0)
        *link = outer;
    return err;
}

int rpmi_link_open(const char *text, const struct rpmi_link_opts *opts, struct rpmi_link **link)
{
    const struct rpmi_transport_ops *ops;
    struct link_chain chain = { .n = 0 };
    struct rpmi_link *opened = NULL;
    struct rpmi_url url;
    struct rpmi_url bare;
    const char *names;
    int err;

    RPM_ASSERT(opts != NULL && link != NULL);
    err = rpmi_url_parse(text, &url);
    if (err != 0)
        return err;
    err = rpmi_registry_find(url.scheme, &ops);
    if (err == RPM_E_INVAL)
        return rpmi_fail(RPM_E_INVAL, "%s: no transport \"%s\" (shm, tcp, unix, verbs, sim)", text,
                         url.scheme);
    if (err != 0)
        return err;
    names = rpmi_url_get(&url, "wrap", NULL);
    if (names != NULL && (err = chain_parse(names, &chain)) != 0)
        return err;

    url_without_wrappers(&url, &chain, &bare);
    err = ops->connect(&bare, opts, &opened);
    if (err != 0)
        return err;
    RPM_ASSERT(opened != NULL);
    if (opened->ops == NULL) /* else the provider has put a wrapper of its own around it */
        opened->ops = ops;
    err = add_agent(&url, opts, &opened);
    if (err == 0)
        err = chain_wrap(&chain, &url, &opened);
    if (err != 0) {
        opened->ops->close(opened);
        return err;
    }
    *link = opened;
    return 0;
}
