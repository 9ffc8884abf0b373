/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c: use a volume from a program, without a mount.
 *
 *   files URL...   of running rpm-servers; makes the volume "example" on them if there is none
 *
 * Writes a file with one call, another with 16 calls under way at once, and lists the directory.
 * Try:
 *
 *   rpm-server --pool /dev/shm/a --size 256M --dram 16M --listen shm:/tmp/a --domain adr &
 *   build/examples/files shm:/tmp/a
 */
#include <librpmfs.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 4096, BLOCKS = 16 };

static const struct rfs_cred ROOT = { 0, 0, NULL, 0 };

static void print_error(const char *call, int64_t error)
{
    const char *text = rfs_last_error();

    fprintf(stderr, "%s: %s\n", call, *text != '\0' ? text : strerror((int)-error));
}

static int write_greeting(struct rfs_client *client)
{
    const char text[] = "hello\n";
    struct rfs_file *file = NULL;
    int64_t result = rfs_open(client, &ROOT, "/greeting", O_WRONLY | O_CREAT, 0644, &file);

    if (result == 0) {
        result = rfs_pwrite(file, text, strlen(text), 0); /* returns: durable on all copies */
        rfs_close(&file);
    }
    if (result < 0)
        print_error("writing /greeting", result);
    return result < 0 ? -1 : 0;
}

/* Keeps up to BLOCKS writes under way. Each block is the library's until its call has completed. */
static int write_blocks(struct rfs_client *client, struct rfs_file *file)
{
    static char block[BLOCKS][BLOCK];
    struct rfs_completion done[BLOCKS];
    int under_way = 0;
    int failed = 0;

    for (int i = 0; i < BLOCKS; i++) {
        memset(block[i], 'a' + i, BLOCK);
        if (rfs_pwrite_async(file, block[i], BLOCK, (uint64_t)i * BLOCK, block[i]) == 0)
            under_way++;
        else
            failed++;
    }
    while (under_way > 0) {
        int got = rfs_wait(client, done, BLOCKS, 1, UINT64_MAX); /* in an event loop: rfs_poll() */

        if (got < 0) {
            print_error("waiting for /blocks", got);
            return -1; /* rfs_unmount() lets the calls end that are under way */
        }
        for (int i = 0; i < got; i++)
            failed += done[i].result != BLOCK;
        under_way -= got;
    }
    if (failed > 0)
        fprintf(stderr, "writing /blocks: %d of %d writes failed\n", failed, BLOCKS);
    return failed > 0 ? -1 : 0;
}

static int write_many(struct rfs_client *client)
{
    struct rfs_file *file = NULL;
    int error = rfs_open(client, &ROOT, "/blocks", O_WRONLY | O_CREAT, 0644, &file);

    if (error != 0) {
        print_error("opening /blocks", error);
        return -1;
    }
    error = write_blocks(client, file);
    rfs_close(&file);
    return error;
}

static int list_root(struct rfs_client *client)
{
    struct rfs_dirent entry;
    struct rfs_dir *directory = NULL;
    struct stat about;
    char path[sizeof(entry.name) + 1];
    int result = rfs_opendir(client, &ROOT, "/", &directory);

    while (result >= 0 && (result = rfs_readdir(directory, &entry)) == 1) {
        if (entry.name[0] == '.')
            continue; /* "." and ".." */
        snprintf(path, sizeof(path), "/%s", entry.name);
        result = rfs_stat(client, &ROOT, path, &about);
        if (result == 0)
            printf("%s %jd\n", path, (intmax_t)about.st_size);
    }
    rfs_closedir(&directory);
    if (result < 0)
        print_error("listing /", result);
    return result;
}

int main(int argc, char **argv)
{
    struct rfs_opts opts = rfs_opts_init();
    struct rfs_make_opts make = rfs_make_opts_init();
    struct rfs_client *client = NULL;
    int error;

    if (argc < 2) {
        fprintf(stderr, "usage: files URL...\n");
        return 2;
    }
    opts.name = "example";
    opts.urls = (const char *const *)argv + 1;
    opts.url_count = (uint32_t)argc - 1;
    make.bytes = opts.url_count * ((uint64_t)16 << 20);
    make.replicas = opts.url_count > 1 ? 2 : 1;
    error = rfs_make(&opts, &make);
    if (error == 0 || error == -EEXIST)
        error = rfs_mount(&opts, &client);
    if (error != 0) {
        print_error("opening the volume", error);
        return 1;
    }
    error = write_greeting(client) != 0 || write_many(client) != 0 || list_root(client) != 0;
    rfs_unmount(&client);
    return error;
}
