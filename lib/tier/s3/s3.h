/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3.h: segments in an object store that speaks the HTTP API of S3: where it is, one request to it,
 * and its lists. The only part of librpm that uses libcurl and expat; it is a library of its own,
 * librpm-s3.
 *
 * Invariants
 *   a secret is in no URL, in no error text, and is overwritten when the store is closed
 *   each request ends, by limits on its time, on its attempts, and on the bytes of its answer
 *
 * Threads: one per store.   Tests: tests/unit/tier/s3/
 */
#ifndef RPMI_S3_H
#define RPMI_S3_H

#include "base/rng.h"
#include "tier/store.h"

#include <stdbool.h>

#define RPMI_S3_ENDPOINT_CHARS 255u
#define RPMI_S3_BUCKET_CHARS 63u
#define RPMI_S3_PREFIX_CHARS 255u
#define RPMI_S3_WORD_CHARS 127u   /* a region, the id of a key, the key */
#define RPMI_S3_TOKEN_CHARS 2047u /* of a session; it is far longer than a key */
#define RPMI_S3_KEY_CHARS (RPMI_S3_PREFIX_CHARS + 64u)
/* Encoded, a character may take three. */
#define RPMI_S3_QUERY_CHARS (3u * (RPMI_S3_KEY_CHARS + 1024u) + 128u)
#define RPMI_S3_URL_CHARS                                                                          \
    (RPMI_S3_ENDPOINT_CHARS + RPMI_S3_BUCKET_CHARS + RPMI_S3_KEY_CHARS + RPMI_S3_QUERY_CHARS + 8u)
#define RPMI_S3_LIST_BYTES_MAX (2u << 20) /* of one page: 1000 keys */
#define RPMI_S3_PAGES_MAX 100000u         /* of one list */
#define RPMI_S3_CODE_CHARS 63u

/* Where a store is, and who asks it. */
struct rpmi_s3_address {
    char endpoint[RPMI_S3_ENDPOINT_CHARS + 1]; /* http:// or https://, without a slash at the end */
    char region[RPMI_S3_WORD_CHARS + 1];
    char bucket[RPMI_S3_BUCKET_CHARS + 1];
    char prefix[RPMI_S3_PREFIX_CHARS + 1]; /* empty, or with a slash at the end */
    char trusted[1024];                    /* file of certificates; empty: the system's */
    char key_id[RPMI_S3_WORD_CHARS + 1];
    char secret[RPMI_S3_WORD_CHARS + 1];
    char token[RPMI_S3_TOKEN_CHARS + 1]; /* empty: none */
};

struct rpmi_s3_limits {
    uint32_t attempts;    /* of one request */
    uint32_t pause_ms;    /* before the second one; doubled each time, and halved by chance */
    uint32_t connect_ms;  /* to connect */
    uint32_t stalled_s;   /* with less than 1 KiB/s */
    uint32_t attempt_ms;  /* one attempt, and 1 ms more for each KiB of its body or its answer */
    uint32_t list_gap_ms; /* between two lists: a writer that waits for a segment asks often */
};

struct rpmi_s3 {
    struct rpmi_store store;
    struct rpmi_s3_address at;
    struct rpmi_s3_limits limits;
    struct rpmi_rng rng;
    void *curl;                          /* CURL *: keeps the connection */
    char *list;                          /* RPMI_S3_LIST_BYTES_MAX */
    char query[RPMI_S3_QUERY_CHARS + 1]; /* of the page that is asked for */
    char url[RPMI_S3_URL_CHARS + 1];     /* of the request that is sent */
    uint64_t list_ns;                    /* when the last list was asked for; 0: never */
};

/* address.c: read @url, s3://BUCKET[/PREFIX], and the environment. RPM_E_INVAL, RPM_E_DENIED (no
 * credentials, or others may read their file), RPM_E_NOENT, RPM_E_IO. */
int rpmi_s3_address_get(const char *url, struct rpmi_s3_address *at);

struct rpmi_s3_request {
    const char *method; /* GET, PUT, HEAD, DELETE */
    const char *key;    /* below the bucket; empty: the bucket itself */
    const char *query;  /* NULL: none; encoded, and its names in order, as they are signed */
    const void *body;   /* NULL: none */
    size_t body_len;
    bool if_absent; /* of a PUT: RPM_E_EXISTS where the store has the key */
    bool ranged;    /* ask for [from, from + room) alone, and take nothing else as an answer */
    uint64_t from;
    int absent; /* the error for 404 */

    char *into; /* the body of the answer; NULL: none is expected */
    size_t room;

    /* Set by rpmi_s3_send(). */
    size_t got;                        /* bytes at into */
    uint64_t bytes;                    /* that the answer announced, of a HEAD as well */
    long status;                       /* of HTTP; 0: there was no answer */
    char code[RPMI_S3_CODE_CHARS + 1]; /* by which the store names its error; empty: none */
};

/* request.c: send a request until it is answered or has failed too often. 0: the store did it.
 * request->absent, RPM_E_EXISTS, RPM_E_DENIED, RPM_E_NOSPACE, RPM_E_CORRUPT (the object ends before
 * the range that was asked for), RPM_E_NOMEM, RPM_E_IO (the store is away, slow, or answers what it
 * must not); the error text names the key. */
int rpmi_s3_send(struct rpmi_s3 *s3, struct rpmi_s3_request *request);

/* listing.c: one page of a list of keys. */
typedef int rpmi_s3_visit(void *context, const char *key);

struct rpmi_s3_page {
    rpmi_s3_visit *visit;
    void *context;
    bool folders;      /* visit common prefixes, not keys */
    const char *after; /* visit keys behind this one; NULL: all */
    /* In and out, across the pages of a list: */
    char last[1025]; /* visited last; the next ones are behind it */
    /* Out: */
    bool more;
    char token[1025]; /* with which to ask for the next page */
};

/* Visit what a page has. RPM_E_IO: it is no whole list, or its keys are not in order, or it says
 * that there is more and not how to get it; what a visitor returned. The text says what was found,
 * and not where. */
int rpmi_s3_page_get(const char *xml, size_t len, struct rpmi_s3_page *page);

/* The code in the store's answer to a request that failed; empty: there is none. */
void rpmi_s3_code_get(const char *xml, size_t len, char code[RPMI_S3_CODE_CHARS + 1]);

/* store.c: what librpm looks for in this library. As rpmi_s3_library_open(). */
int rpmi_s3_open(const char *url, struct rpmi_store **store);

#endif
