// SPDX-License-Identifier: BSD-3-Clause
// shard_test.cpp: one thing in front of the tables of a shard is changed: a bit, or a line, a
// device block or a page that reads as zeros. That covers the descriptor, the load parameters, the
// record of views and the description of the tables, on the server's own shard and on its copy of
// another one.
//
// After each change a session and the database's checks read each row as it was committed, on each
// copy, or end in an error that names the damaged shard, its server and the remedy.
//
// LIBRPM_DAMAGE_SEED=N draws other bits; LIBRPM_DAMAGE_ALL=1 flips each of them.
#include "engine/cluster/membership.h"
#include "engine/cluster/server_connection.h"
#include "engine/cluster/shard_header.h"
#include "support/rounds.h"
#include "unit/dtx/engine/database.h"
#include "workload/random.h"
#include "workload/run.h"
#include <dtx/error.h>
#include <dtx/layout.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint64_t kRows = 40;
constexpr uint32_t kServers = 2;
constexpr const char *kComment = "rows=40";

using Bytes = std::vector<unsigned char>;

struct Mutant {
    uint32_t shard; // of server 0
    uint64_t at;
    uint64_t len;
    int bit; // to flip; -1: zeros

    std::string text() const
    {
        return "shard " + std::to_string(shard) + ", bytes " + std::to_string(at) + " to " +
               std::to_string(at + len) +
               (bit >= 0 ? ", bit " + std::to_string(bit) + " flipped" : " read as zeros");
    }
};

Tables with_comment()
{
    Tables tables;

    tables.schema.set_comment(kComment);
    return tables;
}

// The bytes in front of the tables of a shard of server 0.
class Page
{
  public:
    Page(const dtx::Cluster &cluster, uint32_t shard) : bytes(dtx::kTablesOffset)
    {
        rpm_region_opts opts = rpm_region_opts_init();
        std::string name = dtx::shard_name(cluster.schema().name(), shard);

        REQUIRE(rpm_conn_open(cluster.options().urls[0].c_str(), nullptr, &conn_) == 0);
        REQUIRE(rpm_region_open(conn_, name.c_str(), &opts, &region_) == 0);
        REQUIRE(rpm_region_read(region_, 0, bytes.data(), bytes.size()) == 0);
    }
    ~Page()
    {
        rpm_region_close(&region_);
        rpm_conn_close(&conn_);
    }
    Page(const Page &) = delete;
    Page &operator=(const Page &) = delete;

    void spoil(const Mutant &mutant)
    {
        Bytes piece(mutant.len);

        if (mutant.bit >= 0)
            piece[0] = static_cast<unsigned char>(bytes[mutant.at] ^ 1 << mutant.bit);
        REQUIRE(rpm_region_write(region_, mutant.at, piece.data(), piece.size()) == 0);
    }
    void mend(const Mutant &mutant)
    {
        REQUIRE(rpm_region_write(region_, mutant.at, &bytes[mutant.at], mutant.len) == 0);
    }

    Bytes bytes;

  private:
    rpm_conn *conn_ = nullptr;
    rpm_region *region_ = nullptr;
};

class Trial
{
  public:
    Trial() : db_(kServers, replicated(2), with_comment())
    {
        Session session(*db_.cluster, 0);

        for (uint64_t key = 0; key < kRows; key++)
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        uint64_t place = in_partition(static_cast<uint32_t>(key % kServers), key);

                        AWAIT_CHECK(co_await txn.insert(table(key), place, Account{ worth(key) }));
                        co_return true;
                    }) == Status::committed);
    }
    void change_view();
    void run();

    unsigned told = 0;
    unsigned untold = 0;
    std::vector<std::string> wrong;

  private:
    static int64_t worth(uint64_t key)
    {
        return static_cast<int64_t>(1000 + key);
    }
    dtx::Table<Account> table(uint64_t key) const
    {
        return key / kServers % 2 == 0 ? db_.tables.accounts : db_.tables.sorted;
    }
    std::vector<Mutant> mutants(const Page &page, uint32_t shard) const;
    void look(const Mutant &mutant);
    template <class Look> bool right(const Mutant &mutant, const char *who, Look look);
    bool session_sees();
    bool copies_have();
    bool cover_says(uint32_t shard);

    Database db_;
};

// The view was changed before, so zeros, and the first content, describe another view.
void Trial::change_view()
{
    dtx::View view;

    view.number = 2;
    for (uint32_t server = 0; server < kServers; server++) {
        dtx::ServerConnection connection(*db_.cluster, server);

        connection.connect();
        connection.open({ kServers, 2, {} }, dtx::kRecoverer, dtx::Claim::takeover);
        dtx::propose(connection, *db_.cluster, view);
        dtx::accept(connection, *db_.cluster, view);
    }
}

std::vector<Mutant> Trial::mutants(const Page &page, uint32_t shard) const
{
    const char *seed = std::getenv("LIBRPM_DAMAGE_SEED");
    dtx::Random chance(seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1);
    std::vector<Mutant> all, bits;

    for (uint64_t len : { 64u, 256u, 4096u })
        for (uint64_t at = 0; at < page.bytes.size(); at += len)
            if (std::any_of(&page.bytes[at], &page.bytes[at + len], [](int c) { return c != 0; }))
                all.push_back({ shard, at, len, -1 });
    // Lines that are zeros already do not change.
    for (const Mutant &line : std::vector<Mutant>(all))
        for (uint64_t at = line.at; line.len == 64 && at < line.at + 64; at++)
            for (int bit = 0; bit < 8; bit++)
                bits.push_back({ shard, at, 1, bit });
    chance.shuffle(bits.data(), bits.size());
    if (std::getenv("LIBRPM_DAMAGE_ALL") == nullptr)
        bits.resize(std::min<size_t>(bits.size(), rounds(250)));
    all.insert(all.end(), bits.begin(), bits.end());
    return all;
}

// False: the damage was reported. Any other result is an error of the test.
template <class Look> bool Trial::right(const Mutant &mutant, const char *who, Look look)
{
    std::string said;

    try {
        if (!look())
            wrong.push_back(mutant.text() + ": " + who + " sees other rows, or not all");
        return true;
    } catch (const dtx::Error &error) {
        said = std::string(rpm_error_name(error.code())) + ": " + error.what();
    }
    for (const std::string &part :
         { db_.cluster->options().urls[0], "shard " + std::to_string(mutant.shard),
           std::string("damaged"), std::string("dtx-check restore") })
        if (said.find(part) == std::string::npos)
            wrong.push_back(mutant.text() + ": " + who + " is told \"" + said + "\", without \"" +
                            part + "\"");
    return false;
}

bool Trial::session_sees()
{
    auto session = dtx::join(*db_.cluster, 1);
    bool same = true;

    return now(*session,
               [&](Txn &txn) -> Task<bool> {
                   for (uint64_t key = 0; key < kRows && same; key++) {
                       uint64_t place = in_partition(static_cast<uint32_t>(key % kServers), key);
                       auto row = co_await txn.read(table(key), place);

                       same = row && row->cents == worth(key);
                   }
                   co_return true;
               }) == Status::committed &&
           same;
}

bool Trial::copies_have()
{
    db_.cluster->verify();
    for (uint32_t copy = 0; copy < 2; copy++) {
        uint64_t rows = 0;

        for (auto each : { db_.tables.accounts, db_.tables.sorted })
            db_.cluster->each_row(each.number, copy, [&](uint64_t key, const void *row, size_t) {
                const Account *account = static_cast<const Account *>(row);

                rows += account->cents == worth(key & UINT32_MAX) ? 1 : 0;
            });
        if (rows != kRows)
            return false;
    }
    return true;
}

// Opens the database as dtx-check does, by the description of its tables.
bool Trial::cover_says(uint32_t shard)
{
    dtx::RawConnection connection(*db_.cluster, 0);
    dtx::ShardHeader header =
        dtx::read_shard_header(connection.get(), "test", *db_.cluster, { shard, 0 });

    return header.shards == kServers && header.shard == shard && header.replicas == 2 &&
           header.durable && header.comment == kComment && header.schema_version == 1;
}

void Trial::look(const Mutant &mutant)
{
    bool all = right(mutant, "a session", [this] { return session_sees(); });

    all &= right(mutant, "who reads all copies", [this] { return copies_have(); });
    all &= right(mutant, "who knows no schema", [&] { return cover_says(mutant.shard); });
    (all ? untold : told)++;
}

void Trial::run()
{
    for (uint32_t shard = 0; shard < 2; shard++) {
        Page page(*db_.cluster, shard);

        for (const Mutant &mutant : mutants(page, shard)) {
            page.spoil(mutant);
            look(mutant);
            page.mend(mutant);
            if (wrong.size() > 20)
                return;
        }
    }
}

} // namespace

TEST_CASE("shard: damage in front of the tables is reported, and no row is read as another")
{
    Trial trial;

    trial.change_view();
    trial.run();
    for (const std::string &what : trial.wrong)
        UNSCOPED_INFO(what);
    CHECK(trial.wrong.empty());
    printf("%u were told, %u were of no account\n", trial.told, trial.untold);
    CHECK(trial.told > rounds(200));
}
