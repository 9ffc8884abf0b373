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

/* The complete table of a provider, or NULL for an unknown scheme. Static. */
const struct rpmi_transport_ops *rpmi_registry_find(const char *scheme);

/* A wrapper by the first @len bytes of @name, or NULL. Static. */
const struct rpmi_wrapper *rpmi_registry_wrapper(const char *name, size_t len);

#endif
