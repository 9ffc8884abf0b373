/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.c: one signed request to an object store, by libcurl.
 *
 * Invariants
 *   a body is sent with its SHA-256, which is signed: the store refuses one that was cut off
 *   an answer counts only if all bytes came that it announced, and they are those asked for
 *   what may go better the next time is tried again: no answer, and an error of the store's own
 *
 * Tests: tests/unit/tier/s3/request_test.cpp
 */
#include "tier/s3/s3.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define ERROR_BYTES_MAX (16u << 10) /* of an answer that says what is wrong */
#define STALLED_BYTES 1024L         /* a second */

/* One attempt at a request. */
struct attempt {
    struct rpmi_s3_request *request;
    CURL *curl;
    bool too_long;  /* more bytes came than there is room for */
    bool has_range; /* the answer has a Content-Range, of these bytes: */
    uint64_t from;
    uint64_t to;
    uint64_t total;
    size_t error_len;
    char error[ERROR_BYTES_MAX];
};

static long status_of(CURL *curl)
{
    long status = 0;

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t take_body(char *bytes, size_t one, size_t len, void *context)
{
    struct attempt *attempt = context;
    struct rpmi_s3_request *request = attempt->request;

    RPM_ASSERT(one == 1);
    if (status_of(attempt->curl) / 100 == 2) {
        if (len > request->room - request->got) {
            attempt->too_long = true;
            return 0;
        }
        memcpy(request->into + request->got, bytes, len);
        request->got += len;
        return len;
    }
    if (len > sizeof(attempt->error) - attempt->error_len)
        return 0;
    memcpy(attempt->error + attempt->error_len, bytes, len);
    attempt->error_len += len;
    return len;
}

static size_t take_header(char *bytes, size_t one, size_t len, void *context)
{
    static const char NAME[] = "content-range:";
    struct attempt *attempt = context;
    char line[128];

    if (one * len >= sizeof(NAME) && one * len < sizeof(line) &&
        curl_strnequal(bytes, NAME, sizeof(NAME) - 1)) {
        memcpy(line, bytes, len);
        line[len] = '\0';
        attempt->has_range =
            sscanf(line + sizeof(NAME) - 1, " bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64,
                   &attempt->from, &attempt->to, &attempt->total) == 3;
    }
    return one * len;
}

/* Append a header. False: no memory. */
static bool add(struct curl_slist **headers, const char *name, const char *value)
{
    char line[RPMI_S3_TOKEN_CHARS + 64u];
    struct curl_slist *more;

    (void)snprintf(line, sizeof(line), "%s: %s", name, value);
    more = curl_slist_append(*headers, line);
    explicit_bzero(line, sizeof(line));
    *headers = more != NULL ? more : *headers;
    return more != NULL;
}

static bool make_headers(const struct rpmi_s3 *s3, const struct rpmi_s3_request *request,
                         struct curl_slist **headers)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    char text[2 * 32 + 1];
    char range[64];
    unsigned int len = 0;
    const void *body = request->body != NULL ? request->body : "";

    if (EVP_Digest(body, request->body_len, sum, &len, EVP_sha256(), NULL) != 1 || len != 32)
        return false;
    for (unsigned int i = 0; i < len; i++)
        (void)snprintf(text + (size_t)2 * i, 3, "%02x", sum[i]);
    (void)snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, request->from,
                   request->from + request->room - 1);
    return add(headers, "x-amz-content-sha256", text) &&
           (s3->at.token[0] == '\0' || add(headers, "x-amz-security-token", s3->at.token)) &&
           (!request->ranged || add(headers, "Range", range)) &&
           (!request->if_absent || add(headers, "If-None-Match", "*")) &&
           (request->body == NULL || add(headers, "Content-Type", "application/octet-stream"));
}

static void make_url(struct rpmi_s3 *s3, const struct rpmi_s3_request *request)
{
    bool asks = request->query != NULL;

    (void)snprintf(s3->url, sizeof(s3->url), "%s/%s%s%s%s%s", s3->at.endpoint, s3->at.bucket,
                   request->key[0] != '\0' ? "/" : "", request->key, asks ? "?" : "",
                   asks ? request->query : "");
}

/* True: all options were taken. TLS is verified, and no redirection followed: both are defaults. */
static bool set_options(const struct rpmi_s3 *s3, const struct rpmi_s3_request *request,
                        struct attempt *attempt)
{
    CURL *curl = s3->curl;
    char scope[RPMI_S3_WORD_CHARS + 16u];
    size_t bytes = request->body_len + (request->into != NULL ? request->room : 0);
    long limit_ms = (long)s3->limits.attempt_ms + (long)(bytes >> 10);
    bool ok;

    (void)snprintf(scope, sizeof(scope), "aws:amz:%s:s3", s3->at.region);
    ok = curl_easy_setopt(curl, CURLOPT_URL, s3->url) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_USERNAME, s3->at.key_id) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_PASSWORD, s3->at.secret) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)s3->limits.connect_ms) ==
             CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, STALLED_BYTES) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)s3->limits.stalled_s) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_HEADERDATA, attempt) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_WRITEDATA, attempt) == CURLE_OK;
    if (ok && s3->at.trusted[0] != '\0')
        ok = curl_easy_setopt(curl, CURLOPT_CAINFO, s3->at.trusted) == CURLE_OK;
    if (ok && request->body != NULL)
        ok = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len) ==
                 CURLE_OK &&
             curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body) == CURLE_OK;
    if (ok && strcmp(request->method, "HEAD") == 0)
        ok = curl_easy_setopt(curl, CURLOPT_NOBODY, 1L) == CURLE_OK;
    else if (ok && strcmp(request->method, "GET") != 0)
        ok = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
    return ok;
}

/* Fail with what happened to a request, behind the name of its object. */
static int fail(const struct rpmi_s3 *s3, const struct rpmi_s3_request *request, int err,
                const char *what)
{
    bool tried = request->key[0] != '\0';

    return rpmi_fail(err, "s3://%s%s%s: %s: %s", s3->at.bucket, tried ? "/" : "", request->key,
                     request->method, what);
}

/* The store has answered with an error. */
static int judge_status(const struct rpmi_s3 *s3, const struct rpmi_s3_request *request)
{
    char what[256];
    int err = RPM_E_IO;
    const char *advice = "";

    if (request->status == 404) {
        err = request->absent;
    } else if (request->status == 412) {
        err = RPM_E_EXISTS;
    } else if (request->status == 416) {
        err = RPM_E_CORRUPT;
        advice = ": the object was cut off";
    } else if (request->status == 401 || request->status == 403) {
        err = RPM_E_DENIED;
        advice = ": check the credentials, their rights, and this machine's clock";
    } else if (request->status == 507) {
        err = RPM_E_NOSPACE;
    } else if (request->status / 100 == 3) {
        advice = ": the bucket is elsewhere; set AWS_REGION, or AWS_ENDPOINT_URL";
    }
    (void)snprintf(what, sizeof(what), "the store answers %ld%s%s%s", request->status,
                   request->code[0] != '\0' ? " " : "", request->code, advice);
    return fail(s3, request, err, what);
}

/* Did all of the answer come, and is it the one that was asked for? */
static int judge_body(const struct rpmi_s3 *s3, const struct attempt *attempt)
{
    const struct rpmi_s3_request *request = attempt->request;
    char what[256];

    if (!request->ranged)
        return 0;
    if (request->status != 206 || !attempt->has_range)
        return fail(s3, request, RPM_E_IO, "the store ignores that a part was asked for");
    if (attempt->from != request->from || attempt->to < attempt->from ||
        attempt->to - attempt->from >= request->room ||
        request->got != attempt->to - attempt->from + 1) {
        (void)snprintf(what, sizeof(what),
                       "the store sends %zu bytes as those from %" PRIu64 " to %" PRIu64
                       ", and asked for were %zu from %" PRIu64 " on",
                       request->got, attempt->from, attempt->to, request->room, request->from);
        return fail(s3, request, RPM_E_IO, what);
    }
    return request->got == request->room
               ? 0
               : fail(s3, request, RPM_E_CORRUPT, "the object was cut off");
}

static bool is_status_passing(const struct rpmi_s3_request *request)
{
    return request->status == 408 || request->status == 409 || request->status == 429 ||
           request->status == 500 || (request->status >= 502 && request->status <= 504) ||
           strcmp(request->code, "RequestTimeout") == 0;
}

static bool is_failure_passing(CURLcode result)
{
    return result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY ||
           result == CURLE_COULDNT_CONNECT || result == CURLE_OPERATION_TIMEDOUT ||
           result == CURLE_PARTIAL_FILE || result == CURLE_GOT_NOTHING ||
           result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
           result == CURLE_SSL_CONNECT_ERROR || result == CURLE_HTTP2 ||
           result == CURLE_HTTP2_STREAM || result == CURLE_SEND_FAIL_REWIND;
}

/* Perform an attempt. @again: another one may go better. */
static int try_once(struct rpmi_s3 *s3, struct attempt *attempt, bool *again)
{
    struct rpmi_s3_request *request = attempt->request;
    struct curl_slist *headers = NULL;
    curl_off_t announced = -1;
    CURLcode result = CURLE_OUT_OF_MEMORY;

    request->got = 0;
    request->status = 0;
    request->code[0] = '\0';
    *again = false;
    curl_easy_reset(s3->curl);
    make_url(s3, request);
    if (make_headers(s3, request, &headers) && set_options(s3, request, attempt) &&
        curl_easy_setopt(s3->curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK)
        result = curl_easy_perform(s3->curl);
    curl_slist_free_all(headers);
    if (result == CURLE_OUT_OF_MEMORY)
        return fail(s3, request, RPM_E_NOMEM, "no memory for a request");
    if (attempt->too_long)
        return fail(s3, request, RPM_E_IO, "the store sends more bytes than the object may have");
    request->status = status_of(s3->curl);
    if (request->status >= 300 && (result == CURLE_OK || result == CURLE_WRITE_ERROR)) {
        rpmi_s3_code_get(attempt->error, attempt->error_len, request->code);
        *again = is_status_passing(request);
        return judge_status(s3, request);
    }
    if (result != CURLE_OK) {
        *again = is_failure_passing(result);
        return fail(s3, request, RPM_E_IO, curl_easy_strerror(result));
    }
    (void)curl_easy_getinfo(s3->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    request->bytes = announced >= 0 ? (uint64_t)announced : UINT64_MAX;
    return judge_body(s3, attempt);
}

int rpmi_s3_send(struct rpmi_s3 *s3, struct rpmi_s3_request *request)
{
    struct attempt *attempt = rpmi_alloc(sizeof(*attempt), 8);
    uint64_t pause_ms = s3->limits.pause_ms;
    bool again = true;
    int err = 0;

    RPM_ASSERT(s3->limits.attempts > 0 && request->absent != 0);
    if (attempt == NULL)
        return RPM_E_NOMEM;
    for (uint32_t i = 0; i < s3->limits.attempts && again; i++) {
        if (i > 0) {
            rpmi_clock_sleep_ns((pause_ms + rpmi_rng_below(&s3->rng, pause_ms + 1)) * 500000u);
            pause_ms *= 2;
        }
        *attempt = (struct attempt){ .request = request, .curl = s3->curl };
        err = try_once(s3, attempt, &again);
    }
    rpmi_free(attempt);
    return err;
}
