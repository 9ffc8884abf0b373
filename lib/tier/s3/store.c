/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.c: segments as objects of a bucket: PREFIX/ID/FIRST-END.seg, the names that a folder has.
 *
 * Invariants
 *   an object is stored whole by one request, or not at all; a store that implements If-None-Match
 *     does not replace it
 *   put() returns 0 only when the store has answered, and sent the same bytes back
 *
 * Tests: tests/unit/tier/s3/store_test.cpp, tests/tools/object_store_test
 */
#include "tier/s3/s3.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_CHARS (RPMI_S3_PREFIX_CHARS + RPMI_SEGMENT_FOLDER_CHARS + 1u)

static const struct rpmi_s3_limits LIMITS = {
    .attempts = 4,
    .pause_ms = 200,
    .connect_ms = 5000,
    .stalled_s = 10,
    .attempt_ms = 20000,
    .list_gap_ms = 200,
};

static struct rpmi_s3 *s3_of(struct rpmi_store *store)
{
    return (struct rpmi_s3 *)store;
}

static void key_put(const struct rpmi_s3 *s3, const struct rpmi_segment_name *name,
                    char key[RPMI_S3_KEY_CHARS + 1])
{
    char folder[RPMI_SEGMENT_FOLDER_CHARS + 1];
    char file[RPMI_SEGMENT_NAME_CHARS + 1];

    rpmi_segment_folder_put(folder, name->log_id);
    rpmi_segment_name_put(file, name);
    (void)snprintf(key, RPMI_S3_KEY_CHARS + 1, "%s%s/%s", s3->at.prefix, folder, file);
}

/* Ask for one page of the keys below @folder into s3->list. */
static int ask_page(struct rpmi_s3 *s3, const char *folder, const struct rpmi_s3_page *page,
                    size_t *len)
{
    struct rpmi_s3_request request = { .method = "GET",
                                       .key = "",
                                       .absent = RPM_E_IO,
                                       .into = s3->list,
                                       .room = RPMI_S3_LIST_BYTES_MAX };
    char *prefix = curl_easy_escape(s3->curl, folder, 0);
    char *token = curl_easy_escape(s3->curl, page->token, 0);
    char *after = curl_easy_escape(s3->curl, page->after != NULL ? page->after : "", 0);
    int err = RPM_E_NOMEM;

    if (prefix != NULL && token != NULL && after != NULL) {
        /* In the order of the names, by which they are signed. */
        (void)snprintf(s3->query, sizeof(s3->query), "%s%s%s%slist-type=2&prefix=%s%s%s",
                       page->token[0] != '\0' ? "continuation-token=" : "", token,
                       page->token[0] != '\0' ? "&" : "", page->folders ? "delimiter=%2F&" : "",
                       prefix, page->after != NULL ? "&start-after=" : "", after);
        request.query = s3->query;
        err = rpmi_s3_send(s3, &request);
    }
    curl_free(prefix);
    curl_free(token);
    curl_free(after);
    *len = request.got;
    return err;
}

/* List what is below @folder, page by page. */
static int list(struct rpmi_s3 *s3, const char *folder, struct rpmi_s3_page *page)
{
    uint64_t gap_ns = (uint64_t)s3->limits.list_gap_ms * 1000000u;
    uint64_t now_ns = rpmi_clock_ns();
    size_t len;
    int err = 0;

    if (s3->list_ns != 0 && now_ns - s3->list_ns < gap_ns)
        rpmi_clock_sleep_ns(gap_ns - (now_ns - s3->list_ns));
    page->more = true;
    for (uint32_t i = 0; err == 0 && page->more; i++) {
        if (i == RPMI_S3_PAGES_MAX)
            return rpmi_fail(RPM_E_IO, "s3://%s/%s: the list has more than %u pages", s3->at.bucket,
                             folder, RPMI_S3_PAGES_MAX);
        err = ask_page(s3, folder, page, &len);
        if (err != 0)
            break;
        err = rpmi_s3_page_get(s3->list, len, page);
        if (err == RPM_E_IO) {
            char why[320];

            (void)snprintf(why, sizeof(why), "%s", rpm_last_error());
            err = rpmi_fail(RPM_E_IO, "s3://%s/%s: list: %s", s3->at.bucket, folder, why);
        }
    }
    s3->list_ns = rpmi_clock_ns();
    return err;
}

/* The list of the logs, or of the segments of one. */
struct visited {
    const char *folder; /* that each key begins with */
    rpmi_log_visit *log;
    rpmi_segment_visit *segment;
    void *context;
    uint64_t log_id;
};

/* The rest of a key behind the folder that was asked for; NULL: the store lists another one. */
static const char *below(const struct visited *visited, const char *key)
{
    size_t len = strlen(visited->folder);

    if (strncmp(key, visited->folder, len) == 0)
        return key + len;
    (void)rpmi_fail(RPM_E_IO, "it lists '%.400s', and keys that begin with '%s' were asked for",
                    key, visited->folder);
    return NULL;
}

static int visit_log(void *context, const char *key)
{
    const struct visited *visited = context;
    const char *rest = below(visited, key);
    char folder[RPMI_SEGMENT_FOLDER_CHARS + 1];
    uint64_t log_id;

    if (rest == NULL)
        return RPM_E_IO;
    if (strlen(rest) != RPMI_SEGMENT_FOLDER_CHARS + 1) /* a slash at the end */
        return 0;
    memcpy(folder, rest, RPMI_SEGMENT_FOLDER_CHARS);
    folder[RPMI_SEGMENT_FOLDER_CHARS] = '\0';
    return rpmi_segment_folder_get(folder, &log_id) ? visited->log(visited->context, log_id) : 0;
}

static int s3_logs(struct rpmi_store *store, rpmi_log_visit *visit, void *context)
{
    struct rpmi_s3 *s3 = s3_of(store);
    struct visited visited = { .folder = s3->at.prefix, .log = visit, .context = context };
    struct rpmi_s3_page page = { .visit = visit_log, .context = &visited, .folders = true };

    return list(s3, s3->at.prefix, &page);
}

static int visit_segment(void *context, const char *key)
{
    const struct visited *visited = context;
    const char *rest = below(visited, key);
    struct rpmi_segment_name name = { .log_id = visited->log_id };

    if (rest == NULL)
        return RPM_E_IO;
    return rpmi_segment_name_get(rest, &name) ? visited->segment(visited->context, &name) : 0;
}

/* Names begin with the first LSN, so the list can begin where they are. A list of all segments of a
 * long history would take many requests each time a writer looks for a new one. */
static int s3_segments(struct rpmi_store *store, uint64_t log_id, uint64_t from_lsn,
                       rpmi_segment_visit *visit, void *context)
{
    struct rpmi_s3 *s3 = s3_of(store);
    char folder[FOLDER_CHARS + 1];
    char id[RPMI_SEGMENT_FOLDER_CHARS + 1];
    struct visited visited = {
        .folder = folder, .segment = visit, .context = context, .log_id = log_id
    };
    const struct rpmi_segment_name before = { log_id, from_lsn, 0 }; /* no segment ends at 0 */
    char after[RPMI_S3_KEY_CHARS + 1];
    struct rpmi_s3_page page = { .visit = visit_segment, .context = &visited };

    rpmi_segment_folder_put(id, log_id);
    (void)snprintf(folder, sizeof(folder), "%s%s/", s3->at.prefix, id);
    if (from_lsn > 0) {
        key_put(s3, &before, after);
        page.after = after;
    }
    return list(s3, folder, &page);
}

static int s3_bytes(struct rpmi_store *store, const struct rpmi_segment_name *name, uint64_t *bytes)
{
    char key[RPMI_S3_KEY_CHARS + 1];
    struct rpmi_s3_request request = { .method = "HEAD", .key = key, .absent = RPM_E_NOENT };
    int err;

    key_put(s3_of(store), name, key);
    err = rpmi_s3_send(s3_of(store), &request);
    if (err == 0 && request.bytes == UINT64_MAX)
        return rpmi_fail(RPM_E_IO, "s3://%s/%s: the store's answer to HEAD has no Content-Length",
                         s3_of(store)->at.bucket, key);
    if (err == 0)
        *bytes = request.bytes;
    return err;
}

static int s3_get(struct rpmi_store *store, const struct rpmi_segment_name *name, uint64_t offset,
                  void *into, size_t len)
{
    char key[RPMI_S3_KEY_CHARS + 1];
    struct rpmi_s3_request request = { .method = "GET",
                                       .key = key,
                                       .ranged = true,
                                       .from = offset,
                                       .absent = RPM_E_NOENT,
                                       .into = into,
                                       .room = len };

    RPM_ASSERT(len > 0);
    key_put(s3_of(store), name, key);
    return rpmi_s3_send(s3_of(store), &request);
}

/* Ask for the whole object, and compare it. */
static int compare(struct rpmi_s3 *s3, const char *key, const void *bytes, size_t len)
{
    struct rpmi_s3_request request = { .method = "GET",
                                       .key = key,
                                       .absent = RPM_E_IO,
                                       .into = rpmi_alloc_unset(len, 8),
                                       .room = len };
    int err;

    if (request.into == NULL)
        return RPM_E_NOMEM;
    err = rpmi_s3_send(s3, &request);
    if (err == 0 && (request.got != len || memcmp(request.into, bytes, len) != 0))
        err = rpmi_fail(RPM_E_IO,
                        "s3://%s/%s: other bytes were read than had been stored, %zu of %zu: the "
                        "store fails",
                        s3->at.bucket, key, request.got, len);
    rpmi_free(request.into);
    return err;
}

/* Not every store knows If-None-Match, so ask before. An attempt whose answer was lost may have
 * stored the object: then the next one is answered with RPM_E_EXISTS. */
static int s3_put(struct rpmi_store *store, const struct rpmi_segment_name *name, const void *bytes,
                  size_t len)
{
    struct rpmi_s3 *s3 = s3_of(store);
    char key[RPMI_S3_KEY_CHARS + 1];
    struct rpmi_s3_request head = { .method = "HEAD", .key = key, .absent = RPM_E_NOENT };
    struct rpmi_s3_request put = { .method = "PUT",
                                   .key = key,
                                   .body = bytes,
                                   .body_len = len,
                                   .if_absent = true,
                                   .absent = RPM_E_IO };
    int err;

    key_put(s3, name, key);
    err = rpmi_s3_send(s3, &head);
    if (err != RPM_E_NOENT)
        return err == 0 ? RPM_E_EXISTS : err;
    err = rpmi_s3_send(s3, &put);
    if (err != 0 && put.status == 501) { /* the store does not implement the condition */
        put.if_absent = false;
        err = rpmi_s3_send(s3, &put);
    }
    return err == 0 ? compare(s3, key, bytes, len) : err;
}

/* An object that can be listed is as durable as the store makes it. */
static int s3_settle(struct rpmi_store *store, uint64_t log_id)
{
    (void)store;
    (void)log_id;
    return 0;
}

static int s3_remove(struct rpmi_store *store, const struct rpmi_segment_name *name)
{
    char key[RPMI_S3_KEY_CHARS + 1];
    struct rpmi_s3_request request = { .method = "DELETE", .key = key, .absent = RPM_E_NOENT };

    key_put(s3_of(store), name, key);
    return rpmi_s3_send(s3_of(store), &request);
}

static void s3_close(struct rpmi_store *store)
{
    struct rpmi_s3 *s3 = s3_of(store);

    curl_easy_cleanup(s3->curl);
    rpmi_free(s3->list);
    explicit_bzero(&s3->at, sizeof(s3->at));
    rpmi_free(s3);
}

static const struct rpmi_store_ops S3_OPS = {
    .logs = s3_logs,
    .segments = s3_segments,
    .bytes = s3_bytes,
    .get = s3_get,
    .put = s3_put,
    .settle = s3_settle,
    .remove = s3_remove,
    .close = s3_close,
};

static bool curl_works;

static void begin_curl(void)
{
    curl_works = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* Is there such a bucket, and may we list it? */
static int find_bucket(struct rpmi_s3 *s3)
{
    struct rpmi_s3_request request = { .method = "GET",
                                       .key = "",
                                       .query = "list-type=2&max-keys=1",
                                       .absent = RPM_E_NOENT,
                                       .into = s3->list,
                                       .room = RPMI_S3_LIST_BYTES_MAX };

    return rpmi_s3_send(s3, &request);
}

int rpmi_s3_open(const char *url, struct rpmi_store **store)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rpmi_s3 *s3 = rpmi_alloc(sizeof(*s3), 8);
    int err;

    if (s3 == NULL)
        return RPM_E_NOMEM;
    (void)pthread_once(&once, begin_curl);
    s3->store = (struct rpmi_store){ .ops = &S3_OPS, .named_early = true };
    s3->limits = LIMITS;
    rpmi_rng_seed(&s3->rng, rpmi_clock_ns());
    err = rpmi_s3_address_get(url, &s3->at);
    if (err == 0) {
        s3->curl = curl_works ? curl_easy_init() : NULL;
        s3->list = rpmi_alloc_unset(RPMI_S3_LIST_BYTES_MAX, 8);
        err = s3->curl == NULL || s3->list == NULL ? RPM_E_NOMEM : find_bucket(s3);
    }
    if (err != 0) {
        s3_close(&s3->store);
        return err;
    }
    *store = &s3->store;
    return 0;
}
