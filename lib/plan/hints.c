/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hints.c: parse the hints that are on from text such as "all", "none", "-H3" or "H6,H9".
 *
 * The first word decides from which set the others add or remove: from all hints if it is "all",
 * "-H3" or "+H3", from no hint if it is "none" or "H3".
 *
 * Tests: tests/unit/plan/hints_test.cpp
 */
#include <librpm/plan.h>

#include "base/err.h"

#include <string.h>

static int fail_word(const char *text, const char *word, size_t len)
{
    return rpmi_fail(RPM_E_INVAL,
                     "hints \"%s\": \"%.*s\" is none of all, none, Hk, +Hk, -Hk (k 1-9)", text,
                     (int)len, word);
}

/* "H6", "+H6" or "-H6" applied to @hints. */
static int word_apply(const char *word, size_t len, uint32_t *hints)
{
    char sign = word[0];
    size_t at = sign == '+' || sign == '-' ? 1 : 0;

    if (len != at + 2 || (word[at] != 'H' && word[at] != 'h'))
        return RPM_E_INVAL;
    if (word[at + 1] < '1' || word[at + 1] > '9')
        return RPM_E_INVAL;
    if (sign == '-')
        *hints &= ~RPM_HINT(word[at + 1] - '0');
    else
        *hints |= RPM_HINT(word[at + 1] - '0');
    return 0;
}

static int is_word(const char *word, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(word, name, len) == 0;
}

int rpm_hints_parse(const char *text, uint32_t *hints)
{
    rpmi_begin();

    uint32_t on = RPM_HINTS_ALL;
    const char *word = text;

    if (text == NULL) {
        *hints = RPM_HINTS_ALL;
        return 0;
    }
    for (;;) {
        size_t len = strcspn(word, ",");

        if (word == text && (is_word(word, len, "all") || is_word(word, len, "none"))) {
            on = word[0] == 'a' ? RPM_HINTS_ALL : RPM_HINTS_NONE;
        } else {
            if (word == text && (word[0] == 'H' || word[0] == 'h'))
                on = RPM_HINTS_NONE;
            if (word_apply(word, len, &on) != 0)
                return fail_word(text, word, len);
        }
        if (word[len] == '\0')
            break;
        word += len + 1;
    }
    *hints = on;
    return 0;
}
