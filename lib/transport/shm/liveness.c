/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.c: the liveness page of a server. See liveness.h.
 *
 * Tests: tests/unit/transport/shm/liveness_test.cpp, tests/kill/
 */
#include "transport/shm/liveness.h"

#include "base/assert.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

static int mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;
    int err = pthread_mutexattr_init(&attr);

    if (err != 0)
        return err;
    err = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    if (err == 0)
        err = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    if (err == 0)
        err = pthread_mutex_init(mutex, &attr);
    (void)pthread_mutexattr_destroy(&attr);
    return err;
}

int rpmi_liveness_open(struct rpmi_liveness **liveness, int *fd)
{
    int page = memfd_create("librpm-liveness", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *ptr;

    if (page < 0 || ftruncate(page, RPMI_PAGE_BYTES) != 0)
        goto close_page;
    ptr = mmap(NULL, RPMI_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    if (ptr == MAP_FAILED)
        goto close_page;
    if (fcntl(page, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
        0)
        goto unmap_page;
    if (mutex_init(&((struct rpmi_liveness *)ptr)->holder) != 0)
        goto unmap_page;
    *liveness = ptr;
    *fd = page;
    return 0;

unmap_page:
    (void)munmap(ptr, RPMI_PAGE_BYTES);
close_page:
    if (page >= 0)
        (void)close(page);
    return rpmi_fail(RPM_E_NOMEM, "cannot make the server's liveness page: %s", strerror(errno));
}

void rpmi_liveness_close(struct rpmi_liveness *liveness, int fd)
{
    if (liveness != NULL) {
        (void)pthread_mutex_destroy(&liveness->holder);
        (void)munmap(liveness, RPMI_PAGE_BYTES);
    }
    if (fd >= 0)
        (void)close(fd);
}

void rpmi_liveness_begin(struct rpmi_liveness *liveness)
{
    int err = pthread_mutex_lock(&liveness->holder);

    if (err == EOWNERDEAD) /* an earlier control thread of this process ended without unlocking */
        err = pthread_mutex_consistent(&liveness->holder);
    RPM_ASSERT(err == 0);
    RPM_ASSERT(rpmi_liveness_alive(liveness));
}

void rpmi_liveness_end(struct rpmi_liveness *liveness)
{
    int err = pthread_mutex_unlock(&liveness->holder);

    RPM_ASSERT(err == 0);
    RPM_ASSERT(!rpmi_liveness_alive(liveness));
}

int rpmi_liveness_map(int fd, const struct rpmi_liveness **liveness)
{
    struct stat st;
    void *ptr;

    if (fstat(fd, &st) != 0 || st.st_size != RPMI_PAGE_BYTES)
        return rpmi_fail(RPM_E_PROTO, "the server's liveness page does not have %u bytes",
                         RPMI_PAGE_BYTES);
    ptr = mmap(NULL, RPMI_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (ptr == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "cannot map the server's liveness page: %s", strerror(errno));
    *liveness = ptr;
    return 0;
}

void rpmi_liveness_unmap(const struct rpmi_liveness *liveness)
{
    if (liveness != NULL)
        (void)munmap((void *)(uintptr_t)liveness, RPMI_PAGE_BYTES);
}
