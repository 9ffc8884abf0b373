// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/s3/settings.h"

#include <sys/stat.h>

static void set_keys()
{
    forget_settings();
    setenv("AWS_REGION", "eu-central-1", 1);
    setenv("AWS_ACCESS_KEY_ID", "ID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "hushhush", 1);
}

TEST_CASE("address: URL and environment say where the store is", "[unit]")
{
    rpmi_s3_address at;

    set_keys();
    REQUIRE(rpmi_s3_address_get("s3://my-bucket.2/a/b.c_d~/", &at) == 0);
    CHECK(std::string(at.endpoint) == "https://s3.eu-central-1.amazonaws.com");
    CHECK(std::string(at.bucket) == "my-bucket.2");
    CHECK(std::string(at.prefix) == "a/b.c_d~/");
    CHECK(std::string(at.key_id) == "ID");
    CHECK(std::string(at.secret) == "hushhush");
    CHECK(std::string(at.token).empty());
    setenv("AWS_ENDPOINT_URL", "https://minio.example:9000/", 1);
    setenv("AWS_SESSION_TOKEN", "tok/en+=", 1);
    unsetenv("AWS_REGION");
    for (const char *url : { "s3://bucket", "s3://bucket/" }) {
        REQUIRE(rpmi_s3_address_get(url, &at) == 0);
        CHECK(std::string(at.prefix).empty());
    }
    CHECK(std::string(at.endpoint) == "https://minio.example:9000");
    CHECK(std::string(at.region) == "us-east-1");
    CHECK(std::string(at.token) == "tok/en+=");
    setenv("AWS_DEFAULT_REGION", "garage", 1);
    REQUIRE(rpmi_s3_address_get("s3://bucket", &at) == 0);
    CHECK(std::string(at.region) == "garage");
}

TEST_CASE("address: a wrong URL or setting is refused, and no secret is shown", "[unit]")
{
    rpmi_s3_address at;

    set_keys();
    for (const char *url : { "s3://", "s3://ab", "s3://Bucket", "s3:///prefix", "s3://-bucket",
                             "s3://bucket//a", "s3://bucket/a//b", "s3://bucket/../b",
                             "s3://bucket/a/.", "s3://bucket/a b", "s3://bucket/a?b=c" }) {
        INFO(url);
        CHECK(rpmi_s3_address_get(url, &at) == RPM_E_INVAL);
        CHECK(said(url));
    }
    CHECK(rpmi_s3_address_get(("s3://bucket/" + std::string(255, 'a')).c_str(), &at) ==
          RPM_E_INVAL);
    CHECK(rpmi_s3_address_get("s3://ID:hushhush@bucket/a", &at) == RPM_E_INVAL);
    CHECK_FALSE(said("hush"));
    for (const char *endpoint : { "ftp://host", "host", "http://ID:hushhush@host", "http://h?a" }) {
        setenv("AWS_ENDPOINT_URL", endpoint, 1);
        CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_INVAL);
        CHECK(said("AWS_ENDPOINT_URL"));
        CHECK_FALSE(said("hush"));
    }
    set_keys();
    setenv("AWS_SECRET_ACCESS_KEY", "hush\nhush", 1);
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_INVAL);
    CHECK(said("AWS_SECRET_ACCESS_KEY"));
    CHECK_FALSE(said("hush"));
    setenv("AWS_SECRET_ACCESS_KEY", std::string(128, 'h').c_str(), 1);
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_INVAL);
    CHECK(said("AWS_SECRET_ACCESS_KEY has 128 characters; at most are 127"));
    unsetenv("AWS_SECRET_ACCESS_KEY");
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
    CHECK(said("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"));
    set_keys();
    setenv("AWS_REGION", "evil.example/", 1);
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_INVAL);
    unsetenv("AWS_REGION");
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_INVAL);
    CHECK(said("neither AWS_REGION nor AWS_ENDPOINT_URL is set"));
}

TEST_CASE("address: a file of credentials is read if only its owner may read it", "[unit]")
{
    support::Dir dir;
    std::string path = dir / ".aws/credentials";
    rpmi_s3_address at;

    set_keys();
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
    CHECK(said("/nonexistent/.aws/credentials"));
    setenv("HOME", (dir / "").c_str(), 1);
    std::filesystem::create_directory(dir / ".aws");
    write_bytes(path, "[default]\naws_access_key_id = ID1\naws_secret_access_key=hush1\n"
                      "region = x\n# a comment\n[other]\naws_access_key_id=ID2\n"
                      "aws_secret_access_key = hush2 \r\naws_session_token\t=\ttoken2\n[empty]\n");
    for (mode_t mode : { 0644, 0640, 0620, 0604 }) {
        REQUIRE(chmod(path.c_str(), mode) == 0);
        CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
        CHECK(said("/.aws/credentials has mode"));
        CHECK_FALSE(said("hush"));
    }
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    REQUIRE(rpmi_s3_address_get("s3://bucket", &at) == 0);
    CHECK(std::string(at.key_id) == "ID1");
    CHECK(std::string(at.secret) == "hush1");
    setenv("AWS_PROFILE", "other", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path.c_str(), 1);
    setenv("HOME", "/nonexistent", 1);
    REQUIRE(rpmi_s3_address_get("s3://bucket", &at) == 0);
    CHECK(std::string(at.key_id) == "ID2");
    CHECK(std::string(at.secret) == "hush2");
    CHECK(std::string(at.token) == "token2");
    for (const char *profile : { "empty", "none" }) {
        setenv("AWS_PROFILE", profile, 1);
        CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
        CHECK(said(std::string("[") + profile + "]"));
    }
    setenv("AWS_SHARED_CREDENTIALS_FILE", (dir / "").c_str(), 1);
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
    CHECK(said("no regular file"));
    if (geteuid() != 0)
        return;
    REQUIRE(chown(path.c_str(), 12345, 0) == 0);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path.c_str(), 1);
    CHECK(rpmi_s3_address_get("s3://bucket", &at) == RPM_E_DENIED);
    CHECK(said("belongs to user 12345"));
}
