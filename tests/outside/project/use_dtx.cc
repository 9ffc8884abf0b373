// SPDX-License-Identifier: BSD-3-Clause
// use_dtx.cc: an outside program over dtx. Creates a database on a server unless it exists, inserts
// a row unless it exists, reads it, and checks the database.
#include <cstdio>
#include <dtx/checks.h>
#include <dtx/session.h>

struct Word {
    char text[8];
};

static Word use(const char *url)
{
    dtx::Schema schema("outside", 1);
    auto table = schema.hash_table<Word>("table", 100, [](uint64_t) { return 0u; });
    dtx::Options options;
    Word got{};

    options.urls = { url };
    options.log_bytes = 1 << 20;
    dtx::Cluster cluster(schema, options);
    try {
        cluster.create();
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_EXISTS)
            throw;
    }

    dtx::Session session(cluster, 0);
    session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        co_return co_await txn.insert(table, 1, Word{ "hello" });
    });
    session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        got = (co_await txn.read(table, 1)).value_or(Word{});
        co_return true;
    });
    for (const dtx::Finding &finding : dtx::checks::check_indexes(cluster, 0).all())
        if (finding.broken != 0 || finding.checked == 0)
            throw dtx::Error(RPM_E_CORRUPT, finding.rule + " has violations or was not checked");
    return got;
}

int main(int, char **argv)
{
    try {
        std::printf("read %s\n", use(argv[1]).text);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "use_dtx: %s\n", failure.what());
        return 1;
    }
}
