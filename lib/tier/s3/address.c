/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.c: where an object store is, and the keys to it: from the URL, from the environment
 * variables that other programs read as well, and from a file that only its owner may read.
 *
 * Invariant: an error text has neither a secret, nor a URL in which there may be one.
 *
 * Tests: tests/unit/tier/s3/address_test.cpp
 */
#include "tier/s3/s3.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME "s3://"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define WORD LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
#define LINE_CHARS (RPMI_S3_TOKEN_CHARS + 64u)

/* An environment variable; NULL: it is not set, or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Copy @value, which has the name @what in an error text and is not shown there. */
static int copy(char *to, size_t room, const char *value, const char *what)
{
    if (strlen(value) >= room)
        return rpmi_fail(RPM_E_INVAL, "%s has %zu characters; at most are %zu", what, strlen(value),
                         room - 1);
    for (const char *each = value; *each != '\0'; each++)
        if (*each <= ' ' || *each > '~')
            return rpmi_fail(RPM_E_INVAL, "%s has a character that is no printable ASCII", what);
    memcpy(to, value, strlen(value) + 1);
    return 0;
}

/* Parts between slashes that a proxy or a store would not leave as they are. */
static bool has_odd_part(const char *prefix)
{
    while (*prefix != '\0') {
        size_t len = strcspn(prefix, "/");

        if (len == 0 || (len == 1 && prefix[0] == '.') ||
            (len == 2 && strncmp(prefix, "..", 2) == 0))
            return true;
        prefix += len;
        prefix += *prefix == '/';
    }
    return false;
}

static int get_url(const char *url, struct rpmi_s3_address *at)
{
    const char *bucket = url + strlen(SCHEME);
    size_t len = strcspn(bucket, "/");
    const char *prefix = bucket + len + (bucket[len] == '/');
    size_t more = strlen(prefix);

    RPM_ASSERT(strncmp(url, SCHEME, strlen(SCHEME)) == 0);
    if (strchr(url, '@') != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "an s3: URL has no credentials: expected is s3://BUCKET/PREFIX; set "
                         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    if (len < 3 || len > RPMI_S3_BUCKET_CHARS || strspn(bucket, LOWER DIGITS ".-") < len ||
        bucket[0] == '.' || bucket[0] == '-')
        return rpmi_fail(RPM_E_INVAL,
                         "'%s' has no name of a bucket; expected is s3://BUCKET/PREFIX with a "
                         "bucket of 3 to 63 lower-case letters, digits, '-' and '.'",
                         url);
    if (more > 0 && prefix[more - 1] == '/')
        more--;
    if (more >= RPMI_S3_PREFIX_CHARS || strspn(prefix, WORD "-._~/") != strlen(prefix) ||
        has_odd_part(prefix))
        return rpmi_fail(RPM_E_INVAL,
                         "'%s': the prefix is '%s'; expected are at most %u letters, digits and "
                         "'-._~', in parts between single slashes",
                         url, prefix, RPMI_S3_PREFIX_CHARS - 1);
    memcpy(at->bucket, bucket, len);
    memcpy(at->prefix, prefix, more);
    if (more > 0)
        at->prefix[more] = '/';
    return 0;
}

static int get_endpoint(struct rpmi_s3_address *at)
{
    const char *endpoint = variable("AWS_ENDPOINT_URL");
    const char *region = variable("AWS_REGION");
    size_t len;
    int err;

    if (region == NULL)
        region = variable("AWS_DEFAULT_REGION");
    if (region == NULL && endpoint == NULL)
        return rpmi_fail(RPM_E_INVAL, "s3: neither AWS_REGION nor AWS_ENDPOINT_URL is set: set the "
                                      "region of AWS, or the http:// or https:// address of "
                                      "another object store");
    err = copy(at->region, sizeof(at->region), region != NULL ? region : "us-east-1", "AWS_REGION");
    if (err != 0)
        return err;
    if (strspn(at->region, WORD "-") != strlen(at->region)) /* it becomes a part of a host's name */
        return rpmi_fail(RPM_E_INVAL, "AWS_REGION is '%s'; expected is a name such as eu-central-1",
                         at->region);
    if (endpoint == NULL) {
        (void)snprintf(at->endpoint, sizeof(at->endpoint), "https://s3.%s.amazonaws.com",
                       at->region);
        return 0;
    }
    if ((strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0) ||
        strpbrk(endpoint, "@?#") != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "AWS_ENDPOINT_URL is no http:// or https:// address of a host "
                         "and a port, without credentials");
    err = copy(at->endpoint, sizeof(at->endpoint), endpoint, "AWS_ENDPOINT_URL");
    len = strlen(at->endpoint);
    if (err == 0 && at->endpoint[len - 1] == '/')
        at->endpoint[len - 1] = '\0';
    return err;
}

/* Set the credential that @line gives, as "name = value". */
static int get_setting(char *line, struct rpmi_s3_address *at)
{
    char *value = strchr(line, '=');
    size_t len;

    if (value == NULL)
        return 0;
    len = (size_t)(value - line);
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    line[len] = '\0';
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, " \t\r\n")] = '\0';
    if (strcmp(line, "aws_access_key_id") == 0)
        return copy(at->key_id, sizeof(at->key_id), value, line);
    if (strcmp(line, "aws_secret_access_key") == 0)
        return copy(at->secret, sizeof(at->secret), value, line);
    if (strcmp(line, "aws_session_token") == 0)
        return copy(at->token, sizeof(at->token), value, line);
    return 0;
}

/* Read the section [@profile] of a file of credentials. */
static int get_section(FILE *file, const char *path, const char *profile,
                       struct rpmi_s3_address *at)
{
    char line[LINE_CHARS];
    bool inside = false;
    bool found = false;
    int err = 0;

    _Static_assert(sizeof(line) > RPMI_S3_TOKEN_CHARS, "a token fits into a line");
    while (err == 0 && fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '[') {
            line[strcspn(line, "]\n")] = '\0';
            inside = strcmp(line + 1, profile) == 0;
            found = found || inside;
        } else if (inside && line[0] != '#' && line[0] != ';') {
            err = get_setting(line, at);
        }
    }
    explicit_bzero(line, sizeof(line));
    if (err == 0 && ferror(file) != 0)
        return rpmi_fail(RPM_E_IO, "cannot read %s", path);
    if (err == 0 && (!found || at->key_id[0] == '\0' || at->secret[0] == '\0'))
        return rpmi_fail(RPM_E_DENIED,
                         "%s has no aws_access_key_id and aws_secret_access_key in a section [%s]; "
                         "AWS_PROFILE names another one",
                         path, profile);
    return err;
}

/* Who can read the file can do all that its owner may. Root may own it: daemons share files so. */
static int judge_file(int fd, const char *path)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return rpmi_fail(RPM_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return rpmi_fail(RPM_E_DENIED, "%s is no regular file", path);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return rpmi_fail(RPM_E_DENIED, "%s belongs to user %u, who could change it; expected is %u",
                         path, (unsigned)about.st_uid, (unsigned)geteuid());
    if ((about.st_mode & (about.st_uid == 0 && geteuid() != 0 ? 0027 : 0077)) != 0)
        return rpmi_fail(RPM_E_DENIED,
                         "%s has mode %04o, by which others may read or change it: run chmod 600",
                         path, (unsigned)(about.st_mode & 07777));
    return 0;
}

static int get_file(struct rpmi_s3_address *at)
{
    const char *given = variable("AWS_SHARED_CREDENTIALS_FILE");
    const char *profile = variable("AWS_PROFILE");
    const char *home = variable("HOME");
    char path[1024];
    FILE *file;
    int fd;
    int err;

    (void)snprintf(path, sizeof(path), given != NULL ? "%s" : "%s/.aws/credentials",
                   given != NULL  ? given
                   : home != NULL ? home
                                  : "");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return rpmi_fail(RPM_E_DENIED,
                         "s3: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                         "make a file of them that others cannot read (%s: %s)",
                         path, strerror(errno));
    err = judge_file(fd, path);
    file = err == 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        (void)close(fd);
        return err != 0 ? err : rpmi_fail(RPM_E_IO, "%s: %s", path, strerror(errno));
    }
    err = get_section(file, path, profile != NULL ? profile : "default", at);
    (void)fclose(file);
    return err;
}

static int get_keys(struct rpmi_s3_address *at)
{
    const char *key_id = variable("AWS_ACCESS_KEY_ID");
    const char *secret = variable("AWS_SECRET_ACCESS_KEY");
    const char *token = variable("AWS_SESSION_TOKEN");
    int err;

    if (key_id == NULL && secret == NULL)
        return get_file(at);
    if (key_id == NULL || secret == NULL)
        return rpmi_fail(RPM_E_DENIED, "s3: %s is set, and %s is not: set both, or none for a file",
                         key_id != NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                         key_id != NULL ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    err = copy(at->key_id, sizeof(at->key_id), key_id, "AWS_ACCESS_KEY_ID");
    if (err == 0)
        err = copy(at->secret, sizeof(at->secret), secret, "AWS_SECRET_ACCESS_KEY");
    if (err == 0 && token != NULL)
        err = copy(at->token, sizeof(at->token), token, "AWS_SESSION_TOKEN");
    return err;
}

int rpmi_s3_address_get(const char *url, struct rpmi_s3_address *at)
{
    const char *trusted = variable("AWS_CA_BUNDLE");
    int err;

    memset(at, 0, sizeof(*at));
    err = get_url(url, at);
    if (err == 0)
        err = get_endpoint(at);
    if (err == 0 && trusted != NULL)
        err = copy(at->trusted, sizeof(at->trusted), trusted, "AWS_CA_BUNDLE");
    return err == 0 ? get_keys(at) : err;
}
