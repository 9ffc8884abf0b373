/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backing.c: find the devices on which a file's bytes are stored.
 *
 * A file system is known only if its fsync and msync write data and flush the caches of the devices
 * below: ext2, ext3, ext4, XFS, F2FS, Btrfs, unless it is mounted with nobarrier. A device on a bus
 * is a disk. Of virtual devices, the walk goes through loop, device mapper and md to the devices
 * below; zram, brd, null_blk and scsi_debug are memory; all others are unknown. Whether a disk's
 * cache survives power loss after a flush is taken from what the disk reports.
 *
 * Invariants
 *   a path that another mount namespace may have resolved counts only after a check that it leads
 *   to the same file here
 *   a file system or device that is not listed above is unknown, never a disk
 *
 * Tests: tests/unit/pmem/backing_test.cpp, tests/tools/media_test
 */
#include "pmem/backing.h"

#include "base/assert.h"
#include "base/limits.h"
#include "pmem/mounts.h"
#include "pmem/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

struct mount_walk {
    const char *devices;
    dev_t dev[RPMI_BACKING_MAX]; /* [0, examined) were examined, [examined, n) are to be */
    uint32_t examined;
    uint32_t n;
    bool memory; /* one of the devices is memory */
    char *why;   /* "": all file systems and devices met so far are known */
};

__attribute__((format(printf, 2, 3))) static void set_unknown(struct mount_walk *walk,
                                                              const char *format, ...)
{
    va_list args;

    if (walk->why[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(walk->why, sizeof(((struct rpmi_backing *)0)->why), format, args);
    va_end(args);
}

static void push(struct mount_walk *walk, dev_t dev)
{
    for (uint32_t i = 0; i < walk->n; i++)
        if (walk->dev[i] == dev)
            return;
    if (walk->n == RPMI_BACKING_MAX)
        set_unknown(walk, "it lies on more than %u devices", RPMI_BACKING_MAX);
    else
        walk->dev[walk->n++] = dev;
}

/* A number pair such as "259:3" in a file of sysfs. */
static void push_number(struct mount_walk *walk, const char *path)
{
    unsigned first;
    unsigned second;
    char line[32];

    if (rpmi_sysfs_line(path, line, sizeof(line)) > 0 &&
        sscanf(line, "%u:%u", &first, &second) == 2)
        push(walk, makedev(first, second));
    else
        set_unknown(walk, "%.100s cannot be read", path);
}

/* The "dev" of each entry of a directory of sysfs. */
static void push_each(struct mount_walk *walk, const char *path, const char *name)
{
    bool some = false;
    struct dirent *entry;
    DIR *dir = opendir(path);

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char file[RPMI_BACKING_PATH];

        if (entry->d_name[0] == '.')
            continue;
        some = true;
        (void)snprintf(file, sizeof(file), "%s/%s/dev", path, entry->d_name);
        push_number(walk, file); /* if the path was cut, there is no such file */
    }
    if (dir != NULL)
        (void)closedir(dir);
    if (!some)
        set_unknown(walk, "it lies on %.64s, and the devices below that cannot be found", name);
}

/* The devices of a Btrfs file system: it may have several, and st_dev is none of them. */
static void push_btrfs(struct mount_walk *walk, int fd)
{
    struct btrfs_ioctl_fs_info_args info = { 0 };
    char path[96];
    int at;

    if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
        set_unknown(walk, "it lies on Btrfs, and the kernel does not report its devices");
        return;
    }
    at = snprintf(path, sizeof(path), "/sys/fs/btrfs/");
    for (int i = 0; i < BTRFS_FSID_SIZE; i++)
        at += snprintf(path + at, sizeof(path) - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
    (void)snprintf(path + at, sizeof(path) - (size_t)at, "/devices");
    push_each(walk, path, "Btrfs");
}

static void examine_disk_fs(struct mount_walk *walk, int fd, const struct statfs *fs)
{
    struct rpmi_mount mount;
    struct stat st;

    if (rpmi_mount_of(fd, &mount) != 0 || fstat(fd, &st) != 0)
        set_unknown(walk, "its mount options cannot be read from /proc/self/mountinfo");
    else if (rpmi_mount_has(&mount, "nobarrier") || rpmi_mount_has(&mount, "barrier=0"))
        set_unknown(
            walk,
            "it lies on %.16s mounted with nobarrier, so msync does not flush the disk's cache",
            mount.type);
    else if (fs->f_type == BTRFS_SUPER_MAGIC)
        push_btrfs(walk, fd);
    else
        push(walk, st.st_dev);
}

static void examine_fs(struct mount_walk *walk, int fd, const struct statfs *fs)
{
    struct rpmi_mount mount;

    switch ((unsigned long)fs->f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
        walk->memory = true;
        return;
    case EXT4_SUPER_MAGIC: /* also the number of ext2 and ext3 */
    case XFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
        examine_disk_fs(walk, fd, fs);
        return;
    default:
        if (rpmi_mount_of(fd, &mount) == 0)
            set_unknown(walk,
                        "it lies on %.32s, and this library does not know what its msync does",
                        mount.type);
        else
            set_unknown(walk,
                        "it lies on a file system of type %#lx, which this library does not know",
                        (unsigned long)fs->f_type);
    }
}

/* An overlay writes to its upper layer, which is not an overlay itself. */
static void examine_file(struct mount_walk *walk, int fd)
{
    struct statfs fs = { 0 };
    int upper;

    if (fstatfs(fd, &fs) != 0 || (unsigned long)fs.f_type != OVERLAYFS_SUPER_MAGIC) {
        examine_fs(walk, fd, &fs);
        return;
    }
    upper = rpmi_mount_open_upper(fd);
    if (upper >= 0 && fstatfs(upper, &fs) == 0)
        examine_fs(walk, upper, &fs);
    else
        set_unknown(walk, "it lies on an overlay whose upper layer cannot be seen from here");
    if (upper >= 0)
        (void)close(upper);
}

/* A device number in the 64-bit encoding in which the loop driver reports it. */
static uint64_t kernel_number(dev_t dev)
{
    uint64_t low = minor(dev);

    return (low & 0xff) | (uint64_t)major(dev) << 8 | (low & ~(uint64_t)0xff) << 12;
}

/* The file behind a loop device: sysfs has its path, the driver its device and inode number. */
static void examine_loop(struct mount_walk *walk, const char *dir, const char *name)
{
    char path[RPMI_BACKING_PATH];
    char target[RPMI_BACKING_PATH];
    struct loop_info64 info;
    struct stat st;
    int file = -1;
    int device;
    bool known;

    (void)snprintf(path, sizeof(path), "/dev/%s", name);
    device = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    known = device >= 0 && ioctl(device, LOOP_GET_STATUS64, &info) == 0;
    if (device >= 0)
        (void)close(device);
    if (snprintf(path, sizeof(path), "%s/loop/backing_file", dir) < (int)sizeof(path) &&
        rpmi_sysfs_line(path, target, sizeof(target)) > 0)
        file = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (known && file >= 0 && fstat(file, &st) == 0 && st.st_ino == info.lo_inode &&
        kernel_number(st.st_dev) == info.lo_device)
        examine_file(walk, file);
    else
        set_unknown(walk, "it lies on %.16s, and this process cannot open the file behind it",
                    name);
    if (file >= 0)
        (void)close(file);
}

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Examine a whole disk. @dir: its directory below /sys/devices. */
static void examine_disk(struct mount_walk *walk, const char *dir)
{
    const char *name = strrchr(dir, '/') + 1;
    char slaves[RPMI_BACKING_PATH];
    bool memory = starts_with(name, "zram") || starts_with(name, "ram") ||
                  starts_with(name, "nullb") || strstr(dir, "/pseudo_") != NULL;

    if (memory)
        walk->memory = true;
    else if (strstr(dir, "/virtual/") == NULL || strstr(dir, "/virtual/nvme-") != NULL)
        return; /* a disk: on a bus, or an NVMe disk with several paths */
    else if (starts_with(name, "loop"))
        examine_loop(walk, dir, name);
    else if ((starts_with(name, "dm-") || starts_with(name, "md")) &&
             snprintf(slaves, sizeof(slaves), "%s/slaves", dir) < (int)sizeof(slaves))
        push_each(walk, slaves, name);
    else
        set_unknown(walk,
                    "it lies on device %.32s, and this library does not know what is below that",
                    name);
}

static void examine_device(struct mount_walk *walk, dev_t dev)
{
    char path[RPMI_BACKING_PATH];
    char part[RPMI_BACKING_PATH];
    char *dir;

    (void)snprintf(path, sizeof(path), "%s/%u:%u", walk->devices, major(dev), minor(dev));
    dir = realpath(path, NULL);
    if (dir == NULL) {
        set_unknown(walk, "it lies on device %u:%u, which is not in sysfs", major(dev), minor(dev));
        return;
    }
    if (snprintf(part, sizeof(part), "%s/partition", dir) < (int)sizeof(part) &&
        access(part, F_OK) == 0)
        *strrchr(dir, '/') = '\0';
    examine_disk(walk, dir);
    free(dir);
}

/* Examine all devices; those below a device are added at the end of the list. */
static void finish(struct mount_walk *walk, struct rpmi_backing *backing)
{
    while (walk->examined < walk->n)
        examine_device(walk, walk->dev[walk->examined++]);
    backing->medium = backing->why[0] != '\0' ? RPM_MEDIUM_UNKNOWN
                      : walk->memory          ? RPM_MEDIUM_TMPFS
                                              : RPM_MEDIUM_FILE;
    RPM_ASSERT(backing->medium != RPM_MEDIUM_FILE || walk->n > 0);
}

void rpmi_backing_of(int fd, struct rpmi_backing *backing)
{
    struct mount_walk walk = { .devices = "/sys/dev/block", .why = backing->why };

    backing->why[0] = '\0';
    examine_file(&walk, fd);
    finish(&walk, backing);
}

void rpmi_backing_of_device(const char *devices, dev_t dev, struct rpmi_backing *backing)
{
    struct mount_walk walk = { .devices = devices, .why = backing->why };

    backing->why[0] = '\0';
    push(&walk, dev);
    finish(&walk, backing);
}
