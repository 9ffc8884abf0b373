/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.c: the list of providers and the list of wrappers. A new one is one line here. The
 * device model alone is not in the list: it is in another library, see sim_library.h.
 *
 * Invariant: no operation of a table that rpmi_registry_find() returns is NULL.
 *
 * Tests: tests/unit/transport/link_test.cpp
 */
#include "transport/registry.h"
#include "base/assert.h"
#include "transport/sim_library.h"

#include <pthread.h>
#include <string.h>

extern const struct rpmi_transport_ops rpmi_shm_transport;
extern const struct rpmi_transport_ops rpmi_tcp_transport;
extern const struct rpmi_transport_ops rpmi_unix_transport;
extern const struct rpmi_transport_ops rpmi_verbs_transport;

static const struct rpmi_transport_ops *const providers[] = {
    &rpmi_shm_transport,
    &rpmi_tcp_transport,
    &rpmi_unix_transport,
    &rpmi_verbs_transport,
};

static const struct rpmi_wrapper *const wrappers[] = {
    &rpmi_wrap_trace,
    &rpmi_wrap_count,
    &rpmi_wrap_fault,
    &rpmi_wrap_delay,
};

enum {
    PROVIDERS = sizeof(providers) / sizeof(providers[0]),
    WRAPPERS = sizeof(wrappers) / sizeof(wrappers[0])
};

static struct rpmi_transport_ops completed[PROVIDERS];
static const struct rpmi_transport_ops *table[PROVIDERS];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (int i = 0; i < PROVIDERS; i++) {
        completed[i] = *providers[i];
        rpmi_transport_complete(&completed[i]);
        /* A table that was complete already keeps its address, by which a provider recognises its
         * links. */
        table[i] = memcmp(&completed[i], providers[i], sizeof(completed[i])) == 0 ? providers[i]
                                                                                  : &completed[i];
    }
}

int rpmi_registry_find(const char *scheme, const struct rpmi_transport_ops **ops)
{
    int err = pthread_once(&tables_once, make_tables);

    RPM_ASSERT(err == 0);
    RPM_ASSERT(scheme != NULL && ops != NULL);
    if (strcmp(scheme, "sim") == 0)
        return rpmi_sim_library(ops);
    for (int i = 0; i < PROVIDERS; i++) {
        if (strcmp(table[i]->scheme, scheme) == 0) {
            *ops = table[i];
            return 0;
        }
    }
    return RPM_E_INVAL;
}

const struct rpmi_wrapper *rpmi_registry_wrapper(const char *name, size_t len)
{
    RPM_ASSERT(name != NULL);
    for (int i = 0; i < WRAPPERS; i++)
        if (strlen(wrappers[i]->name) == len && memcmp(wrappers[i]->name, name, len) == 0)
            return wrappers[i];
    return NULL;
}
