// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/s3/objects.h"

static int get(Bucket &bucket, size_t len)
{
    std::string piece(len, 0);

    return bucket.store->ops->get(bucket.store, &NAME, 0, &piece[0], len);
}

TEST_CASE("request: what passes is tried again, and then the error names it", "[unit]")
{
    Bucket bucket;
    int failures = 0;
    std::string failure;

    bucket.objects.held[KEY] = "0123456789";
    bucket.objects.change = [&](const Request &, const std::string &answer) {
        return failures-- > 0 ? failure : answer;
    };
    const std::pair<std::string, std::string> passing[] = {
        { Http::reply("503 Busy", "<Error><Code>SlowDown</Code></Error>"), "answers 503 SlowDown" },
        { Http::reply("500 Oh", "<html>"), "answers 500" },
        { Http::reply("429 Many", ""), "answers 429" },
        { Http::reply("400 Bad", "<Error><Code>RequestTimeout</Code></Error>"), "RequestTimeout" },
        { "", "Server returned nothing" },
        { Http::kHang, "Timeout was reached" },
        { "HTTP/1.1 206 P\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n01234",
          "Transferred a partial file" },
        { "HTTP/1.1 206 P\r\nContent-Range: bytes 0-9/10\r\nTransfer-Encoding: chunked\r\n\r\n"
          "5\r\n01234\r\n",
          "" },
    };
    for (const auto &[bytes, why] : passing) {
        INFO(why);
        failure = bytes;
        failures = 2;
        CHECK(get(bucket, 10) == 0);
        size_t before = bucket.objects.server.requests().size();
        failures = 3;
        CHECK(get(bucket, 10) == RPM_E_IO);
        CHECK(said(why));
        CHECK(said("s3://bucket/" + KEY + ": GET: "));
        CHECK(bucket.objects.server.requests().size() == before + 3);
    }
}

TEST_CASE("request: what does not pass is an error at once", "[unit]")
{
    Bucket bucket;
    std::string failure;

    bucket.objects.held[KEY] = "0123456789";
    bucket.objects.change = [&](const Request &, const std::string &) { return failure; };
    const std::tuple<std::string, int, std::string> refused[] = {
        { Http::reply("403 No", "<Error><Code>AccessDenied</Code><Message>hush</Message></Error>"),
          RPM_E_DENIED, "answers 403 AccessDenied: check the credentials" },
        { Http::reply("401 No", ""), RPM_E_DENIED, "answers 401" },
        { Http::reply("400 Bad", "<Error><Code>InvalidRequest</Code></Error>"), RPM_E_IO,
          "answers 400 InvalidRequest" },
        { Http::reply("404 No", "<Error><Code>NoSuchKey</Code></Error>"), RPM_E_NOENT,
          "answers 404 NoSuchKey" },
        { Http::reply("507 Full", ""), RPM_E_NOSPACE, "answers 507" },
        { Http::reply("301 Moved", "", "Location: http://127.0.0.1:1/\r\n"), RPM_E_IO,
          "answers 301: the bucket is elsewhere" },
        { Http::reply("200 OK", "0123456789"), RPM_E_IO, "ignores that a part was asked for" },
        { Http::reply("206 P", "123456789a", "Content-Range: bytes 1-10/11\r\n"), RPM_E_IO,
          "sends 10 bytes as those from 1 to 10, and asked for were 10 from 0 on" },
        { Http::reply("206 P", "01234", "Content-Range: bytes 0-9/10\r\n"), RPM_E_IO,
          "sends 5 bytes" },
        { Http::reply("206 P", "01234", "Content-Range: bytes 0-4/5\r\n"), RPM_E_CORRUPT,
          "the object was cut off" },
        { Http::reply("206 P", std::string(11, 'x'), "Content-Range: bytes 0-9/10\r\n"), RPM_E_IO,
          "more bytes than the object may have" },
        { Http::reply("416 Range", ""), RPM_E_CORRUPT, "the object was cut off" },
        { Http::reply("403 No", std::string(100000, 'x')), RPM_E_DENIED, "answers 403" },
    };
    for (const auto &[bytes, err, why] : refused) {
        size_t before = bucket.objects.server.requests().size();

        INFO(why);
        failure = bytes;
        CHECK(get(bucket, 10) == err);
        CHECK(said(why));
        CHECK_FALSE(said("hush"));
        CHECK(bucket.objects.server.requests().size() == before + 1);
    }
}

TEST_CASE("request: a store that is away is named", "[unit]")
{
    Bucket bucket;

    bucket.objects.server.stop();
    CHECK(get(bucket, 10) == RPM_E_IO);
    CHECK(said("Couldn't connect to server"));
}

TEST_CASE("request: a body is sent with its checksum, a token with all", "[unit]")
{
    Objects objects;
    rpmi_store *store = nullptr;

    setenv("AWS_SESSION_TOKEN", "tok/en+=", 1);
    REQUIRE(rpmi_s3_open("s3://bucket/", &store) == 0);
    REQUIRE(store->ops->put(store, &NAME, "hello", 5) == 0);
    store->ops->close(store);
    bool sent = false;
    for (const Request &each : objects.server.requests()) {
        CHECK(each.headers.at("x-amz-security-token") == "tok/en+=");
        CHECK(each.headers.at("authorization").find("hush") == std::string::npos);
        CHECK(each.headers.at("authorization").find("x-amz-content-sha256") != std::string::npos);
        if (each.method != "PUT")
            continue;
        sent = true;
        CHECK(each.headers.at("if-none-match") == "*");
        CHECK(each.headers.at("x-amz-content-sha256") ==
              "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    }
    CHECK(sent);
}

TEST_CASE("request: without the certificates to trust there is no request", "[unit]")
{
    Objects objects;
    rpmi_store *store = nullptr;

    setenv("AWS_ENDPOINT_URL", ("https" + objects.server.url().substr(4)).c_str(), 1);
    setenv("AWS_CA_BUNDLE", "/nonexistent", 1);
    CHECK(rpmi_s3_open("s3://bucket/", &store) == RPM_E_IO);
    CHECK(said("Problem with the SSL CA cert"));
    CHECK(objects.count("GET") == 0); // a client of another test may have found the port, too
}
