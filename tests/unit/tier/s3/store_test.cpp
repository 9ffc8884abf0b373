// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/s3/objects.h"

TEST_CASE("object store: a segment is put, found, read and removed", "[unit]")
{
    Bucket bucket;
    rpmi_store *store = bucket.store;
    std::string bytes(3000000, 'b');
    char piece[5];
    uint64_t length;
    uint32_t n;

    REQUIRE(bucket.count(0xabc, &n) == 0);
    CHECK(n == 0);
    CHECK(store->ops->bytes(store, &NAME, &length) == RPM_E_NOENT);
    CHECK(store->ops->get(store, &NAME, 0, piece, 5) == RPM_E_NOENT);
    REQUIRE(bucket.put(NAME, bytes) == 0);
    CHECK(bucket.objects.held[KEY] == bytes);
    REQUIRE(bucket.count(0xabc, &n) == 0);
    CHECK(n == 1);
    REQUIRE(store->ops->bytes(store, &NAME, &length) == 0);
    CHECK(length == bytes.size());
    REQUIRE(store->ops->get(store, &NAME, length - 5, piece, 5) == 0);
    CHECK(std::string(piece, 5) == "bbbbb");
    CHECK(store->ops->get(store, &NAME, length - 4, piece, 5) == RPM_E_CORRUPT);
    CHECK(store->ops->get(store, &NAME, length, piece, 5) == RPM_E_CORRUPT);
    CHECK(store->ops->settle(store, 0xabc) == 0);
    CHECK(bucket.put(NAME, "other") == RPM_E_EXISTS);
    CHECK(bucket.objects.held[KEY] == bytes);
    REQUIRE(store->ops->remove(store, &NAME) == 0);
    CHECK(bucket.objects.held.empty());
}

TEST_CASE("object store: lists go through all pages, and other keys are no segments", "[unit]")
{
    Bucket bucket;
    std::vector<uint64_t> logs;
    uint32_t n;

    for (uint64_t i = 1; i <= 7; i++)
        REQUIRE(bucket.put({ 0xabc, i * 64, i * 64 + 64 }, "x") == 0);
    for (uint64_t id : { 0xabd, 0xabe })
        REQUIRE(bucket.put({ id, 64, 128 }, "x") == 0);
    for (const char *other : { "", "x", "0000000000000280-0000000000000040.seg", "a/b" })
        bucket.objects.held[FOLDER + other] = "x";
    bucket.objects.held["some/prefix/x/y"] = bucket.objects.held["some/prefix/z"] = "x";
    bucket.objects.held["other/0000000000000abf/0000000000000040-0000000000000280.seg"] = "x";
    size_t before = bucket.objects.count("GET");
    REQUIRE(bucket.count(0xabc, &n) == 0);
    CHECK(n == 7);
    CHECK(bucket.objects.count("GET") - before == 6); // of 11 keys
    REQUIRE(bucket.store->ops->logs(
                bucket.store,
                [](void *context, uint64_t id) {
                    static_cast<std::vector<uint64_t> *>(context)->push_back(id);
                    return 0;
                },
                &logs) == 0);
    CHECK(logs == std::vector<uint64_t>{ 0xabc, 0xabd, 0xabe });
}

TEST_CASE("object store: a list from an LSN on takes no pages for segments before it", "[unit]")
{
    Bucket bucket;
    uint32_t n;

    for (uint64_t i = 1; i <= 9; i++)
        REQUIRE(bucket.put({ 0xabc, i * 640, i * 640 + 640 }, "x") == 0);
    for (auto [from, expected] :
         { std::pair{ 640, 9u }, { 641, 8u }, { 5120, 2u }, { 5761, 0u } }) {
        size_t before = bucket.objects.count("GET");

        REQUIRE(bucket.count(0xabc, &n, static_cast<uint64_t>(from)) == 0);
        CHECK(n == expected);
        CHECK(bucket.objects.count("GET") - before == std::max(1u, (expected + 1) / 2));
    }
    // A store that does not know the parameter lists more, which is allowed.
    bucket.objects.knows_start = false;
    REQUIRE(bucket.count(0xabc, &n, 5120) == 0);
    CHECK(n == 9);
}

TEST_CASE("object store: a list that lies is refused", "[unit]")
{
    Bucket bucket;
    std::string from;
    std::string to;
    uint32_t n;

    for (uint64_t i = 1; i <= 3; i++)
        REQUIRE(bucket.put({ 0xabc, i * 64, i * 64 + 64 }, "x") == 0);
    bucket.objects.change = [&](const Request &, std::string answer) {
        size_t at = answer.find(from);

        return at == std::string::npos ? answer : answer.replace(at, from.size(), to);
    };
    const std::tuple<std::string, std::string, std::string> lies[] = {
        { "some/prefix/", "xome/prefix/", "keys that begin with '" + FOLDER + "'" },
        { "<NextContinuationToken>", "<NextContinuationTokem>", "no whole XML" },
        { "</ListBucketResult>", "<XistBucketResult/>", "no whole XML" },
        { "<IsTruncated>", "<IsTruncates>", "no whole XML" },
        { "000000000000040-", "000000000000f40-", "behind" },
    };
    for (const auto &[before, after, why] : lies) {
        INFO(why);
        from = before;
        to = after;
        CHECK(bucket.count(0xabc, &n) == RPM_E_IO);
        CHECK(said("s3://bucket/" + FOLDER + ": list: "));
        CHECK(said(why));
    }
    bucket.objects.change = nullptr;
    REQUIRE(bucket.count(0xabc, &n) == 0);
    CHECK(n == 3);
    // The same page for ever.
    bucket.objects.change = [first = std::string()](const Request &, std::string answer) mutable {
        first = first.empty() ? answer : first;
        return first;
    };
    CHECK(bucket.count(0xabc, &n) == RPM_E_IO);
}

TEST_CASE("object store: put fails unless the same bytes come back", "[unit]")
{
    Bucket bucket;
    std::string method = "GET";
    std::string answer;

    bucket.objects.change = [&](const Request &request, const std::string &right) {
        if (request.method != method || request.path.size() < 9)
            return right;
        if (method == "PUT")
            bucket.objects.held.clear();
        return answer;
    };
    const std::pair<std::string, std::string> wrong[] = {
        { Http::reply("200 OK", "hellO"), "other bytes were read than had been stored, 5 of 5" },
        { Http::reply("200 OK", "hell"), "other bytes were read than had been stored, 4 of 5" },
        { Http::reply("200 OK", "hello!"), "more bytes than the object may have" },
        { Http::reply("404 No", ""), "answers 404" },
        { Http::reply("503 Slow", ""), "answers 503" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "partial file" },
    };
    for (const auto &[bytes, why] : wrong) {
        INFO(why);
        answer = bytes;
        bucket.objects.held.clear();
        CHECK(bucket.put(NAME, "hello") == RPM_E_IO);
        CHECK(said(why));
        CHECK(said("s3://bucket/" + KEY));
    }
    // The store refuses the body, as when it was cut off on its way.
    method = "PUT";
    answer = Http::reply("400 Bad", "<Error><Code>XAmzContentSHA256Mismatch</Code></Error>");
    bucket.objects.held.clear();
    CHECK(bucket.put(NAME, "hello") == RPM_E_IO);
    CHECK(bucket.objects.held.empty());
    answer = Http::reply("507 Full", "");
    CHECK(bucket.put(NAME, "hello") == RPM_E_NOSPACE);
}

TEST_CASE("object store: a put whose answer was lost finds its own object", "[unit]")
{
    Bucket bucket;
    int lost = 1;

    bucket.objects.change = [&](const Request &request, const std::string &answer) {
        return request.method == "PUT" && lost-- > 0 ? "" : answer;
    };
    CHECK(bucket.put(NAME, "hello") == RPM_E_EXISTS);
    CHECK(bucket.objects.held[KEY] == "hello");
}

TEST_CASE("object store: one that knows no condition is asked without it", "[unit]")
{
    Bucket bucket;

    bucket.objects.change = [&](const Request &request, const std::string &answer) {
        if (request.method != "PUT" || request.headers.count("if-none-match") == 0)
            return answer;
        bucket.objects.held.clear();
        return Http::reply("501 No", "<Error><Code>NotImplemented</Code></Error>");
    };
    CHECK(bucket.put(NAME, "hello") == 0);
    CHECK(bucket.put(NAME, "other") == RPM_E_EXISTS);
    CHECK(bucket.objects.held[KEY] == "hello");
}

TEST_CASE("object store: a bucket that is not there is named", "[unit]")
{
    Objects objects;
    rpmi_store *store = nullptr;

    CHECK(rpmi_s3_open("s3://nobucket", &store) == RPM_E_NOENT);
    CHECK(said("s3://nobucket: GET: the store answers 404 NoSuchBucket"));
    CHECK(store == nullptr);
}
