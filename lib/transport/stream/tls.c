/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tls.c: a stream under TLS, by OpenSSL.
 *
 * OpenSSL's own socket functions raise SIGPIPE when the other side has closed its socket, which a
 * library must not do to its program. So OpenSSL sends and receives by the functions bio_write()
 * and bio_read() here.
 *
 * Tests: tests/unit/transport/stream/tls_test.cpp, tests/conform/transport_test.cpp
 */
#include "transport/stream/tls.h"

#include "base/assert.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GATHER_BYTES 16384u /* one TLS record holds no more */

static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_write(BIO *bio, const char *bytes, int len)
{
    ssize_t sent = send(fd_of(bio), bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static int bio_read(BIO *bio, char *bytes, int room)
{
    ssize_t got = recv(fd_of(bio), bytes, (size_t)room, MSG_DONTWAIT);

    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)got;
}

static long bio_ctrl(BIO *bio, int cmd, long number, void *ptr)
{
    (void)bio, (void)number, (void)ptr;
    return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "librpm stream");
    if (method == NULL || BIO_meth_set_write(method, bio_write) != 1 ||
        BIO_meth_set_read(method, bio_read) != 1 || BIO_meth_set_ctrl(method, bio_ctrl) != 1) {
        BIO_meth_free(method);
        method = NULL;
    }
}

/* The oldest error of OpenSSL's is the cause; the queue is empty afterwards. */
static const char *cause(void)
{
    unsigned long code = ERR_get_error();
    const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    if (text == NULL && ERR_SYSTEM_ERROR(code))
        text = strerror(ERR_GET_REASON(code)); /* the system's own, of a file mostly */
    return text != NULL ? text : "no reason given";
}

static SSL_CTX *fresh_ctx(const SSL_METHOD *side)
{
    SSL_CTX *ctx = SSL_CTX_new(side);

    if (ctx == NULL)
        return NULL;
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

int rpmi_tls_client_ctx(const char *file, struct ssl_ctx_st **ctx)
{
    SSL_CTX *fresh = fresh_ctx(TLS_client_method());
    int ok;

    if (fresh == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no TLS: %s", cause());
    SSL_CTX_set_verify(fresh, SSL_VERIFY_PEER, NULL);
    ok = strcmp(file, "on") == 0 ? SSL_CTX_set_default_verify_paths(fresh)
                                 : SSL_CTX_load_verify_locations(fresh, file, NULL);
    if (ok != 1) {
        SSL_CTX_free(fresh);
        return rpmi_fail(RPM_E_INVAL, "tls=%s: no certificates to trust in it: %s", file, cause());
    }
    *ctx = fresh;
    return 0;
}

/* A user who can read the key can impersonate the server, so only its owner may. A key that root
 * owns may be readable by its group: that is how system daemons share keys. */
static int judge_key_file(int fd, const char *path)
{
    struct stat st;
    mode_t forbidden;

    if (fstat(fd, &st) != 0)
        return rpmi_fail(RPM_E_IO, "cannot read the attributes of key file %s: %s", path,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return rpmi_fail(RPM_E_INVAL, "key file %s is not a regular file", path);
    forbidden = st.st_uid == 0 ? 0027 : 0077;
    if ((st.st_mode & forbidden) != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "key file %s has mode %04o, which lets others read or change it: expected "
                         "0600, or 0640 where root owns it; run chmod 600",
                         path, (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Open once, so that the file whose mode is checked is the file that is read. */
static int use_key(SSL_CTX *ctx, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    EVP_PKEY *key;
    FILE *file;
    int err;

    if (fd < 0)
        return rpmi_fail(RPM_E_INVAL, "cannot use the key in %s: %s", path, strerror(errno));
    err = judge_key_file(fd, path);
    file = err == 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        (void)close(fd);
        return err != 0 ? err : rpmi_fail(RPM_E_NOMEM, "no memory to read the key in %s", path);
    }
    key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    (void)fclose(file);
    if (key == NULL || SSL_CTX_use_PrivateKey(ctx, key) != 1)
        err = rpmi_fail(RPM_E_INVAL, "cannot use the key in %s: %s", path, cause());
    EVP_PKEY_free(key);
    return err;
}

int rpmi_tls_server_ctx(const char *cert, const char *key, struct ssl_ctx_st **ctx)
{
    SSL_CTX *fresh = fresh_ctx(TLS_server_method());
    int err = 0;

    if (fresh == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no TLS: %s", cause());
    (void)SSL_CTX_set_num_tickets(fresh, 0); /* no resumption: each handshake is a full one */
    if (SSL_CTX_use_certificate_chain_file(fresh, cert) != 1)
        err = rpmi_fail(RPM_E_INVAL, "cannot use the certificate in %s: %s", cert, cause());
    else
        err = use_key(fresh, key);
    if (err == 0 && SSL_CTX_check_private_key(fresh) != 1)
        err = rpmi_fail(RPM_E_INVAL, "%s is not the key of %s", key, cert);
    if (err != 0)
        SSL_CTX_free(fresh);
    else
        *ctx = fresh;
    return err;
}

void rpmi_tls_ctx_free(struct ssl_ctx_st **ctx)
{
    SSL_CTX_free(*ctx);
    *ctx = NULL;
}

static int attach(SSL_CTX *ctx, struct rpmi_pipe *pipe)
{
    SSL *tls = NULL;
    BIO *bio = NULL;

    RPM_ASSERT(pipe->fd >= 0 && pipe->tls == NULL);
    (void)pthread_once(&method_once, make_method);
    if (method != NULL)
        bio = BIO_new(method);
    if (bio != NULL)
        tls = SSL_new(ctx);
    if (tls == NULL) {
        BIO_free(bio);
        return rpmi_fail(RPM_E_NOMEM, "no TLS: %s", cause());
    }
    BIO_set_data(bio, (void *)(intptr_t)pipe->fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls, bio, bio);
    pipe->tls = tls;
    return 0;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

int rpmi_tls_begin_client(struct ssl_ctx_st *ctx, const char *host, struct rpmi_pipe *pipe)
{
    int err = attach(ctx, pipe);
    int ok;

    if (err != 0)
        return err;
    RPM_ASSERT((SSL_get_verify_mode(pipe->tls) & SSL_VERIFY_PEER) != 0); /* checks the server */
    if (is_address(host))
        ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pipe->tls), host);
    else
        ok = SSL_set1_host(pipe->tls, host) == 1 && SSL_set_tlsext_host_name(pipe->tls, host) == 1;
    if (ok != 1)
        return rpmi_fail(RPM_E_INVAL,
                         "'%s' is neither a host name nor an address that a certificate can name",
                         host);
    SSL_set_connect_state(pipe->tls);
    return 0;
}

int rpmi_tls_begin_server(struct ssl_ctx_st *ctx, struct rpmi_pipe *pipe)
{
    int err = attach(ctx, pipe);

    if (err == 0)
        SSL_set_accept_state(pipe->tls);
    return err;
}

static int handshake_failed(const SSL *tls)
{
    unsigned long code = ERR_peek_error();
    long verdict = SSL_get_verify_result(tls);
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;

    ERR_clear_error();
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return rpmi_fail(RPM_E_DENIED, "the server's certificate is not to be trusted: %s",
                         X509_verify_cert_error_string(verdict));
    if (reason == SSL_R_WRONG_VERSION_NUMBER)
        return rpmi_fail(RPM_E_PROTO,
                         "the other side does not speak TLS: is its address without tls=on?");
    if (code == 0)
        return rpmi_fail(RPM_E_LOST, "the other side closed the connection in the TLS handshake");
    return rpmi_fail(RPM_E_PROTO, "no agreement on TLS: %s",
                     reason != 0 ? ERR_reason_error_string(code) : "the handshake failed");
}

int rpmi_tls_handshake(struct ssl_st *tls)
{
    int ok;

    ERR_clear_error();
    ok = SSL_do_handshake(tls);
    if (ok == 1)
        return 1;
    switch (SSL_get_error(tls, ok)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    default:
        return handshake_failed(tls);
    }
}

/* 0: later, or RPM_E_LOST. */
static int64_t ended(SSL *tls, int result)
{
    int why = SSL_get_error(tls, result);

    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return 0;
    if (why == SSL_ERROR_ZERO_RETURN)
        return rpmi_fail(RPM_E_LOST, "the other side closed the connection");
    return rpmi_fail(RPM_E_LOST, "the connection is lost: %s", cause());
}

int64_t rpmi_tls_send(struct ssl_st *tls, const struct iovec *iov, int n)
{
    static _Thread_local unsigned char gathered[GATHER_BYTES];
    const void *from = iov[0].iov_base;
    size_t len = iov[0].iov_len < GATHER_BYTES ? iov[0].iov_len : GATHER_BYTES;
    int sent;

    /* A record for each small piece would cost more than the copy. */
    if (n > 1 && len < GATHER_BYTES) {
        len = 0;
        from = gathered;
        for (int i = 0; i < n && len < GATHER_BYTES; i++) {
            size_t take = GATHER_BYTES - len;

            if (take > iov[i].iov_len)
                take = iov[i].iov_len;
            memcpy(gathered + len, iov[i].iov_base, take);
            len += take;
        }
    }
    RPM_ASSERT(len > 0);
    ERR_clear_error();
    sent = SSL_write(tls, from, (int)len);
    return sent > 0 ? sent : ended(tls, sent);
}

int64_t rpmi_tls_recv(struct ssl_st *tls, void *bytes, size_t room)
{
    int got;

    ERR_clear_error();
    got = SSL_read(tls, bytes, room > INT32_MAX ? INT32_MAX : (int)room);
    return got > 0 ? got : ended(tls, got);
}

bool rpmi_tls_pending(const struct ssl_st *tls)
{
    return SSL_pending(tls) > 0;
}

void rpmi_tls_free(struct ssl_st *tls)
{
    (void)SSL_shutdown(tls); /* sends the close alert, does not wait for the other side's */
    ERR_clear_error();
    SSL_free(tls);
}
