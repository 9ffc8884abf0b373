/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h: which providers and wrappers there are. The lists are explicit: nothing registers
 * itself, so reading one file shows all of them.
 */
#ifndef RPMI_REGISTRY_H
#define RPMI_REGISTRY_H

#include "transport/transport.h"
#include "transport/wrap/wrap.h"

#include <stddef.h>

/*
 * The complete table of a provider. @ops is set only on 0, and static. RPM_E_INVAL: no provider has
 * that scheme; the caller sets the text. RPM_E_NOCAP: librpm-sim is not there or does not fit.
 */
int rpmi_registry_find(const char *scheme, const struct rpmi_transport_ops **ops);

/* A wrapper by the first @len bytes of @name, or NULL. Static. */
const struct rpmi_wrapper *rpmi_registry_wrapper(const char *name, size_t len);

#endif
