/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.c: parse mountinfo, and find the file in the upper layer of an overlay.
 *
 * The paths in an overlay's options are those of the process that mounted it. In this process they
 * may name no file or another file. So the file found counts as that of the upper layer only if its
 * owner, mode, size and three times (birth, change, modification) are those of the overlay's file.
 *
 * Tests: tests/unit/pmem/mounts_test.cpp, tests/tools/media_test
 */
#include "pmem/mounts.h"

#include "base/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The mount's number, which the kernel reports for each descriptor. */
static int number_of(int fd)
{
    char path[48];
    char line[128];
    int number = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (number < 0 && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "mnt_id: %d", &number) != 1)
            number = -1;
    (void)fclose(file);
    return number;
}

/* Copy the next word to @to, with "\040" and the like decoded. Returns the rest of the line; NULL:
 * the word does not fit. */
static const char *word(const char *from, char *to, size_t room)
{
    size_t n = 0;

    while (from != NULL && *from == ' ')
        from++;
    if (from == NULL)
        return NULL;
    while (*from != '\0' && *from != ' ' && *from != '\n') {
        unsigned code;
        char c = *from++;

        if (c == '\\' && sscanf(from, "%3o", &code) == 1 && code < 256) {
            c = (char)code;
            from += 3;
        }
        if (n + 1 == room)
            return NULL;
        to[n++] = c;
    }
    to[n] = '\0';
    return from;
}

int rpmi_mount_parse(const char *line, struct rpmi_mount *mount)
{
    const char *rest = strstr(line, " - ");
    char skipped[512];

    if (rest == NULL)
        return -1;
    for (int i = 0; i < 3; i++) /* number, parent, device */
        line = word(line, skipped, sizeof(skipped));
    line = word(line, mount->root, sizeof(mount->root));
    line = word(line, mount->point, sizeof(mount->point));
    rest = word(rest + 3, mount->type, sizeof(mount->type));
    rest = word(rest, skipped, sizeof(skipped)); /* what is mounted */
    rest = word(rest, mount->options, sizeof(mount->options));
    if (line == NULL || rest == NULL)
        return -1;
    return mount->type[0] != '\0' && mount->point[0] == '/' && mount->root[0] == '/' ? 0 : -1;
}

int rpmi_mount_of(int fd, struct rpmi_mount *mount)
{
    int number = number_of(fd);
    FILE *file = number < 0 ? NULL : fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    int err = -1;

    if (file == NULL)
        return -1;
    while (err != 0 && getline(&line, &room, file) > 0)
        if (strtol(line, NULL, 10) == number)
            err = rpmi_mount_parse(line, mount);
    free(line);
    (void)fclose(file);
    return err;
}

bool rpmi_mount_has(const struct rpmi_mount *mount, const char *option)
{
    size_t len = strlen(option);

    for (const char *at = mount->options; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, option, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* Value of an option that is not the last one. NULL: there is none. */
static char *value_of(const struct rpmi_mount *mount, const char *name)
{
    const char *at = strstr(mount->options, name);
    const char *end;

    if (at == NULL || (at != mount->options && at[-1] != ','))
        return NULL;
    at += strlen(name);
    end = strchr(at, ',');
    return end == NULL ? NULL : strndup(at, (size_t)(end - at));
}

static bool same_time(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(int a, int b)
{
    const unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    struct statx x;
    struct statx y;

    return statx(a, "", AT_EMPTY_PATH, wanted, &x) == 0 &&
           statx(b, "", AT_EMPTY_PATH, wanted, &y) == 0 &&
           (x.stx_mask & y.stx_mask & wanted) == wanted && x.stx_mode == y.stx_mode &&
           x.stx_uid == y.stx_uid && x.stx_gid == y.stx_gid && x.stx_size == y.stx_size &&
           same_time(&x.stx_btime, &y.stx_btime) && same_time(&x.stx_ctime, &y.stx_ctime) &&
           same_time(&x.stx_mtime, &y.stx_mtime);
}

/* The path that the file should have in the upper layer; NULL: unknown. */
static char *upper_path(int fd)
{
    struct rpmi_mount mount;
    char self[48];
    char seen[RPMI_BACKING_PATH];
    char *upper = NULL;
    char *path = NULL;
    size_t skip;
    ssize_t len;

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    len = readlink(self, seen, sizeof(seen) - 1);
    if (len <= 0 || rpmi_mount_of(fd, &mount) != 0)
        return NULL;
    seen[len] = '\0';
    skip = strcmp(mount.point, "/") == 0 ? 0 : strlen(mount.point);
    if (strncmp(seen, mount.point, skip) == 0)
        upper = value_of(&mount, "upperdir=");
    if (upper != NULL && asprintf(&path, "%s%s%s", upper, mount.root, seen + skip) < 0)
        path = NULL;
    free(upper);
    return path;
}

int rpmi_mount_open_upper(int fd)
{
    char *path = upper_path(fd);
    int upper = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    free(path);
    if (upper >= 0 && !same_file(fd, upper)) {
        (void)close(upper);
        return -1;
    }
    return upper;
}
