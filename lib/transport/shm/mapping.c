/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapping.c: a list of what this process has mapped, with the number of its users.
 *
 * Invariant: a mapping is in the list while it has a user; two in the list are of two files, or of
 * two lengths, if mappings are shared.
 *
 * Tests: tests/unit/transport/shm/mapping_test.cpp
 */
#include "transport/shm/mapping.h"

#include "base/assert.h"
#include "base/err.h"
#include <librpm/facts.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CHUNK_BYTES (256u << 10) /* that are populated at once */

struct rpmi_mapping {
    struct rpmi_mapping *next;
    dev_t device; /* with the inode: which file it is, as long as the file is mapped */
    ino_t inode;
    uint64_t bytes;
    unsigned char *base;
    unsigned char *populated; /* for each chunk: 1: a connection populates it, or has */
    uint32_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the list and all users */
static struct rpmi_mapping *mappings;

static void lock_list(void)
{
    int err = pthread_mutex_lock(&lock);

    RPM_ASSERT(err == 0);
}

static void unlock_list(void)
{
    int err = pthread_mutex_unlock(&lock);

    RPM_ASSERT(err == 0);
}

static struct rpmi_mapping *find(const struct stat *file, uint64_t bytes)
{
    struct rpmi_mapping *each = RPMI_SHARES_MAPPINGS ? mappings : NULL;

    while (each != NULL &&
           (each->device != file->st_dev || each->inode != file->st_ino || each->bytes != bytes))
        each = each->next;
    return each;
}

static void drop(struct rpmi_mapping *mapping)
{
    if (mapping->base != MAP_FAILED)
        (void)munmap(mapping->base, mapping->bytes);
    free(mapping->populated);
    free(mapping);
}

static int map(int fd, const struct stat *file, uint64_t bytes, uint32_t medium,
               struct rpmi_mapping **mapping)
{
    int flags = medium == RPM_MEDIUM_FSDAX ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
    struct rpmi_mapping *fresh = calloc(1, sizeof(*fresh));

    if (fresh == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no memory to map the server's memory");
    *fresh = (struct rpmi_mapping){
        .next = mappings,
        .device = file->st_dev,
        .inode = file->st_ino,
        .bytes = bytes,
        .base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0),
        .populated = calloc(bytes / CHUNK_BYTES + 1, 1),
    };
    if (fresh->base == MAP_FAILED || fresh->populated == NULL) {
        int err = rpmi_fail(errno == EOPNOTSUPP ? RPM_E_NOCAP : RPM_E_NOMEM,
                            "cannot map the server's memory: %s", strerror(errno));

        drop(fresh);
        return err;
    }
    mappings = fresh;
    *mapping = fresh;
    return 0;
}

int rpmi_mapping_get(int fd, uint64_t bytes, uint32_t medium, struct rpmi_mapping **mapping)
{
    struct stat file = { 0 };
    int err = 0;

    if (bytes == 0 || fstat(fd, &file) != 0 ||
        (S_ISREG(file.st_mode) && (file.st_size < 0 || (uint64_t)file.st_size < bytes)))
        return rpmi_fail(RPM_E_PROTO,
                         "the server lends a file of %llu bytes, expected are at least %llu",
                         (unsigned long long)file.st_size, (unsigned long long)bytes);
    lock_list();
    *mapping = find(&file, bytes);
    if (*mapping == NULL)
        err = map(fd, &file, bytes, medium, mapping);
    if (err == 0)
        (*mapping)->users++;
    unlock_list();
    return err;
}

void rpmi_mapping_populate(struct rpmi_mapping *mapping, uint64_t at, uint64_t bytes)
{
#ifdef MADV_POPULATE_READ
    for (uint64_t chunk = at / CHUNK_BYTES; chunk * CHUNK_BYTES < at + bytes; chunk++) {
        uint64_t first = chunk * CHUNK_BYTES;
        uint64_t left = mapping->bytes - first;

        if (__atomic_exchange_n(&mapping->populated[chunk], 1, __ATOMIC_RELAXED) == 0)
            (void)madvise(mapping->base + first, left < CHUNK_BYTES ? left : CHUNK_BYTES,
                          MADV_POPULATE_READ);
    }
#endif
}

void rpmi_mapping_put(struct rpmi_mapping *mapping)
{
    if (mapping == NULL)
        return;
    lock_list();
    RPM_ASSERT(mapping->users > 0);
    if (--mapping->users == 0) {
        struct rpmi_mapping **at = &mappings;

        while (*at != mapping)
            at = &(*at)->next;
        *at = mapping->next;
        drop(mapping);
    }
    unlock_list();
}

unsigned char *rpmi_mapping_base(const struct rpmi_mapping *mapping)
{
    return mapping->base;
}
