/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.c: read what an object store answers in XML: a page of a list of keys, and the code of an
 * error. The bytes come from the network: nothing in them is believed.
 *
 * Invariants
 *   a list is visited in the order of its keys, each once: a store that repeats itself is noticed
 *   a document type, by which entities grow without a bound, is refused
 *
 * Tests: tests/unit/tier/s3/listing_test.cpp
 */
#include "tier/s3/s3.h"

#include "base/err.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 16u
#define TEXT_CHARS 1024u

struct walk {
    XML_Parser parser;
    struct rpmi_s3_page *page; /* NULL: an error is read */
    char *code;
    uint32_t depth;
    char root[32];
    char parent[32];  /* of the element that is read, at depth 2 */
    char element[32]; /* at depth 2 or 3 */
    char text[TEXT_CHARS + 1];
    size_t len;
    bool says_more; /* the page has IsTruncated */
    int err;        /* decided, with a text; the rest is not read */
};

static void give_up(struct walk *walk, int err)
{
    if (walk->err == 0)
        walk->err = err;
    (void)XML_StopParser(walk->parser, XML_FALSE);
}

static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct walk *walk = context;

    (void)attributes;
    walk->depth++;
    walk->len = 0;
    if (walk->depth == 1) {
        (void)snprintf(walk->root, sizeof(walk->root), "%s", name);
        if (walk->page != NULL && strcmp(name, "ListBucketResult") != 0)
            give_up(walk, rpmi_fail(RPM_E_IO, "the answer is no list, but <%.32s>", name));
    } else if (walk->depth == 2) {
        (void)snprintf(walk->parent, sizeof(walk->parent), "%s", name);
    } else if (walk->depth > DEPTH_MAX) {
        give_up(walk, rpmi_fail(RPM_E_IO, "the answer is deeper than %u elements", DEPTH_MAX));
    }
    (void)snprintf(walk->element, sizeof(walk->element), "%s", name);
}

static void XMLCALL add_text(void *context, const XML_Char *text, int len)
{
    struct walk *walk = context;

    if (walk->len + (size_t)len > TEXT_CHARS) {
        give_up(walk,
                rpmi_fail(RPM_E_IO, "<%s> has more than %u characters", walk->element, TEXT_CHARS));
        return;
    }
    memcpy(walk->text + walk->len, text, (size_t)len);
    walk->len += (size_t)len;
}

static void visit(struct walk *walk)
{
    struct rpmi_s3_page *page = walk->page;
    int err;

    _Static_assert(sizeof(page->last) == TEXT_CHARS + 1, "a text fits");
    if (strcmp(walk->text, page->last) <= 0) {
        give_up(walk, rpmi_fail(RPM_E_IO,
                                "it lists '%s' behind '%s', and keys are expected in order, each "
                                "once",
                                walk->text, page->last));
        return;
    }
    memcpy(page->last, walk->text, walk->len + 1);
    err = page->visit(page->context, page->last);
    if (err != 0)
        give_up(walk, err);
}

/* The text of an element of a list. */
static void take(struct walk *walk)
{
    struct rpmi_s3_page *page = walk->page;
    const char *each = page->folders ? "CommonPrefixes" : "Contents";

    if (walk->depth == 3 && strcmp(walk->parent, each) == 0 &&
        strcmp(walk->element, page->folders ? "Prefix" : "Key") == 0) {
        visit(walk);
    } else if (walk->depth == 2 && strcmp(walk->element, "IsTruncated") == 0) {
        walk->says_more = true;
        page->more = strcmp(walk->text, "true") == 0;
    } else if (walk->depth == 2 && strcmp(walk->element, "NextContinuationToken") == 0) {
        _Static_assert(sizeof(page->token) == TEXT_CHARS + 1, "a text fits");
        memcpy(page->token, walk->text, walk->len + 1);
    }
}

static void XMLCALL end(void *context, const XML_Char *name)
{
    struct walk *walk = context;

    (void)name;
    walk->text[walk->len] = '\0';
    if (walk->page != NULL && walk->err == 0)
        take(walk);
    else if (walk->page == NULL && walk->depth == 2 && strcmp(walk->root, "Error") == 0 &&
             strcmp(walk->element, "Code") == 0 && walk->len <= RPMI_S3_CODE_CHARS)
        memcpy(walk->code, walk->text, walk->len + 1);
    walk->depth--;
    walk->len = 0;
    walk->element[0] = '\0'; /* so that the end of a parent is not taken for its last child's */
}

static void XMLCALL refuse_type(void *context, const XML_Char *name, const XML_Char *system,
                                const XML_Char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    give_up(context, rpmi_fail(RPM_E_IO, "the answer declares a document type"));
}

/* RPM_E_IO: it is no whole XML. */
static int read_xml(struct walk *walk, const char *xml, size_t len)
{
    enum XML_Status status;

    walk->parser = XML_ParserCreate(NULL);
    if (walk->parser == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no memory for a parser");
    XML_SetUserData(walk->parser, walk);
    XML_SetElementHandler(walk->parser, begin, end);
    XML_SetCharacterDataHandler(walk->parser, add_text);
    XML_SetStartDoctypeDeclHandler(walk->parser, refuse_type);
    status = XML_Parse(walk->parser, xml, (int)len, 1);
    if (walk->err == 0 && status != XML_STATUS_OK)
        walk->err = rpmi_fail(RPM_E_IO, "the answer is no whole XML: %s in line %lu",
                              XML_ErrorString(XML_GetErrorCode(walk->parser)),
                              (unsigned long)XML_GetCurrentLineNumber(walk->parser));
    XML_ParserFree(walk->parser);
    return walk->err;
}

int rpmi_s3_page_get(const char *xml, size_t len, struct rpmi_s3_page *page)
{
    struct walk walk = { .page = page };
    char asked[sizeof(page->token)];
    int err;

    RPM_ASSERT(len <= RPMI_S3_LIST_BYTES_MAX);
    memcpy(asked, page->token, sizeof(asked));
    page->token[0] = '\0';
    page->more = false;
    err = read_xml(&walk, xml, len);
    if (err != 0)
        return err;
    if (!walk.says_more)
        return rpmi_fail(RPM_E_IO, "the list has no <IsTruncated>");
    if (page->more && (page->token[0] == '\0' || strcmp(page->token, asked) == 0))
        return rpmi_fail(RPM_E_IO,
                         "the list is truncated (<IsTruncated>), but its <NextContinuationToken> "
                         "is %s; expected is a token for the next page",
                         page->token[0] == '\0' ? "missing" : "that of this page");
    return 0;
}

void rpmi_s3_code_get(const char *xml, size_t len, char code[RPMI_S3_CODE_CHARS + 1])
{
    struct walk walk = { .code = code };

    code[0] = '\0';
    (void)read_xml(&walk, xml, len); /* a code that was read before an error stays */
    for (const char *each = code; *each != '\0'; each++)
        if ((*each < 'A' || *each > 'Z') && (*each < 'a' || *each > 'z') && *each != '.')
            code[0] = '\0';
}
