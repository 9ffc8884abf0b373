/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * super.c: encode and decode the superblock and directory entries of a pool.
 *
 * Invariants
 *   the word that makes a structure valid (magic, state) is stored by itself, after the rest is
 *     durable: a power cut during formatting leaves memory that is not a pool, and a power cut
 *     during a create leaves a free entry
 *   a create stores the first state word of an entry first, and a remove stores it last: if only
 *     the second says "in use", the line of the first holds old bytes
 *   a structure that was valid once and is damaged later is CORRUPT, never "not there"
 *
 * Format: FORMAT.md, sections 2 and 3.   Tests: tests/unit/wire/super_test.cpp
 */
#include "wire/super.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/field.h"
#include "wire/layout.h"

#include <inttypes.h>
#include <stdbool.h>

#define SUPER_MAGIC 0x0a4c4f4f504d5052ull /* "RPMPOOL" and a line feed */
#define SUPER_AT_VERSION 8
#define SUPER_AT_ENTRIES 48
#define SUPER_AT_ENTRY_BYTES 52
#define SUPER_AT_SUM 2040

#define DIRENT_USED 0x01595254454d5052ull /* "RPMETRY", version 1; never all zeros */
#define DIRENT_FREE 0x01454552464d5052ull /* "RPMFREE", version 1 */
#define DIRENT_AT_KIND 8
#define DIRENT_AT_AGAIN RPMI_DIRENT_STATE_2
#define DIRENT_AT_SUM 248

_Static_assert(SUPER_AT_SUM + sizeof(uint64_t) == RPMI_SUPER_BYTES, "the sum ends the block");
_Static_assert(DIRENT_AT_SUM + sizeof(uint64_t) == RPMI_DIRENT_BYTES, "the sum ends the entry");
_Static_assert(RPMI_DIRENT_BYTES == RPMI_XPLINE_BYTES, "an entry is one media line");

static const struct rpmi_field SUPER_FIELDS[] = {
    RPMI_OWN(0, 8, "magic"),
    RPMI_NUMBER(SUPER_AT_VERSION, struct rpmi_super, version),
    RPMI_NUMBER(16, struct rpmi_super, pool_id),
    RPMI_NUMBER(24, struct rpmi_super, pool_bytes),
    RPMI_NUMBER(32, struct rpmi_super, dir_offset),
    RPMI_NUMBER(40, struct rpmi_super, data_offset),
    RPMI_NUMBER(SUPER_AT_ENTRIES, struct rpmi_super, entries),
    RPMI_OWN(SUPER_AT_ENTRY_BYTES, 4, "entry_bytes"),
    RPMI_OWN(SUPER_AT_SUM, 8, "checksum"),
};

static const struct rpmi_field DIRENT_FIELDS[] = {
    RPMI_OWN(0, 8, "state"),
    RPMI_NUMBER(DIRENT_AT_KIND, struct rpmi_dirent, kind),
    RPMI_NUMBER(16, struct rpmi_dirent, offset),
    RPMI_NUMBER(24, struct rpmi_dirent, bytes),
    RPMI_NUMBER(32, struct rpmi_dirent, id),
    RPMI_TEXT(40, struct rpmi_dirent, name),
    RPMI_OWN(DIRENT_AT_AGAIN, 8, "state again"),
    RPMI_OWN(DIRENT_AT_SUM, 8, "checksum"),
};

const struct rpmi_layout rpmi_super_layout =
    RPMI_LAYOUT("superblock", SUPER_FIELDS, RPMI_SUPER_BYTES);
const struct rpmi_layout rpmi_dirent_layout =
    RPMI_LAYOUT("directory entry", DIRENT_FIELDS, RPMI_DIRENT_BYTES);

static bool super_is_sound(const struct rpmi_super *super);
static bool is_partly_formatted(const unsigned char *block, uint64_t pool_bytes,
                                const struct rpmi_super *found);
static uint64_t super_sum(const unsigned char *block);
static uint64_t dirent_sum(const unsigned char *slot);
static bool dirent_is_sound(const struct rpmi_dirent *entry, uint64_t pool_bytes);
static int name_fault(const char *name);

uint32_t rpmi_super_entries(uint64_t pool_bytes)
{
    uint64_t fit = pool_bytes / RPMI_POOL_BYTES_PER_ENTRY;

    if (fit < RPMI_POOL_ENTRIES_MIN)
        return RPMI_POOL_ENTRIES_MIN;
    return fit < RPMI_POOL_ENTRIES_MAX ? (uint32_t)fit : RPMI_POOL_ENTRIES_MAX;
}

uint64_t rpmi_super_put(void *block, const struct rpmi_super *super)
{
    unsigned char *to = block;

    RPM_ASSERT(block != NULL && super != NULL);
    RPM_ASSERT(super->version == RPMI_FORMAT_VERSION);
    RPM_ASSERT(super_is_sound(super));
    rpmi_layout_put(&rpmi_super_layout, to, super);
    rpmi_store32(to + SUPER_AT_ENTRY_BYTES, RPMI_DIRENT_BYTES);
    rpmi_store64(to + SUPER_AT_SUM, super_sum(to));
    RPM_ASSERT_SLOW(rpmi_all_zero(to, sizeof(uint64_t)) &&
                    is_partly_formatted(to, super->pool_bytes, super));
    return SUPER_MAGIC;
}

int rpmi_super_get(const void *block, uint64_t pool_bytes, struct rpmi_super *super)
{
    const unsigned char *from = block;
    struct rpmi_super found;
    const char *wrong = rpmi_layout_get(&rpmi_super_layout, from, &found);

    if (is_partly_formatted(from, pool_bytes, &found))
        return rpmi_fail(RPM_E_NOENT, "the pool was never formatted");
    if (rpmi_load64(from) != SUPER_MAGIC)
        return rpmi_fail(RPM_E_FOREIGN,
                         "does not begin as a librpm pool: give the path of a pool, or a new one");
    if (found.version != RPMI_FORMAT_VERSION)
        return rpmi_fail(RPM_E_VERSION,
                         "the pool has format version %" PRIu32
                         ", expected is %u; serve it with the librpm that made it, and copy its "
                         "logs by 'rpm-log cat' and 'rpm-log append' to a pool of this one, and "
                         "its regions by the programs that use them",
                         found.version, RPMI_FORMAT_VERSION);
    if (rpmi_load64(from + SUPER_AT_SUM) != super_sum(from))
        return rpmi_fail(RPM_E_CORRUPT,
                         "the superblock fails its checksum; restore a copy of the pool");
    if (wrong != NULL || rpmi_load32(from + SUPER_AT_ENTRY_BYTES) != RPMI_DIRENT_BYTES ||
        !super_is_sound(&found))
        return rpmi_fail(RPM_E_CORRUPT,
                         "the superblock's fields are out of bounds; restore a copy of the pool");
    if (found.pool_bytes > pool_bytes)
        return rpmi_fail(RPM_E_CORRUPT,
                         "the pool is cut short: %" PRIu64 " bytes of %" PRIu64
                         " are left; restore a copy of it",
                         pool_bytes, found.pool_bytes);
    *super = found;
    return 0;
}

void rpmi_dirent_put(void *slot, const struct rpmi_dirent *entry)
{
    unsigned char *to = slot;

    RPM_ASSERT(slot != NULL && entry != NULL);
    RPM_ASSERT(dirent_is_sound(entry, UINT64_MAX));
    rpmi_layout_put(&rpmi_dirent_layout, to, entry);
    rpmi_store64(to, DIRENT_FREE);
    rpmi_store64(to + DIRENT_AT_AGAIN, DIRENT_FREE);
    rpmi_store64(to + DIRENT_AT_SUM, dirent_sum(to));
}

void rpmi_dirent_put_free(void *slot)
{
    unsigned char *to = slot;

    memset(to, 0, RPMI_DIRENT_BYTES);
    rpmi_store64(to, DIRENT_FREE);
    rpmi_store64(to + DIRENT_AT_AGAIN, DIRENT_FREE);
}

bool rpmi_dirent_is_new(const void *slot)
{
    unsigned char whole[RPMI_DIRENT_BYTES];
    const unsigned char *from = slot;

    rpmi_dirent_put_free(whole);
    for (uint32_t at = 0; at < RPMI_DIRENT_BYTES; at += sizeof(uint64_t))
        if (rpmi_load64(from + at) != 0 && rpmi_load64(from + at) != rpmi_load64(whole + at))
            return false;
    return true;
}

uint64_t rpmi_dirent_free(void)
{
    return DIRENT_FREE;
}

uint64_t rpmi_dirent_used(void)
{
    return DIRENT_USED;
}

int rpmi_dirent_get(const void *slot, uint64_t pool_bytes, struct rpmi_dirent *entry)
{
    const unsigned char *from = slot;
    struct rpmi_dirent found;
    const char *wrong = rpmi_layout_get(&rpmi_dirent_layout, from, &found);
    uint64_t state = rpmi_load64(from);
    uint64_t again = rpmi_load64(from + DIRENT_AT_AGAIN);

    if (state == DIRENT_FREE && again == DIRENT_FREE)
        return 0;
    /* Zeros do not mean "free": a lost line may read as zeros. */
    if (state != DIRENT_USED || (again != DIRENT_USED && again != DIRENT_FREE))
        return rpmi_fail(RPM_E_CORRUPT,
                         "directory entry has the states %#" PRIx64 " and %#" PRIx64
                         ": a line of it is damaged or an old one",
                         state, again);
    if (rpmi_load64(from + DIRENT_AT_SUM) != dirent_sum(from))
        return rpmi_fail(RPM_E_CORRUPT, "directory entry fails its checksum");
    if (wrong != NULL || !dirent_is_sound(&found, pool_bytes))
        return rpmi_fail(RPM_E_CORRUPT, "directory entry's fields are out of bounds");
    *entry = found;
    return again == DIRENT_USED ? RPMI_DIRENT_USED : RPMI_DIRENT_HALF;
}

int rpmi_name_check(const char *name)
{
    int at;

    RPM_ASSERT(name != NULL);
    at = name_fault(name);
    if (at < 0)
        return 0;
    if (name[0] == '\0')
        return rpmi_fail(RPM_E_NAME, "a name has at least one byte");
    if (at == RPM_NAME_MAX)
        return rpmi_fail(RPM_E_NAME, "name '%.20s...' is longer than %d bytes", name, RPM_NAME_MAX);
    return rpmi_fail(RPM_E_NAME,
                     "name has byte 0x%02x at position %d: only letters, digits and ._-/ are taken",
                     (unsigned char)name[at], at);
}

static bool super_is_sound(const struct rpmi_super *super)
{
    uint64_t dir_bytes = (uint64_t)super->entries * RPMI_DIRENT_BYTES;

    return super->entries == rpmi_super_entries(super->pool_bytes) &&
           super->pool_bytes >= RPMI_POOL_BYTES_MIN &&
           rpmi_is_aligned(super->pool_bytes, RPMI_PAGE_BYTES) &&
           rpmi_is_aligned(super->dir_offset, RPMI_XPLINE_BYTES) &&
           rpmi_is_aligned(super->data_offset, RPMI_PAGE_BYTES) &&
           super->dir_offset >= RPMI_DIR_OFFSET && super->data_offset <= super->pool_bytes &&
           rpmi_in_bounds(super->dir_offset, dir_bytes, super->data_offset);
}

/*
 * Zeros, or the result of a power cut during formatting: no magic yet, and every other word either
 * zero or already right. Any other block without magic is not a pool.
 */
static bool is_partly_formatted(const unsigned char *block, uint64_t pool_bytes,
                                const struct rpmi_super *found)
{
    uint64_t shape = rpmi_load64(block + SUPER_AT_ENTRIES);
    uint64_t whole = rpmi_super_entries(pool_bytes) | (uint64_t)RPMI_DIRENT_BYTES << 32;

    if (rpmi_load64(block) != 0 || !rpmi_layout_is_clean(&rpmi_super_layout, block))
        return false;
    if (found->version != 0 && found->version != RPMI_FORMAT_VERSION)
        return false;
    if (shape != 0 && shape != whole)
        return false;
    /* Of a file that ends in the middle of a page, the pool is the whole pages. */
    return (found->pool_bytes == 0 ||
            found->pool_bytes == rpmi_align_down(pool_bytes, RPMI_PAGE_BYTES)) &&
           found->dir_offset <= pool_bytes && found->data_offset <= pool_bytes &&
           rpmi_is_aligned(found->dir_offset, RPMI_XPLINE_BYTES) &&
           rpmi_is_aligned(found->data_offset, RPMI_PAGE_BYTES);
}

/* A checksum over everything but the magic, which is stored later than the sum. */
static uint64_t super_sum(const unsigned char *block)
{
    return rpmi_sum(block + SUPER_AT_VERSION, SUPER_AT_SUM - SUPER_AT_VERSION);
}

/* A checksum over everything but the state words, which change later. */
static uint64_t dirent_sum(const unsigned char *slot)
{
    return rpmi_sum(slot + DIRENT_AT_KIND, DIRENT_AT_AGAIN - DIRENT_AT_KIND);
}

static bool dirent_is_sound(const struct rpmi_dirent *entry, uint64_t pool_bytes)
{
    if (entry->kind != RPM_KIND_LOG && entry->kind != RPM_KIND_REGION)
        return false;
    if (name_fault(entry->name) >= 0)
        return false;
    if (entry->kind == RPM_KIND_LOG && entry->bytes < RPMI_LOG_HEADER_BYTES + RPMI_LOG_CAPACITY_MIN)
        return false;
    return entry->bytes > 0 && entry->offset >= RPMI_DIR_OFFSET &&
           rpmi_is_aligned(entry->offset, RPMI_LINE_BYTES) &&
           rpmi_in_bounds(entry->offset, entry->bytes, pool_bytes);
}

/* Index of the first invalid byte, RPM_NAME_MAX for a name that is too long, -1 for a valid
 * name. */
static int name_fault(const char *name)
{
    int i = 0;

    for (; i < RPM_NAME_MAX && name[i] != '\0'; i++) {
        char c = name[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '_' || c == '-' || c == '/';

        if (!good)
            return i;
    }
    return i == 0 || name[i] != '\0' ? i : -1;
}
