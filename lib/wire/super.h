/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * super.h: superblock and directory entries of a pool.
 *
 * Invariants
 *   formatting writes the superblock last, and its magic word last of all; it is never written
 *     again
 *   an entry is in use if its state word says so; the word is stored last, 8 bytes at once
 *   a second state word, on another line, says "in use" only while the first does; so an entry
 *     whose first line has old bytes is not taken for a free one
 *
 * Format: FORMAT.md, sections 2 and 3.   Tests: tests/unit/wire/super_test.cpp
 */
#ifndef RPMI_SUPER_H
#define RPMI_SUPER_H

#include <librpm/objects.h>
#include <stdbool.h>
#include <stdint.h>

#define RPMI_SUPER_BYTES 2048u
#define RPMI_DIR_OFFSET 4096u  /* of the directory; its lowest offset */
#define RPMI_FORMAT_VERSION 4u /* 3: no start counter, log heads of one line */
#define RPMI_DIRENT_BYTES 256u
#define RPMI_DIRENT_STATE_2 240u /* offset of the second state word */
#define RPMI_DIRENT_SUM 248u     /* offset of the checksum, on the second state word's line */

struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_super_layout;
extern const struct rpmi_layout rpmi_dirent_layout;

struct rpmi_super {
    uint32_t version;
    uint64_t pool_id; /* random */
    uint64_t pool_bytes;
    uint64_t dir_offset;
    uint64_t data_offset; /* objects from here on */
    uint32_t entries;     /* of the directory: objects that the pool has room for */
};

/* How many objects a pool of @pool_bytes has room for. */
uint32_t rpmi_super_entries(uint64_t pool_bytes);

/* Write RPMI_SUPER_BYTES with the magic word left 0. Returns the magic word that makes the
 * superblock valid, to be stored at offset 0 once the rest is durable. */
uint64_t rpmi_super_put(void *block, const struct rpmi_super *super);

/*
 * Read and check; @pool_bytes is the size of the medium. RPM_E_FOREIGN (no pool), RPM_E_VERSION,
 * RPM_E_CORRUPT (checksum, bounds), RPM_E_NOENT (all zeros: never formatted).
 */
int rpmi_super_get(const void *block, uint64_t pool_bytes, struct rpmi_super *super);

struct rpmi_dirent {
    char name[RPM_NAME_MAX + 1];
    uint32_t kind;   /* enum rpm_kind */
    uint64_t offset; /* bytes from the start of the pool; of a log: its header */
    uint64_t bytes;  /* of the whole object, log header included */
    uint64_t id;     /* of a log: its log_id */
};

enum rpmi_dirent_use {
    RPMI_DIRENT_USED = 1,
    RPMI_DIRENT_HALF = 2 /* in use, but its second state word says "free": it must be stored
                            again */
};

/* Write the body of an entry, RPMI_DIRENT_BYTES with the state words of a free one. */
void rpmi_dirent_put(void *slot, const struct rpmi_dirent *entry);

/* Write an entry that was never in use. */
void rpmi_dirent_put_free(void *slot);
/* Does @slot hold zeros, or an entry that was never in use, whole or in part? */
bool rpmi_dirent_is_new(const void *slot);

/* The state words of a free entry and of one in use: a create stores the word at offset 0 and then
 * at RPMI_DIRENT_STATE_2, a remove in the opposite order. */
uint64_t rpmi_dirent_free(void);
uint64_t rpmi_dirent_used(void);

/* enum rpmi_dirent_use if the entry is in use, 0 if it is free. RPM_E_CORRUPT: no power cut leaves
 * such state words, or the entry is in use and its body fails its checksum or bounds. */
int rpmi_dirent_get(const void *slot, uint64_t pool_bytes, struct rpmi_dirent *entry);

/* 0, or RPM_E_NAME: empty, too long, or with a byte other than letters, digits and "._-/". */
int rpmi_name_check(const char *name);

#endif
