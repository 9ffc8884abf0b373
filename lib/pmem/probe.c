/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.c: facts of a path and of this machine. A fact that cannot be read stays unknown: the probe
 * guesses nothing and writes nothing.
 *
 * Tests: tests/unit/pmem/probe_test.cpp
 */
#include "pmem/probe.h"

#include "base/diag.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/opts.h"
#include "pmem/cpu_copy.h"
#include "pmem/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_dax_device(const struct stat *st)
{
    char path[96];
    char target[256];
    ssize_t len;

    (void)snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/subsystem", major(st->st_rdev),
                   minor(st->st_rdev));
    len = readlink(path, target, sizeof(target) - 1);
    if (len < 0)
        return false;
    target[len] = '\0';
    return strstr(target, "/dax") != NULL;
}

/* Only a file on persistent memory can be mapped with MAP_SYNC. A user-mode emulator may accept the
 * flag and ignore it, so this also checks statx()'s DAX attribute where the kernel reports it. */
static bool maps_with_sync(int fd)
{
    struct statx st;
    void *ptr;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
        (st.stx_attributes_mask & STATX_ATTR_DAX) != 0 && (st.stx_attributes & STATX_ATTR_DAX) == 0)
        return false;
    ptr = mmap(NULL, RPMI_PAGE_BYTES, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);

    if (ptr == MAP_FAILED)
        return false;
    (void)munmap(ptr, RPMI_PAGE_BYTES);
    return true;
}

enum rpm_medium rpmi_probe_medium(int fd, struct rpmi_backing *backing)
{
    struct stat st;
    struct statfs fs;

    *backing = (struct rpmi_backing){ .medium = RPM_MEDIUM_UNKNOWN };
    if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
        return RPM_MEDIUM_UNKNOWN;
    if (S_ISCHR(st.st_mode))
        return is_dax_device(&st) ? RPM_MEDIUM_DEVDAX : RPM_MEDIUM_UNKNOWN;
    if (fs.f_type == HUGETLBFS_MAGIC)
        return RPM_MEDIUM_HUGE;
    rpmi_backing_of(fd, backing);
    return backing->medium == RPM_MEDIUM_FILE && S_ISREG(st.st_mode) && maps_with_sync(fd)
               ? RPM_MEDIUM_FSDAX
               : backing->medium;
}

uint32_t rpmi_probe_granularity(struct pmem2_map *map)
{
    switch (pmem2_map_get_store_granularity(map)) {
    case PMEM2_GRANULARITY_BYTE:
        return 1;
    case PMEM2_GRANULARITY_CACHE_LINE:
        return RPMI_LINE_BYTES;
    default:
        return RPMI_PAGE_BYTES;
    }
}

enum rpm_domain rpmi_probe_domain(enum rpm_medium medium, uint32_t granularity_bytes)
{
    switch (medium) {
    case RPM_MEDIUM_FSDAX:
    case RPM_MEDIUM_DEVDAX:
        return granularity_bytes == 1 ? RPM_DOMAIN_EADR : RPM_DOMAIN_ADR;
    case RPM_MEDIUM_FILE:
        return RPM_DOMAIN_MSYNC;
    default:
        return RPM_DOMAIN_NONE;
    }
}

enum rpm_domain rpmi_probe_bus_domain(void)
{
    static const char bus[] = "/sys/bus/nd/devices";
    enum rpm_domain worst = RPM_DOMAIN_NONE;
    struct dirent *entry;
    DIR *dir = opendir(bus);

    if (dir == NULL)
        return RPM_DOMAIN_NONE;
    while ((entry = readdir(dir)) != NULL) {
        char path[sizeof(bus) + sizeof(entry->d_name) + 24];
        char line[64];

        if (strncmp(entry->d_name, "region", 6) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s/persistence_domain", bus, entry->d_name);
        if (rpmi_sysfs_line(path, line, sizeof(line)) < 0)
            continue;
        if (strcmp(line, "memory_controller") == 0)
            worst = RPM_DOMAIN_ADR;
        else if (strcmp(line, "cpu_cache") == 0 && worst == RPM_DOMAIN_NONE)
            worst = RPM_DOMAIN_EADR;
    }
    (void)closedir(dir);
    return worst;
}

/* The first RDMA device's directory below /sys/class/infiniband. */
static bool first_rdma_device(char *path, size_t bytes)
{
    static const char class[] = "/sys/class/infiniband";
    struct dirent *entry;
    DIR *dir = opendir(class);
    bool found = false;

    if (dir == NULL)
        return false;
    while (!found && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, bytes, "%s/%s/device", class, entry->d_name);
        found = true;
    }
    (void)closedir(dir);
    return found;
}

int rpmi_probe_port_node(void)
{
    char device[320];
    char path[352];
    char line[32];

    if (!first_rdma_device(device, sizeof(device)))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/numa_node", device);
    if (rpmi_sysfs_line(path, line, sizeof(line)) <= 0)
        return -1;
    return (int)strtol(line, NULL, 10);
}

/* PERFCTRLSTS_0 of an Intel root port: bit 3 NoSnoopOpWrEn, bit 7 Use_Allocating_Flow_Wr. The
 * register exists up to Cascade Lake; source: aliireza/ddio-bench. */
static enum rpm_answer ddio_of_root_port(const char *config_path)
{
    const off_t register_offset = 0x180;
    unsigned char head[4];
    unsigned char word[4];
    enum rpm_answer answer = RPM_UNKNOWN;
    int fd = open(config_path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return RPM_UNKNOWN;
    if (pread(fd, head, sizeof(head), 0) == sizeof(head) && head[0] == 0x86 && head[1] == 0x80 &&
        pread(fd, word, sizeof(word), register_offset) == sizeof(word) &&
        memcmp(word, "\xff\xff\xff\xff", 4) != 0)
        answer = (word[0] & 0x80) != 0 ? RPM_YES : (word[0] & 0x08) != 0 ? RPM_NO : RPM_UNKNOWN;
    (void)close(fd);
    return answer;
}

enum rpm_answer rpmi_probe_ddio(void)
{
    char device[320];
    char path[512];
    char *resolved;
    char *cut;

    if (!first_rdma_device(device, sizeof(device)) || (resolved = realpath(device, NULL)) == NULL)
        return RPM_UNKNOWN;
    /* ".../pci0000:3a/0000:3a:00.0/0000:3b:00.0": the root port follows the host bridge. */
    cut = strstr(resolved, "/pci");
    cut = cut == NULL ? NULL : strchr(cut + 1, '/');
    cut = cut == NULL ? NULL : strchr(cut + 1, '/');
    if (cut != NULL)
        *cut = '\0';
    (void)snprintf(path, sizeof(path), "%s/config", resolved);
    free(resolved);
    return cut == NULL ? RPM_UNKNOWN : ddio_of_root_port(path);
}

/* Granularity needs a mapping; a directory or an empty file cannot be mapped. */
static void probe_mapping(int fd, struct rpm_facts *facts)
{
    struct pmem2_config *config = NULL;
    struct pmem2_source *source = NULL;
    struct pmem2_map *map = NULL;

    if (pmem2_source_from_fd(&source, fd) == 0 && pmem2_config_new(&config) == 0 &&
        pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE) == 0 &&
        pmem2_config_set_protection(config, PMEM2_PROT_READ) == 0 &&
        pmem2_map_new(&map, config, source) == 0) {
        facts->granularity_bytes = rpmi_probe_granularity(map);
        (void)pmem2_map_delete(&map);
    }
    if (config != NULL)
        (void)pmem2_config_delete(&config);
    if (source != NULL) {
        int node;

        if (pmem2_source_numa_node(source, &node) == 0)
            facts->memory_node = node;
        (void)pmem2_source_delete(&source);
    }
}

static int probe_path(const char *path, struct rpm_facts *facts)
{
    struct rpmi_backing backing;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return rpmi_fail(RPM_E_DENIED, "cannot open %s: %s", path, strerror(errno));
    if (fd < 0)
        return rpmi_fail(errno == ENOENT || errno == ENOTDIR ? RPM_E_NOENT : RPM_E_IO,
                         "cannot open %s: %s", path, strerror(errno));
    facts->medium = rpmi_probe_medium(fd, &backing);
    if (backing.why[0] != '\0')
        rpmi_diag(RPM_DIAG_WARNING, "whether %s survives power loss is not known: %s", path,
                  backing.why);
    if (fstat(fd, &st) == 0 && ((S_ISREG(st.st_mode) && st.st_size > 0) || S_ISCHR(st.st_mode)))
        probe_mapping(fd, facts);
    (void)close(fd);
    facts->domain = rpmi_probe_domain(facts->medium, facts->granularity_bytes);
    if (facts->medium == RPM_MEDIUM_FSDAX || facts->medium == RPM_MEDIUM_DEVDAX) {
        enum rpm_domain bus = rpmi_probe_bus_domain();

        facts->line_bytes = RPMI_XPLINE_BYTES;
        if (bus != RPM_DOMAIN_NONE)
            facts->domain = bus;
        if (facts->domain == RPM_DOMAIN_ADR && !rpmi_cpu.can_flush)
            facts->domain = RPM_DOMAIN_NONE; /* since a server would refuse it */
    }
    return 0;
}

int rpm_probe(const char *path, struct rpm_facts *facts)
{
    rpmi_begin();

    struct rpm_facts found = rpm_facts_init();
    int err = 0;

    if (facts == NULL || facts->size < sizeof(size_t))
        return rpmi_fail(RPM_E_INVAL,
                         "the facts' size field is not set; initialise them with rpm_facts_init()");
    found.line_bytes = RPMI_LINE_BYTES;
    if (path == NULL) {
        found.medium = RPM_MEDIUM_DRAM;
        found.granularity_bytes = RPMI_PAGE_BYTES;
    } else {
        err = probe_path(path, &found);
    }
    if (err != 0)
        return err;
    found.ddio = rpmi_probe_ddio();
    found.port_node = rpmi_probe_port_node();
    return rpmi_opts_out(facts, &found, sizeof(found));
}
