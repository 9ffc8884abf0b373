/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_tls.c: replaces tls.c in a build without libssl. No context can be made, so no pipe has TLS,
 * and the functions on such a pipe are never called.
 *
 * Tests: tests/unit/transport/parts_test.cpp, in preset nordma
 */
#include "transport/stream/tls.h"

#include "base/assert.h"
#include "base/err.h"

static int no_tls(void)
{
    return rpmi_fail(RPM_E_NOCAP,
                     "tls: librpm was built without TLS; build it with -DLIBRPM_TLS=ON, or leave "
                     "tls= out of the address where the network can be trusted");
}

int rpmi_tls_client_ctx(const char *file, struct ssl_ctx_st **ctx)
{
    (void)file, (void)ctx;
    return no_tls();
}

int rpmi_tls_server_ctx(const char *cert, const char *key, struct ssl_ctx_st **ctx)
{
    (void)cert, (void)key, (void)ctx;
    return no_tls();
}

void rpmi_tls_ctx_free(struct ssl_ctx_st **ctx)
{
    RPM_ASSERT(*ctx == NULL);
}

int rpmi_tls_begin_client(struct ssl_ctx_st *ctx, const char *host, struct rpmi_pipe *pipe)
{
    (void)host;
    RPM_ASSERT(ctx == NULL && pipe->tls == NULL);
    return no_tls();
}

int rpmi_tls_begin_server(struct ssl_ctx_st *ctx, struct rpmi_pipe *pipe)
{
    RPM_ASSERT(ctx == NULL && pipe->tls == NULL);
    return no_tls();
}

int rpmi_tls_handshake(struct ssl_st *tls)
{
    RPM_ASSERT(tls == NULL);
    return no_tls();
}

int64_t rpmi_tls_send(struct ssl_st *tls, const struct iovec *iov, int n)
{
    (void)iov, (void)n;
    RPM_ASSERT(tls == NULL);
    return no_tls();
}

int64_t rpmi_tls_recv(struct ssl_st *tls, void *bytes, size_t room)
{
    (void)bytes, (void)room;
    RPM_ASSERT(tls == NULL);
    return no_tls();
}

bool rpmi_tls_pending(const struct ssl_st *tls)
{
    RPM_ASSERT(tls == NULL);
    return false;
}

void rpmi_tls_free(struct ssl_st *tls)
{
    RPM_ASSERT(tls == NULL);
}
