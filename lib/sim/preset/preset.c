/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset.c: find a preset, read it with the files that it inherits from, and apply a caller's
 * changes.
 *
 * Invariants
 *   no number is fitted to an experiment: each is taken from a measurement or a specification, or
 *     marked as a coarse choice
 *   the facts that a link reports follow from the preset alone
 *
 * Tests: tests/unit/sim/preset/preset_test.cpp
 */
#include "sim/preset/preset.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sim/preset/preset_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHAIN_MAX 8u /* files that inherit from one another */

/* A preset and the files that it inherits from; the last is applied first. */
struct preset_chain {
    struct rpmi_preset_file file[CHAIN_MAX];
    char name[CHAIN_MAX][RPMI_PRESET_NAME_MAX];
    char *room[CHAIN_MAX]; /* text of those that were read; NULL for embedded ones */
    uint32_t files;
};

static int unknown(const char *name)
{
    char list[128] = "";
    size_t len = 0;

    for (uint32_t i = 0; i < rpmi_preset_embedded_count; i++) {
        const char *known = rpmi_preset_embedded[i].name;

        if (len + strlen(known) + 3 > sizeof(list))
            break;
        if (i > 0) {
            memcpy(list + len, ", ", 2);
            len += 2;
        }
        memcpy(list + len, known, strlen(known) + 1);
        len += strlen(known);
    }
    return rpmi_fail(
        RPM_E_INVAL,
        "no preset is called \"%.64s\": give one of %s, or the path of a file, with a '/'", name,
        list);
}

static int read_whole(int fd, struct rpmi_preset_file *file, char **room)
{
    struct stat info;
    size_t got = 0;
    ssize_t n = 1;

    if (fstat(fd, &info) != 0)
        return rpmi_fail(RPM_E_IO, "preset %.128s: %s", file->name, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return rpmi_fail(RPM_E_INVAL, "preset %.128s: not a regular file", file->name);
    *room = rpmi_alloc(RPMI_PRESET_BYTES_MAX + 1, 8);
    if (*room == NULL)
        return RPM_E_NOMEM;
    while (n > 0 && got <= RPMI_PRESET_BYTES_MAX) {
        n = read(fd, *room + got, RPMI_PRESET_BYTES_MAX + 1 - got);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            got += (size_t)n;
    }
    if (n < 0)
        return rpmi_fail(RPM_E_IO, "preset %.128s: %s", file->name, strerror(errno));
    file->text = *room;
    file->bytes = got;
    return 0;
}

static int read_path(struct rpmi_preset_file *file, char **room)
{
    /* O_NONBLOCK, so that a pipe without a writer, or a terminal, does not block. */
    int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int err;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return rpmi_fail(RPM_E_NOENT, "preset %.128s: %s", file->name, strerror(errno));
    if (fd < 0)
        return rpmi_fail(RPM_E_IO, "preset %.128s: %s", file->name, strerror(errno));
    err = read_whole(fd, file, room);
    close(fd);
    return err;
}

/* The name that a file inherits from; paths are relative to its folder. */
static int base_name(const struct rpmi_preset_file *file, char base[RPMI_PRESET_NAME_MAX])
{
    const char *slash = strrchr(file->name, '/');
    size_t folder = slash != NULL ? (size_t)(slash - file->name) + 1 : 0;
    int err = rpmi_preset_file_base(file, base);

    if (err != 0 || base[0] == '/' || strchr(base, '/') == NULL)
        return err;
    if (folder + strlen(base) >= RPMI_PRESET_NAME_MAX)
        return rpmi_fail(RPM_E_INVAL, "preset %.128s: the path it inherits from is too long",
                         file->name);
    memmove(base + folder, base, strlen(base) + 1);
    memcpy(base, file->name, folder);
    return 0;
}

/* Find the text of the chain's next file, whose name is set. */
static int fetch(struct preset_chain *chain)
{
    struct rpmi_preset_file *file = &chain->file[chain->files];

    file->name = chain->name[chain->files];
    chain->room[chain->files] = NULL;
    chain->files++;
    if (strchr(file->name, '/') != NULL)
        return read_path(file, &chain->room[chain->files - 1]);
    for (uint32_t i = 0; i < rpmi_preset_embedded_count; i++) {
        if (strcmp(rpmi_preset_embedded[i].name, file->name) == 0) {
            *file = rpmi_preset_embedded[i];
            return 0;
        }
    }
    return unknown(file->name);
}

static int follow(struct preset_chain *chain)
{
    char base[RPMI_PRESET_NAME_MAX];
    int err = fetch(chain);

    while (err == 0) {
        err = base_name(&chain->file[chain->files - 1], base);
        if (err != 0 || base[0] == '\0')
            return err;
        if (chain->files == CHAIN_MAX)
            return rpmi_fail(RPM_E_INVAL, "preset %.128s: inherits in a loop, or from more than %u",
                             chain->name[0], CHAIN_MAX - 1);
        memcpy(chain->name[chain->files], base, sizeof(base));
        err = fetch(chain);
    }
    return err;
}

int rpmi_preset_read(const char *spec, struct rpmi_preset *preset)
{
    size_t len = strcspn(spec, ",;");
    struct preset_chain *chain;
    int err = 0;

    if (len >= RPMI_PRESET_NAME_MAX)
        return rpmi_fail(RPM_E_INVAL, "preset: a name of %zu bytes, the maximum is %u", len,
                         RPMI_PRESET_NAME_MAX - 1);
    chain = rpmi_alloc(sizeof(*chain), 64);
    if (chain == NULL)
        return RPM_E_NOMEM;
    memset(preset, 0, sizeof(*preset));
    memcpy(preset->name, spec, len);
    memcpy(chain->name[0], spec, len);
    err = follow(chain);
    for (uint32_t i = chain->files; err == 0 && i > 0; i--)
        err = rpmi_preset_file_apply(&chain->file[i - 1], preset);
    if (err == 0 && spec[len] != '\0')
        err = rpmi_preset_file_override(spec + len + 1, preset);
    if (err == 0)
        err = rpmi_preset_file_complete(preset->name, preset);
    for (uint32_t i = 0; i < chain->files; i++)
        rpmi_free(chain->room[i]);
    rpmi_free(chain);
    return err;
}

static uint32_t methods_of(bool native_flush)
{
    uint32_t methods = 0;

    for (uint32_t method = RPM_METHOD_WRITE; method <= RPM_METHOD_FLUSH; method++)
        methods |= 1u << method;
    return native_flush ? methods : methods & ~(1u << RPM_METHOD_FLUSH);
}

void rpmi_preset_facts(const struct rpmi_preset *preset, bool native_flush, struct rpm_facts *facts)
{
    bool device = preset->medium == RPM_MEDIUM_DEVDAX;

    *facts = rpm_facts_init();
    facts->medium = preset->medium;
    facts->domain = preset->domain;
    facts->ddio = preset->ddio ? RPM_YES : RPM_NO;
    /* A region over a page cache cannot be registered for persistent FLUSH. */
    facts->native_flush = native_flush && device ? RPM_YES : RPM_NO;
    facts->atomic_write = RPM_NO;
    facts->memory_window = RPM_YES;
    facts->granularity_bytes = preset->granularity_bytes;
    facts->line_bytes = device ? (uint32_t)preset->cost.media_line : RPMI_LINE_BYTES;
    facts->methods = methods_of(native_flush);
    facts->memory_node = 0;
    facts->port_node = 0;
    facts->modelled = 1;
}

bool rpmi_preset_at_once(const struct rpmi_preset *preset, bool by_nic)
{
    switch (preset->domain) {
    case RPM_DOMAIN_EADR:
        return true;
    case RPM_DOMAIN_ADR:
        return by_nic && !preset->ddio;
    default:
        RPM_ASSERT(preset->domain == RPM_DOMAIN_MSYNC);
        return false;
    }
}
