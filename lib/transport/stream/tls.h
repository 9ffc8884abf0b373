/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tls.h: a stream under TLS 1.2 or later. The client checks the server's certificate chain and that
 * it names the dialled host; the server authenticates clients by the secret, as without TLS.
 */
#ifndef RPMI_STREAM_TLS_H
#define RPMI_STREAM_TLS_H

#include "transport/stream/pipe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ssl_st;
struct ssl_ctx_st;

/* A client's context with the certificates that it trusts: those in a PEM file, or with "on" those
 * that the system trusts. RPM_E_INVAL, RPM_E_NOMEM. */
int rpmi_tls_client_ctx(const char *file, struct ssl_ctx_st **ctx);

/* A server's context with its certificate and key, both PEM files. RPM_E_INVAL, RPM_E_NOMEM. */
int rpmi_tls_server_ctx(const char *cert, const char *key, struct ssl_ctx_st **ctx);

void rpmi_tls_ctx_free(struct ssl_ctx_st **ctx);

/* Put TLS over a connected pipe, as the client of @host. RPM_E_NOMEM, RPM_E_INVAL. */
int rpmi_tls_begin_client(struct ssl_ctx_st *ctx, const char *host, struct rpmi_pipe *pipe);

/* The same, as a server. RPM_E_NOMEM. */
int rpmi_tls_begin_server(struct ssl_ctx_st *ctx, struct rpmi_pipe *pipe);

/* Continue the TLS handshake, without waiting. 1: done, 0: not yet, RPM_E_LOST, RPM_E_DENIED: the
 * certificate is not trusted, RPM_E_PROTO: the other side speaks no TLS, or no common version. */
int rpmi_tls_handshake(struct ssl_st *tls);

/* As those of pipe.h. */
int64_t rpmi_tls_send(struct ssl_st *tls, const struct iovec *iov, int n);
int64_t rpmi_tls_recv(struct ssl_st *tls, void *bytes, size_t room);
bool rpmi_tls_pending(const struct ssl_st *tls);
void rpmi_tls_free(struct ssl_st *tls);

#endif
