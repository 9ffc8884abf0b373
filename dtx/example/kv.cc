/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kv.cc: a remote key-value store in 60 lines of code: it maps words to texts, durably, on two
 * servers if there are several.
 *
 *     kv URL... -- put WORD TEXT | get WORD | del WORD
 */
#include <dtx/session.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

static constexpr uint32_t kTextBytes = 120;

/* 64-bit FNV-1a. Words with the same hash are taken for the same word: unlikely up to some
 * millions. */
static uint64_t key_of(const std::string &word)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (unsigned char byte : word)
        hash = (hash ^ byte) * 0x100000001b3u;
    return hash;
}

static uint32_t partition(uint64_t key)
{
    return static_cast<uint32_t>(key >> 32);
}

static int run(const std::vector<std::string> &urls, const std::vector<std::string> &words)
{
    dtx::Schema schema("kv", 1);
    dtx::ByteTable texts = schema.hash_table("texts", kTextBytes, 10000, partition);
    dtx::Options options;
    std::vector<unsigned char> row(kTextBytes);
    uint64_t key = key_of(words.at(1));

    options.urls = urls;
    options.replicas = urls.size() < 2 ? 1 : 2; /* a text survives the loss of a server */
    dtx::Cluster cluster(schema, options);
    try {
        cluster.create();
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_EXISTS)
            throw; /* if the database exists already, use it */
    }

    dtx::Session session(cluster, 0);
    auto body = [&](dtx::Txn &txn) -> dtx::Task<bool> {
        if (words[0] == "del")
            co_return co_await txn.erase(texts, key);
        if (words[0] == "put") {
            std::strncpy(reinterpret_cast<char *>(row.data()), words.at(2).c_str(), kTextBytes - 1);
            bool written = co_await txn.write(texts, key, row);

            if (!written)
                written = co_await txn.insert(texts, key, row);
            co_return written;
        }
        auto found = co_await txn.read(texts, key);
        if (found)
            row.assign(found->begin(), found->end());
        co_return found.has_value();
    };
    bool done = session.transact_now(body).status == dtx::Status::committed;

    if (done && words[0] == "get")
        std::printf("%s\n", reinterpret_cast<const char *>(row.data()));
    return done ? 0 : 1;
}

int main(int argc, char **argv)
{
    std::vector<std::string> all(argv + 1, argv + argc);
    auto dashes = std::find(all.begin(), all.end(), "--");

    try {
        return run({ all.begin(), dashes }, { std::min(dashes + 1, all.end()), all.end() });
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "kv: %s\n", failure.what());
        return 2;
    }
}
