/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset_file.c: parse the lines of a preset.
 *
 * Invariants
 *   no number without its unit and its source
 *   no floating point: the same text gives the same values on any machine
 *   an error has file, line and reason
 *
 * Tests: tests/unit/sim/preset/preset_file_test.cpp, tests/fuzz/preset_fuzz.cpp
 */
#include "sim/preset/preset_file.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX 255u
#define ORDER_MIN 1000u                    /* 1 ns */
#define ORDER_MAX (UINT64_C(100000000000)) /* 100 ms: sums of a few stay within 32 bits of ns */
#define WORDS (sizeof(WORD) / sizeof(WORD[0]))
#define SEEN_MAX (RPMI_PARAMS + 8u)
#define BY_CALLER "given by the caller"

const struct rpmi_param rpmi_param_table[RPMI_PARAMS] = {
#define COST(kind_, name_, noun_, least_, most_, what_)                                            \
    { .name = #name_,                                                                              \
      .noun = noun_,                                                                               \
      .what = what_,                                                                               \
      .least = least_,                                                                             \
      .most = most_,                                                                               \
      .offset = offsetof(struct rpmi_preset, cost.name_),                                          \
      .kind = RPMI_PARAM_##kind_,                                                                  \
      .order = false },
    RPMI_PERF_PARAMS(COST)
#undef COST
#define ORDER(name_, what_)                                                                        \
    { .name = "order_" #name_,                                                                     \
      .noun = "",                                                                                  \
      .what = what_,                                                                               \
      .least = ORDER_MIN,                                                                          \
      .most = ORDER_MAX,                                                                           \
      .offset = offsetof(struct rpmi_preset, ns.name_),                                            \
      .kind = RPMI_PARAM_TIME,                                                                     \
      .order = true },
        RPMI_ORDER_PARAMS(ORDER)
#undef ORDER
};

/* A setting whose value is a word, and its allowed values. */
struct word {
    const char *name;
    const char *wants;
    struct {
        const char *text;
        int value;
    } choice[5];
};

static const struct word WORD[] = {
    { "domain",
      "adr, eadr, msync or none",
      { { "adr", RPM_DOMAIN_ADR },
        { "eadr", RPM_DOMAIN_EADR },
        { "msync", RPM_DOMAIN_MSYNC },
        { "none", RPM_DOMAIN_NONE } } },
    { "medium",
      "devdax, file or dram",
      { { "devdax", RPM_MEDIUM_DEVDAX },
        { "file", RPM_MEDIUM_FILE },
        { "dram", RPM_MEDIUM_DRAM } } },
    { "ddio", "on or off", { { "on", 1 }, { "off", 0 } } },
};
_Static_assert(RPMI_PARAMS + WORDS <= SEEN_MAX, "room for all that is seen");

/* A unit, in base units of its kind. */
struct unit {
    enum rpmi_param_kind kind;
    const char *text;
    uint64_t base;
};

static const struct unit UNIT[] = {
    { RPMI_PARAM_TIME, "ns", 1000 },       { RPMI_PARAM_TIME, "us", 1000000 },
    { RPMI_PARAM_BYTES, "B", 1 },          { RPMI_PARAM_BYTES, "KiB", 1u << 10 },
    { RPMI_PARAM_BYTES, "MiB", 1u << 20 }, { RPMI_PARAM_BYTES, "GiB", 1u << 30 },
    { RPMI_PARAM_RATE, "GB/s", 1000 },
};

/* By enum rpmi_param_kind. */
static const char *const WANTS[] = { "ns or us", "B, KiB, MiB or GiB", "GB/s", "" };
static const char *const BASE_UNIT[] = { "ps", "B", "bytes per microsecond", "" };

/* The reader's line, and the settings seen so far. */
struct reader {
    const char *name;
    uint32_t line;
    bool file; /* lines of a file, else what a caller gave */
    uint32_t settings;
    uint32_t last; /* parameter or word */
    bool seen[SEEN_MAX];
    struct rpmi_preset *preset;
};

/* One line's parts, each with its NUL. */
struct setting {
    char line[LINE_BYTES_MAX + 1];
    char *name;
    char *value;
    char *source;
};

#define REFUSE(reader, format, ...)                                                                \
    rpmi_fail(RPM_E_INVAL, "preset %.128s:%u: " format, (reader)->name, (reader)->line, __VA_ARGS__)

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static char *trim(char *text)
{
    size_t len;

    while (is_blank(*text))
        text++;
    len = strlen(text);
    while (len > 0 && is_blank(text[len - 1]))
        text[--len] = '\0';
    return text;
}

/* Split the line at @text into its parts. A line without a setting has an empty name and value. */
static int split(const struct reader *reader, const char *text, size_t bytes,
                 struct setting *setting)
{
    char *equals;
    char *hash;

    if (bytes > LINE_BYTES_MAX)
        return REFUSE(reader, "a line of %zu bytes, the maximum is %u", bytes, LINE_BYTES_MAX);
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != '\t' && (text[i] < 0x20 || text[i] > 0x7e))
            return REFUSE(reader, "byte 0x%02x is not text", (unsigned)(unsigned char)text[i]);
    memcpy(setting->line, text, bytes);
    setting->line[bytes] = '\0';
    hash = reader->file ? strchr(setting->line, '#') : NULL;
    setting->source = hash != NULL ? trim(hash + 1) : setting->line + bytes;
    if (hash != NULL)
        *hash = '\0';
    setting->name = trim(setting->line);
    setting->value = setting->name;
    if (*setting->name == '\0')
        return 0;
    equals = strchr(setting->name, '=');
    if (equals == NULL)
        return REFUSE(reader, "\"%.40s\" is not name = value", setting->name);
    setting->value = trim(equals + 1);
    *equals = '\0';
    setting->name = trim(setting->name);
    if (*setting->name == '\0' || *setting->value == '\0')
        return REFUSE(reader, "\"%.40s = %.40s\" is not name = value", setting->name,
                      setting->value);
    return 0;
}

/* The unit @text in base units of @param; 0 when it is none. */
static uint64_t unit_of(const struct rpmi_param *param, const char *text)
{
    if (param->kind == RPMI_PARAM_COUNT)
        return strcmp(text, param->noun) == 0;
    for (size_t i = 0; i < sizeof(UNIT) / sizeof(UNIT[0]); i++)
        if (UNIT[i].kind == param->kind && strcmp(UNIT[i].text, text) == 0)
            return UNIT[i].base;
    return 0;
}

static int not_a_number(const struct reader *reader, const struct setting *setting)
{
    if (setting->value[0] == '-')
        return REFUSE(reader, "%s: %.40s is negative", setting->name, setting->value);
    return REFUSE(reader, "%s: \"%.40s\" is not a number", setting->name, setting->value);
}

/* Digits, perhaps with a point and more digits: @digits (was 0) over @scale (was 1). The unit. */
static int digits_of(const struct reader *reader, const struct setting *setting, uint64_t *digits,
                     uint64_t *scale, const char **unit)
{
    const char *at = setting->value;
    bool point = false;

    if (!is_digit(*at))
        return not_a_number(reader, setting);
    for (; is_digit(*at) || (*at == '.' && !point && is_digit(at[1])); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        if (*digits > (UINT64_MAX - 9) / 10 || (point && *scale > UINT64_MAX / 10))
            return REFUSE(reader, "%s: %.40s has too many digits", setting->name, setting->value);
        *digits = *digits * 10 + (uint64_t)(*at - '0');
        *scale = point ? *scale * 10 : *scale;
    }
    if (*at != '\0' && !is_blank(*at) && (*at == '.' || *at == '+' || *at == '-'))
        return not_a_number(reader, setting);
    while (is_blank(*at))
        at++;
    *unit = at;
    return 0;
}

static int number(const struct reader *reader, const struct rpmi_param *param,
                  const struct setting *setting, uint64_t *value)
{
    const char *wants = param->kind == RPMI_PARAM_COUNT ? param->noun : WANTS[param->kind];
    uint64_t digits = 0;
    uint64_t scale = 1;
    uint64_t base;
    const char *unit = "";
    int err = digits_of(reader, setting, &digits, &scale, &unit);

    if (err != 0)
        return err;
    if (*unit == '\0')
        return REFUSE(reader, "%s: %.40s has no unit: %s", param->name, setting->value, wants);
    base = unit_of(param, unit);
    if (base == 0)
        return REFUSE(reader, "%s: \"%.40s\" is not its unit: %s", param->name, unit, wants);
    if (param->order && digits <= UINT64_MAX / base && digits * base % (scale * 1000) != 0)
        return REFUSE(reader, "%s: %.40s is not a whole number of ns", param->name, setting->value);
    if (digits <= UINT64_MAX / base && digits * base % scale != 0)
        return REFUSE(reader, "%s: %.40s is not a whole number of %s", param->name, setting->value,
                      param->kind == RPMI_PARAM_COUNT ? param->noun : BASE_UNIT[param->kind]);
    if (digits > UINT64_MAX / base || digits * base / scale < param->least ||
        digits * base / scale > param->most)
        return REFUSE(reader, "%s: %.40s is out of range: %llu to %llu %s", param->name,
                      setting->value, (unsigned long long)param->least,
                      (unsigned long long)param->most,
                      param->kind == RPMI_PARAM_COUNT ? param->noun : BASE_UNIT[param->kind]);
    *value = digits * base / scale;
    return 0;
}

static void store(struct rpmi_preset *preset, const struct rpmi_param *param, uint64_t value)
{
    unsigned char *at = (unsigned char *)preset + param->offset;
    uint32_t ns = (uint32_t)(value / 1000);

    if (param->order)
        memcpy(at, &ns, sizeof(ns));
    else
        memcpy(at, &value, sizeof(value));
}

static int take_number(struct reader *reader, uint32_t index, const struct setting *setting)
{
    const struct rpmi_param *param = &rpmi_param_table[index];
    struct rpmi_param_text *text = &reader->preset->text[index];
    uint64_t value = 0;
    int err = number(reader, param, setting, &value);

    if (err != 0)
        return err;
    if (strlen(setting->value) >= sizeof(text->value))
        return REFUSE(reader, "%s: a value has at most %u bytes", param->name,
                      RPMI_PRESET_VALUE_MAX - 1);
    if (*setting->source == '\0')
        return REFUSE(reader, "%s = %.40s has no source: add # and where the number is from",
                      param->name, setting->value);
    if (strlen(setting->source) >= sizeof(text->source))
        return REFUSE(reader, "%s: a source has at most %u bytes", param->name,
                      RPMI_PRESET_SOURCE_MAX - 1);
    store(reader->preset, param, value);
    memcpy(text->value, setting->value, strlen(setting->value) + 1);
    memcpy(text->source, setting->source, strlen(setting->source) + 1);
    return 0;
}

static int take_word(struct reader *reader, uint32_t index, const struct setting *setting)
{
    const struct word *word = &WORD[index];
    size_t i = 0;

    while (word->choice[i].text != NULL && strcmp(word->choice[i].text, setting->value) != 0)
        i++;
    if (word->choice[i].text == NULL)
        return REFUSE(reader, "%s: \"%.40s\" is none of its values: %s", word->name, setting->value,
                      word->wants);
    reader->preset->words |= 1u << index;
    if (index == 0)
        reader->preset->domain = (enum rpm_domain)word->choice[i].value;
    else if (index == 1)
        reader->preset->medium = (enum rpm_medium)word->choice[i].value;
    else
        reader->preset->ddio = word->choice[i].value != 0;
    return 0;
}

/* The index of @name: a parameter, or from RPMI_PARAMS on a word; SEEN_MAX: unknown. Files follow
 * the order of the table, so the search starts after @last. */
static uint32_t find(const char *name, uint32_t last)
{
    for (uint32_t i = 1; i <= RPMI_PARAMS; i++)
        if (strcmp(rpmi_param_table[(last + i) % RPMI_PARAMS].name, name) == 0)
            return (last + i) % RPMI_PARAMS;
    for (uint32_t i = 0; i < WORDS; i++)
        if (strcmp(WORD[i].name, name) == 0)
            return (uint32_t)RPMI_PARAMS + i;
    return SEEN_MAX;
}

static int take(struct reader *reader, const struct setting *setting)
{
    uint32_t index = find(setting->name, reader->last);

    if (reader->file && strcmp(setting->name, "inherits") == 0) {
        if (reader->settings > 0)
            return REFUSE(reader, "%s is not the first setting", "inherits");
        if (strlen(setting->value) >= RPMI_PRESET_NAME_MAX)
            return REFUSE(reader, "a name has at most %u bytes", RPMI_PRESET_NAME_MAX - 1);
        return 0;
    }
    if (index == SEEN_MAX)
        return REFUSE(reader, "\"%.40s\" is unknown: no setting has this name", setting->name);
    if (reader->seen[index])
        return REFUSE(reader, "%s is given twice", setting->name);
    reader->seen[index] = true;
    reader->last = index;
    return index < RPMI_PARAMS ? take_number(reader, index, setting)
                               : take_word(reader, index - (uint32_t)RPMI_PARAMS, setting);
}

static int check_size(const struct rpmi_preset_file *file)
{
    if (file->bytes > RPMI_PRESET_BYTES_MAX)
        return rpmi_fail(RPM_E_INVAL,
                         "preset %.128s: a file of %zu bytes or more, the maximum is %u",
                         file->name, file->bytes, RPMI_PRESET_BYTES_MAX);
    return 0;
}

/* The next line of the file from *@at; false at its end. */
static bool next_line(const struct rpmi_preset_file *file, size_t *at, const char **line,
                      size_t *bytes)
{
    const char *end;

    if (*at >= file->bytes)
        return false;
    *line = file->text + *at;
    end = memchr(*line, '\n', file->bytes - *at);
    *bytes = end != NULL ? (size_t)(end - *line) : file->bytes - *at;
    *at += *bytes + 1;
    return true;
}

int rpmi_preset_file_base(const struct rpmi_preset_file *file, char base[RPMI_PRESET_NAME_MAX])
{
    struct reader reader = { .name = file->name, .file = true };
    struct setting setting;
    size_t at = 0;
    const char *line;
    size_t bytes;
    int err = check_size(file);

    base[0] = '\0';
    while (err == 0 && next_line(file, &at, &line, &bytes)) {
        reader.line++;
        err = split(&reader, line, bytes, &setting);
        if (err != 0 || *setting.name == '\0')
            continue;
        if (strcmp(setting.name, "inherits") != 0)
            break;
        err = take(&reader, &setting);
        if (err == 0)
            memcpy(base, setting.value, strlen(setting.value) + 1);
        break;
    }
    return err;
}

int rpmi_preset_file_apply(const struct rpmi_preset_file *file, struct rpmi_preset *preset)
{
    struct reader reader = { .name = file->name, .file = true, .preset = preset };
    struct setting setting;
    size_t at = 0;
    const char *line;
    size_t bytes;
    int err = check_size(file);

    while (err == 0 && next_line(file, &at, &line, &bytes)) {
        reader.line++;
        err = split(&reader, line, bytes, &setting);
        if (err == 0 && *setting.name != '\0') {
            err = take(&reader, &setting);
            reader.settings++;
        }
    }
    if (err == 0 && reader.settings == 0)
        err = REFUSE(&reader, "the file has no %s", "settings");
    return err;
}

int rpmi_preset_file_override(const char *settings, struct rpmi_preset *preset)
{
    struct reader reader = { .name = BY_CALLER, .preset = preset };
    static char by_caller[] = BY_CALLER;
    struct setting setting;
    const char *at = settings;
    int err = 0;

    RPM_ASSERT(settings != NULL);
    while (err == 0 && at != NULL) {
        size_t bytes = strcspn(at, ",;");

        reader.line++;
        err = split(&reader, at, bytes, &setting);
        if (err == 0 && *setting.name == '\0')
            err = REFUSE(&reader, "%s between two separators", "no setting");
        setting.source = by_caller;
        if (err == 0)
            err = take(&reader, &setting);
        at = at[bytes] != '\0' ? at + bytes + 1 : NULL;
    }
    return err;
}

static bool is_power(uint64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Check that the values are consistent. Returns the rule that they break, or NULL. */
static const char *clash(const struct rpmi_preset *preset)
{
    const struct rpmi_params *cost = &preset->cost;

    if ((preset->domain == RPM_DOMAIN_MSYNC) != (preset->medium == RPM_MEDIUM_FILE))
        return "domain msync and medium file go together";
    if ((preset->domain == RPM_DOMAIN_NONE) != (preset->medium == RPM_MEDIUM_DRAM))
        return "domain none and medium dram go together";
    if (!is_power(cost->media_line) || !is_power(cost->interleave))
        return "media_line and interleave are powers of two";
    if (cost->interleave < cost->media_line)
        return "interleave is at least media_line";
    if (cost->ddio_ways > cost->llc_ways)
        return "ddio_ways is at most llc_ways";
    if (cost->buffer_latency > cost->media_latency)
        return "buffer_latency is at most media_latency";
    if (cost->media_fill * (cost->media_line / RPMI_LINE_BYTES) > cost->media_write)
        return "media_fill for each line of 64 B is at most media_write";
    if (cost->pcie_write > cost->pcie_read)
        return "pcie_write is at most pcie_read";
    return NULL;
}

int rpmi_preset_file_complete(const char *name, struct rpmi_preset *preset)
{
    const char *wrong;

    for (uint32_t i = 0; i < WORDS; i++)
        if ((preset->words >> i & 1) == 0)
            return rpmi_fail(RPM_E_INVAL, "preset %.128s: %s is missing", name, WORD[i].name);
    for (uint32_t i = 0; i < RPMI_PARAMS; i++)
        if (preset->text[i].value[0] == '\0')
            return rpmi_fail(RPM_E_INVAL, "preset %.128s: %s is missing", name,
                             rpmi_param_table[i].name);
    wrong = clash(preset);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_INVAL, "preset %.128s: %s", name, wrong);
    /* A block device writes sectors of 512 bytes whole; under eADR a store is durable as it is. */
    preset->unit_lines = preset->domain == RPM_DOMAIN_MSYNC ? 8 : 1;
    preset->granularity_bytes = preset->domain == RPM_DOMAIN_MSYNC  ? RPMI_PAGE_BYTES
                                : preset->domain == RPM_DOMAIN_EADR ? 1
                                                                    : RPMI_LINE_BYTES;
    return 0;
}
