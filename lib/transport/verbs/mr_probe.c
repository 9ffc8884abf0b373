/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mr_probe.c: can a device access this memory? The probe registers a piece of it in each way that a
 * server would register a pool, and deregisters it. It never changes contents.
 *
 * Tests: tests/unit/transport/verbs/mr_probe_test.cpp, tests/live/devices_test
 */
#include "transport/verbs/device.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "pmem/probe.h"
#include "pmem/sysfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PIECE_BYTES (2u << 20)
#define CAP_IPC_LOCK_BIT 14

static int open_failed(const char *path, int why)
{
    switch (why) {
    case ENOENT:
    case ENOTDIR:
        return rpmi_fail(RPM_E_NOENT, "there is no %s", path);
    case EACCES:
    case EPERM:
    case EROFS:
        return rpmi_fail(RPM_E_DENIED, "cannot open %s for writing, as a server would: %s", path,
                         strerror(why));
    case EOPNOTSUPP:
        return rpmi_fail(RPM_E_NOCAP, "%s has no unnamed files: name a file in it", path);
    default:
        return rpmi_fail(RPM_E_IO, "cannot open %s: %s", path, strerror(why));
    }
}

/* Open a file or device; in a directory make a file that has no name and is gone when closed. */
static int open_memory(const char *path, int *fd)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

    *fd = open(path, flags);
    if (*fd >= 0)
        return 0;
    if (errno != EISDIR)
        return open_failed(path, errno);
    *fd = open(path, O_RDWR | O_CLOEXEC | O_TMPFILE, 0600);
    if (*fd < 0)
        return open_failed(path, errno);
    if (ftruncate(*fd, PIECE_BYTES) == 0)
        return 0;
    (void)close(*fd);
    return rpmi_fail(RPM_E_IO, "no room for a file of %u bytes in %s: %s", PIECE_BYTES, path,
                     strerror(errno));
}

/* A number in sysfs about a character device; 0: there is none. */
static uint64_t device_number(const struct stat *st, const char *what)
{
    char path[96];
    char line[32];

    (void)snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(st->st_rdev),
                   minor(st->st_rdev), what);
    return rpmi_sysfs_line(path, line, sizeof(line)) > 0 ? strtoull(line, NULL, 0) : 0;
}

/* Find the length of the memory, and the unit in which it can be mapped. */
static int measure(int fd, const char *path, struct rpmi_mr_probe *probe, uint64_t *unit)
{
    struct rpmi_backing backing;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return rpmi_fail(RPM_E_IO, "cannot read the attributes of %s: %s", path, strerror(errno));
    probe->medium = rpmi_probe_medium(fd, &backing);
    probe->whole = (uint64_t)st.st_size;
    *unit = RPMI_PAGE_BYTES;
    if (probe->medium == RPM_MEDIUM_DEVDAX) {
        probe->whole = device_number(&st, "size");
        *unit = device_number(&st, "align");
    } else if (probe->medium == RPM_MEDIUM_HUGE) {
        *unit = (uint64_t)st.st_blksize;
    } else if (!S_ISREG(st.st_mode)) {
        return rpmi_fail(RPM_E_INVAL, "%s is neither a file nor persistent memory", path);
    }
    if (*unit < RPMI_PAGE_BYTES)
        *unit = RPMI_PAGE_BYTES;
    if (probe->whole == 0)
        return rpmi_fail(RPM_E_INVAL, "%s is empty: name its directory instead", path);
    return 0;
}

static int map_path(int fd, const char *path, struct rpmi_mr_probe *probe)
{
    uint64_t unit = RPMI_PAGE_BYTES;
    int err = measure(fd, path, probe, &unit);

    if (err != 0)
        return err;
    probe->bytes = probe->whole < PIECE_BYTES ? probe->whole : PIECE_BYTES;
    probe->bytes = rpmi_align_up(probe->bytes, unit);
    probe->base = mmap(NULL, (size_t)probe->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (probe->base != MAP_FAILED)
        return 0;
    probe->base = NULL;
    return rpmi_fail(RPM_E_IO, "cannot map %s: %s", path, strerror(errno));
}

int rpmi_mr_probe_open(const char *path, struct rpmi_mr_probe *probe)
{
    int err;
    int fd;

    *probe = (struct rpmi_mr_probe){ .bytes = PIECE_BYTES, .medium = RPM_MEDIUM_DRAM };
    if (path == NULL) {
        probe->whole = probe->bytes;
        probe->base =
            mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (probe->base != MAP_FAILED)
            return 0;
        probe->base = NULL;
        return rpmi_fail(RPM_E_NOMEM, "no memory of %u bytes to register", PIECE_BYTES);
    }
    err = open_memory(path, &fd);
    if (err != 0)
        return err;
    err = map_path(fd, path, probe);
    (void)close(fd);
    return err;
}

void rpmi_mr_probe_close(struct rpmi_mr_probe *probe)
{
    if (probe->base != NULL)
        (void)munmap(probe->base, (size_t)probe->bytes);
    probe->base = NULL;
}

/* May this process lock memory without limit? */
static bool locks_freely(void)
{
    static const char key[] = "CapEff:";
    char line[256];
    bool freely = false;
    FILE *file = fopen("/proc/self/status", "re");

    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            freely = (strtoull(line + sizeof(key) - 1, NULL, 16) >> CAP_IPC_LOCK_BIT & 1) != 0;
    (void)fclose(file);
    return freely;
}

/* Check the whole memory against the limits; only a piece of it was registered. */
static void judge_whole(const struct rpmi_nic *nic, const struct rpmi_mr_probe *probe,
                        enum rpm_device_capability capability, struct rpm_device *device)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (probe->whole > nic->region_max)
        rpmi_device_no(device, capability,
                       "the device registers %llu bytes at once, and this has %llu: divide it, or "
                       "serve a smaller pool",
                       (unsigned long long)nic->region_max, (unsigned long long)probe->whole);
    else if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < probe->whole && !locks_freely())
        rpmi_device_no(device, capability,
                       "a piece can be pinned, but not all %llu bytes: the limit of locked memory "
                       "is %llu; raise it with ulimit -l or LimitMEMLOCK=",
                       (unsigned long long)probe->whole, (unsigned long long)limit.rlim_cur);
    else
        rpmi_device_yes(device, capability);
}

static const char *advice(enum rpm_medium medium, enum rpm_device_capability capability)
{
    if (capability == RPM_DEVICE_MEMORY_WRITE && medium == RPM_MEDIUM_FILE)
        return "; its file system has to know what is written: clients send their bytes to the "
               "server's CPU instead";
    if (capability == RPM_DEVICE_MEMORY_FLUSH && medium != RPM_MEDIUM_DEVDAX &&
        medium != RPM_MEDIUM_FSDAX)
        return "; it is no persistent memory: take devdax";
    return "";
}

static bool try_access(const struct rpmi_nic *nic, struct ibv_pd *pd,
                       const struct rpmi_mr_probe *probe, uint32_t access)
{
    struct ibv_mr *mr = NULL;
    int err = rpmi_nic_register(nic, pd, probe->base, probe->bytes, access, &mr);

    if (err == 0 && ibv_dereg_mr(mr) != 0)
        err = rpmi_fail(RPM_E_IO, "the NIC cannot deregister a memory region: %s", strerror(errno));
    return err == 0;
}

static void try_ask(const struct rpmi_nic *nic, struct ibv_pd *pd,
                    const struct rpmi_mr_probe *probe, enum rpm_device_capability capability,
                    struct rpm_device *device)
{
    static const uint32_t access[RPM_DEVICE_CAPABILITIES] = {
        [RPM_DEVICE_MEMORY_READ] = RPMI_NIC_READ,
        [RPM_DEVICE_MEMORY_WRITE] = RPMI_NIC_WRITE,
        [RPM_DEVICE_MEMORY_FLUSH] = RPMI_NIC_READ | RPMI_NIC_FLUSH,
    };

    if (try_access(nic, pd, probe, access[capability]))
        judge_whole(nic, probe, capability, device);
    else
        rpmi_device_no(device, capability, "%s%s", rpm_last_error(),
                       advice(probe->medium, capability));
}

/* Some devices that page on demand accept FLUSH for memory that is not persistent. */
static void try_flush(const struct rpmi_nic *nic, struct ibv_pd *pd,
                      const struct rpmi_mr_probe *probe, struct rpm_device *device)
{
    struct rpm_device_answer *answer = &device->can[RPM_DEVICE_MEMORY_FLUSH];

    if (!nic->flush) {
        rpmi_device_no(device, RPM_DEVICE_MEMORY_FLUSH, "%s", device->can[RPM_DEVICE_FLUSH].why);
        return;
    }
    try_ask(nic, pd, probe, RPM_DEVICE_MEMORY_FLUSH, device);
    if (answer->answer == RPM_YES && probe->medium != RPM_MEDIUM_DEVDAX &&
        probe->medium != RPM_MEDIUM_FSDAX)
        rpmi_device_no(device, RPM_DEVICE_MEMORY_FLUSH,
                       "the device takes FLUSH for it, but it is no persistent memory: take "
                       "devdax");
}

static void try_on_demand(const struct rpmi_nic *nic, struct ibv_pd *pd,
                          const struct rpmi_mr_probe *probe, struct rpm_device *device)
{
    struct ibv_mr *mr;

    if (!nic->on_demand) {
        rpmi_device_no(device, RPM_DEVICE_MEMORY_ON_DEMAND, "%s",
                       device->can[RPM_DEVICE_ON_DEMAND].why);
        return;
    }
    mr = ibv_reg_mr(pd, probe->base, probe->bytes, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
    if (mr == NULL)
        rpmi_device_no(device, RPM_DEVICE_MEMORY_ON_DEMAND,
                       "the device pages on demand, but not this memory: %s", strerror(errno));
    else if (ibv_dereg_mr(mr) == 0)
        rpmi_device_yes(device, RPM_DEVICE_MEMORY_ON_DEMAND);
}

void rpmi_mr_probe_run(const struct rpmi_nic *nic, struct ibv_pd *pd,
                       const struct rpmi_mr_probe *probe, struct rpm_device *device)
{
    device->medium = probe->medium;
    device->memory_bytes = probe->whole;
    try_ask(nic, pd, probe, RPM_DEVICE_MEMORY_READ, device);
    try_ask(nic, pd, probe, RPM_DEVICE_MEMORY_WRITE, device);
    try_flush(nic, pd, probe, device);
    try_on_demand(nic, pd, probe, device);
}
