// SPDX-License-Identifier: BSD-3-Clause
// objects.h: an object store in memory that behaves, until a test makes it fail.
#ifndef TESTS_UNIT_TIER_S3_OBJECTS_H
#define TESTS_UNIT_TIER_S3_OBJECTS_H

#include "support/http.h"
#include "unit/tier/s3/settings.h"

#include <atomic>

using Request = support::HttpRequest;
using Http = support::HttpServer;

inline const rpmi_segment_name NAME = { 0xabc, 64, 640 };
inline const std::string FOLDER = "some/prefix/0000000000000abc/";
inline const std::string KEY = FOLDER + "0000000000000040-0000000000000280.seg";

class Objects
{
  public:
    std::map<std::string, std::string> held;                                 // by key
    size_t page = 2;                                                         // keys
    bool knows_start = true;                                                 // start-after
    std::function<std::string(const Request &, const std::string &)> change; // of each answer
    Http server{ [this](const Request &request) {
        std::string answer = answer_to(request);

        return change ? change(request, answer) : answer;
    } };

    Objects()
    {
        forget_settings();
        setenv("AWS_ENDPOINT_URL", server.url().c_str(), 1);
        setenv("AWS_ACCESS_KEY_ID", "ID", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "hushhush", 1);
    }
    // With short limits.
    static void hurry(rpmi_store *store)
    {
        reinterpret_cast<rpmi_s3 *>(store)->limits = { 3, 1, 300, 1, 300, 0 };
    }
    size_t count(const std::string &method)
    {
        size_t n = 0;

        for (const Request &each : server.requests())
            n += each.method == method;
        return n;
    }

  private:
    std::string answer_to(const Request &request)
    {
        const std::string root = "/bucket";
        std::string key =
            request.path.size() > root.size() ? request.path.substr(root.size() + 1) : "";

        if (request.path.rfind(root, 0) != 0)
            return Http::reply("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>");
        if (key.empty())
            return list(request.query);
        if (request.method == "PUT") {
            if (request.headers.count("if-none-match") != 0 && held.count(key) != 0)
                return Http::reply("412 Precondition Failed",
                                   "<Error><Code>PreconditionFailed</Code></Error>");
            held[key] = request.body;
            return Http::reply("200 OK", "");
        }
        if (request.method == "DELETE") {
            held.erase(key);
            return Http::reply("204 No Content", "");
        }
        return get(request, key);
    }
    std::string get(const Request &request, const std::string &key)
    {
        unsigned long from;
        unsigned long to;

        if (held.count(key) == 0)
            return Http::reply("404 Not Found", request.method == "HEAD"
                                                    ? ""
                                                    : "<Error><Code>NoSuchKey</Code></Error>");
        const std::string &bytes = held[key];
        if (request.method == "HEAD") {
            std::string whole = Http::reply("200 OK", bytes);

            return whole.substr(0, whole.size() - bytes.size());
        }
        if (request.headers.count("range") == 0)
            return Http::reply("200 OK", bytes);
        REQUIRE(sscanf(request.headers.at("range").c_str(), "bytes=%lu-%lu", &from, &to) == 2);
        if (from >= bytes.size())
            return Http::reply("416 Range", "<Error><Code>InvalidRange</Code></Error>");
        to = std::min<unsigned long>(to, bytes.size() - 1);
        return Http::reply("206 Partial", bytes.substr(from, to - from + 1),
                           "Content-Range: bytes " + std::to_string(from) + "-" +
                               std::to_string(to) + "/" + std::to_string(bytes.size()) + "\r\n");
    }
    static std::string parameter(const std::string &query, const std::string &name)
    {
        size_t at = ("&" + query).find("&" + name + "=");
        std::string text;

        if (at == std::string::npos)
            return "";
        for (size_t i = at + name.size() + 1; i < query.size() && query[i] != '&'; i++)
            if (query[i] == '%') {
                text += static_cast<char>(std::stoi(query.substr(i + 1, 2), nullptr, 16));
                i += 2;
            } else {
                text += query[i];
            }
        return text;
    }
    std::string list(const std::string &query)
    {
        std::string prefix = parameter(query, "prefix");
        std::string after = parameter(query, "continuation-token");
        std::string behind = knows_start ? parameter(query, "start-after") : "";
        bool folders = !parameter(query, "delimiter").empty();
        std::set<std::string> found;
        std::string xml;
        size_t n = 0;

        for (const auto &[key, bytes] : held) {
            if (key.rfind(prefix, 0) != 0)
                continue;
            size_t slash = key.find('/', prefix.size());
            found.insert(folders && slash != std::string::npos ? key.substr(0, slash + 1) : key);
        }
        for (const std::string &each : found) {
            if ((!after.empty() && each <= after.substr(6)) || each <= behind)
                continue;
            if (n == page)
                return wrapped(xml + "<IsTruncated>true</IsTruncated><NextContinuationToken>" +
                               token_ + "</NextContinuationToken>");
            n++;
            token_ = "a+b/c=" + each;
            xml += folders && each.back() == '/'
                       ? "<CommonPrefixes><Prefix>" + each + "</Prefix></CommonPrefixes>"
                       : "<Contents><Key>" + each + "</Key><Size>1</Size></Contents>";
        }
        return wrapped(xml + "<IsTruncated>false</IsTruncated>");
    }
    static std::string wrapped(const std::string &xml)
    {
        return Http::reply("200 OK",
                           "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3/\">" + xml +
                               "</ListBucketResult>");
    }

    std::string token_;
};

// A store of it.
struct Bucket {
    Objects objects;
    rpmi_store *store = nullptr;

    explicit Bucket(const char *url = "s3://bucket/some/prefix")
    {
        INFO(rpm_last_error());
        REQUIRE(rpmi_s3_open(url, &store) == 0);
        Objects::hurry(store);
    }
    ~Bucket()
    {
        store->ops->close(store);
    }
    int put(const rpmi_segment_name &name, const std::string &bytes)
    {
        return store->ops->put(store, &name, bytes.data(), bytes.size());
    }
    int count(uint64_t log_id, uint32_t *n, uint64_t from_lsn = 0)
    {
        *n = 0;
        return store->ops->segments(
            store, log_id, from_lsn,
            [](void *context, const rpmi_segment_name *) {
                ++*static_cast<uint32_t *>(context);
                return 0;
            },
            n);
    }
};

#endif
