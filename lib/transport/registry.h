/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h: the lists of providers and wrappers. The lists are explicit: no provider registers
 * itself, so that one file lists all of them.
 */
#ifndef RPMI_REGISTRY_H
#define RPMI_REGISTRY_H

#include "transport/transport.h"
#include "transport/wrap/wrap.h"

#include <stddef.h>

/*
 * The complete table of a provider. @ops is set only on 0, and static. RPM_E_INVAL: no provider has
 * that scheme; the caller sets the text. RPM_E_NOCAP: librpm-sim is not installed or is of another
 * version.
 */
int rpmi_registry_find(const char *scheme, const struct rpmi_transport_ops **ops);

/* A wrapper by the first @len bytes of @name, or NULL. Static. */
const struct rpmi_wrapper *rpmi_registry_wrapper(const char *name, size_t len);

#endif
