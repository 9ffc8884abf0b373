/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a volume on a server, writes a file and reads it. */
#include <librpmfs.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct rfs_opts opts = rfs_opts_init();
    struct rfs_make_opts make = rfs_make_opts_init();
    const struct rfs_cred root = { 0, 0, NULL, 0 };
    const char *urls[] = { argc > 1 ? argv[1] : "" };
    struct rfs_client *client = NULL;
    struct rfs_file *file = NULL;
    char text[16] = "";

    opts.name = "files";
    opts.urls = urls;
    opts.url_count = 1;
    make.bytes = 2 << 20;
    if (rfs_make(&opts, &make) != 0 || rfs_mount(&opts, &client) != 0 ||
        rfs_open(client, &root, "/f", O_RDWR | O_CREAT, 0644, &file) != 0 ||
        rfs_pwrite(file, "hello", 5, 0) != 5 || rfs_pread(file, text, sizeof(text), 0) != 5) {
        fprintf(stderr, "%s\n", rfs_last_error());
        return 1;
    }
    rfs_close(&file);
    rfs_unmount(&client);
    printf("read %s\n", text);
    return 0;
}
