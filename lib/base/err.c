/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.c: names and sentences of the error space, and the last error's text.
 *
 * Invariants
 *   the text belongs to one thread and is set only by the function that decides an error
 *   the code is the contract; the text decides nothing, except that rpmi_log_explain() looks in it
 *     for advice, so as not to add the advice twice
 *   a public function that can fail drops the text of the call before it: if it then fails without
 *     setting a text, rpm_last_error() is empty and does not describe an older failure
 *
 * Tests: tests/unit/base/err_test.cpp
 */
#include "base/err.h"

#include "base/diag.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 384

struct entry {
    int err;
    const char *name;
    const char *sentence;
};

static const struct entry ENTRIES[] = {
    { RPM_E_INVAL, "RPM_E_INVAL", "an argument is out of its documented range" },
    { RPM_E_FULL, "RPM_E_FULL", "the log is full: trim it, or make it larger" },
    { RPM_E_NOSPACE, "RPM_E_NOSPACE",
      "no room to create it: remove objects, or use a larger pool" },
    { RPM_E_LIMIT, "RPM_E_LIMIT", "a maximum count is reached: close or remove some" },
    { RPM_E_TORN, "RPM_E_TORN", "bytes failed their checksum" },
    { RPM_E_FENCED, "RPM_E_FENCED", "a newer writer owns this log" },
    { RPM_E_LOST, "RPM_E_LOST", "connection lost: result of in-flight operations unknown" },
    { RPM_E_TIMEDOUT, "RPM_E_TIMEDOUT", "deadline passed: result of in-flight operations unknown" },
    { RPM_E_BUSY, "RPM_E_BUSY", "queue full: poll, then retry" },
    { RPM_E_NOCAP, "RPM_E_NOCAP", "cannot be done, or cannot be proven, on this link" },
    { RPM_E_RANGE, "RPM_E_RANGE", "offset, length or LSN outside the object" },
    { RPM_E_TRIMMED, "RPM_E_TRIMMED", "the LSN was trimmed away" },
    { RPM_E_TOOBIG, "RPM_E_TOOBIG", "the record is larger than the log's maximum" },
    { RPM_E_NOENT, "RPM_E_NOENT", "no object of that name" },
    { RPM_E_EXISTS, "RPM_E_EXISTS", "the name is taken" },
    { RPM_E_NAME, "RPM_E_NAME", "name empty, too long or with a forbidden byte" },
    { RPM_E_QUORUM, "RPM_E_QUORUM", "too few members of a set of copies can be used" },
    { RPM_E_OWNED, "RPM_E_OWNED", "another writer, server or lock owner holds it" },
    { RPM_E_DENIED, "RPM_E_DENIED", "not permitted: credentials, secret or rights" },
    { RPM_E_VERSION, "RPM_E_VERSION", "the other side or the file has another version" },
    { RPM_E_PROTO, "RPM_E_PROTO", "the peer sent a message that librpm never sends" },
    { RPM_E_FOREIGN, "RPM_E_FOREIGN", "the file or object has data of another program" },
    { RPM_E_CORRUPT, "RPM_E_CORRUPT", "a pool structure or a durable record is damaged" },
    { RPM_E_OPTS, "RPM_E_OPTS", "options newer than this library, with a field set" },
    { RPM_E_REFUSED, "RPM_E_REFUSED", "no server there, or it takes no more clients" },
    { RPM_E_NOMEM, "RPM_E_NOMEM", "out of memory" },
    { RPM_E_IO, "RPM_E_IO", "the medium or a system call failed" },
};

static _Thread_local char last_text[TEXT_BYTES];
__thread int rpmi_error_code;
static _Thread_local char number_text[24];

static const struct entry *find(int err);

int rpmi_fail(int err, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    /* The text is copied to last_text only here, because an argument may be the previous text, and
     * the diagnostic sink may itself set an error text. */
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rpmi_diag(RPM_DIAG_DEBUG, "%s: %s", rpm_error_name(err), text);
    memcpy(last_text, text, strlen(text) + 1);
    rpmi_error_code = err;
    return err;
}

const char *rpm_last_error(void)
{
    return rpmi_error_code != 0 ? last_text : "";
}

const char *rpm_strerror(int err)
{
    const struct entry *entry = find(err);

    if (err >= 0)
        return "success";
    return entry != NULL ? entry->sentence : "an error of the operating system";
}

const char *rpm_error_name(int err)
{
    const struct entry *entry = find(err);

    if (err >= 0)
        return "success";
    if (entry != NULL)
        return entry->name;
    /* Negate in a wider type: INT_MIN has no positive counterpart. */
    snprintf(number_text, sizeof(number_text), "E%lld", -(long long)err);
    return number_text;
}

static const struct entry *find(int err)
{
    for (size_t i = 0; i < sizeof(ENTRIES) / sizeof(ENTRIES[0]); i++)
        if (ENTRIES[i].err == err)
            return &ENTRIES[i];
    return NULL;
}
