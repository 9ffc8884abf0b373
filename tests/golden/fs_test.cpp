// SPDX-License-Identifier: BSD-3-Clause
// fs_test.cpp: the bytes of fs/FORMAT.md. A volume is filled by calls whose time and random numbers
// are set; its rows and blocks are the golden bytes, which a script without fs has made. A volume
// into which these bytes were put is whole, and calls read from it what went in.
#include "core/check/check.h"
#include "core/client/client.h"
#include "core/file/allocate.h"
#include "core/file/contents.h"
#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/lock/locks.h"
#include "core/tree/create.h"
#include "core/tree/mounts.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "core/tree/remove.h"
#include "core/tree/xattrs.h"
#include "engine/format/description.h"
#include "golden/hex.h"
#include "support/servers.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

constexpr uint64_t kSeed = 0x0123456789abcdef;
constexpr int64_t kBegin = 1700000000000000000; // the time of a call is so many seconds later
constexpr int64_t kStepNs = 1000000000;
constexpr uint32_t kClient = 5;
constexpr uint64_t kOwner = rfs::owner_of(kClient, 0x0a0b0c0d0e0f);

const std::string kLong = std::string(100, 'n') + ".txt";
const std::string kFirst = "c7432"; // its hash has the same upper 28 bits
const std::string kSecond = "c17679";
const std::string kTarget = std::string(500, 'x');

struct GoldenVolume {
    GoldenVolume() : servers(2, 16 << 20, "")
    {
        options.urls = servers.urls;
        options.log_bytes = 256 << 10;
        options.coordinators = 16;
    }

    support::Servers servers;
    dtx::Options options;
    rfs::NewVolume wanted{ "home", { 64, 1 }, 1000, 100, 0755 };
};

// A client that makes calls at times and with random numbers that are set.
class Maker
{
  public:
    explicit Maker(const rfs::OpenVolume &open)
        : volume_{ rfs::Tables("home", open.volume.tables.sizes), kSeed, 2 },
          session_(*open.cluster, kClient)
    {
    }

    // The call with number @number.
    template <class Body> auto call(int64_t number, Body body)
    {
        decltype(body(std::declval<Call &>()).await_resume()) result{};
        dtx::Outcome outcome = session_.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            Call call{ txn,
                       volume_,
                       who_,
                       open,
                       session_.coordinator(),
                       kOwner,
                       random_,
                       kBegin + number * kStepNs };

            result = co_await body(call);
            co_return true;
        });

        REQUIRE(outcome.status == dtx::Status::committed);
        return result;
    }
    uint32_t create(int64_t number, uint32_t directory, const char *name, rfs::Wanted wanted)
    {
        return call(number, [&](Call &call) { return rfs::create(call, directory, name, wanted); })
            .ino;
    }

    rfs::OpenFiles open;

  private:
    rfs::Volume volume_;
    dtx::Session session_;
    rfs::Credentials who_{ 1000, 100 };
    dtx::SplitMix64 random_{ 5 };
};

// Awaited: what mkfs chooses at random, and the times, become those of the golden bytes.
dtx::Task<bool> set_volume(Call &call)
{
    auto volume = co_await call.txn.read(call.tables().volume, 0);
    auto root = co_await call.txn.read(call.tables().inodes, kRootIno);

    for (unsigned char i = 0; i < 16; i++)
        volume->uuid[i] = static_cast<unsigned char>(i == 6 ? 0x46 : i == 8 ? 0x88 : i);
    volume->name_seed = kSeed;
    volume->made_ns = call.now_ns;
    root->atime_ns = root->mtime_ns = root->ctime_ns = root->btime_ns = call.now_ns;
    (void)co_await call.txn.write(call.tables().volume, 0, *volume);
    (void)co_await call.txn.write(call.tables().inodes, kRootIno, *root);
    co_return true;
}

dtx::Task<bool> open_it(Call &call)
{
    (void)co_await rfs::add_client(call, kClient);
    co_await rfs::become_solo(call);
    for (uint32_t shard : { 0, 1 }) {
        rfs::SlabRow row{};

        row.owner = kOwner;
        (void)co_await call.txn.insert(call.tables().slabs, rfs::key_of(shard, 0), row);
    }
    co_return true;
}

// Awaited: a lock of a whole file, or of its first 10 bytes.
dtx::Task<bool> lock(Call &call, uint32_t ino, rfs::LockKind kind, rfs::LockType type)
{
    uint64_t end = kind == rfs::LockKind::flock ? rfs::kLockEnd : 9;
    auto holder = co_await rfs::set_lock(
        call, ino, { 0, end, 77, 4321, rfs::client_number(kClient), kind, type });

    co_return !holder;
}

void fill_contents(Maker &maker, uint32_t hello, uint32_t large)
{
    rfs::Room room{ { { 0, 0 } } };
    rfs::Room other{ { { 1, 0 } } };

    maker.call(4, [&](Call &call) { return rfs::write(call, hello, { 0, "hello\n", 6 }, room); });
    maker.call(5, [&](Call &call) {
        return rfs::write(call, large, { 40 * kBlockBytes, "large", 5 }, other);
    });
    (void)maker.call(6, [&](Call &call) -> dtx::Task<bool> {
        (void)co_await rfs::allocate(call, large, { 7 * kBlockBytes, 9 * kBlockBytes }, true, room);
        co_return true;
    });
}

void fill(Maker &maker)
{
    std::string value(600, 'b');

    REQUIRE(maker.call(0, set_volume));
    REQUIRE(maker.call(0, open_it));

    uint32_t hello = maker.create(1, kRootIno, "hello", { S_IFREG | 0644 });
    uint32_t directory = maker.create(2, kRootIno, "d", { S_IFDIR | 0750 });
    uint32_t large = maker.create(3, directory, "large", { S_IFREG | 0600 });

    fill_contents(maker, hello, large);
    for (const std::string &name : { kLong, kFirst, kSecond })
        maker.call(7, [&](Call &call) { return rfs::link(call, hello, kRootIno, name); });
    maker.create(8, kRootIno, "short", { S_IFLNK | 0777, 0, "hello" });
    maker.create(9, directory, "long", { S_IFLNK | 0777, 0, kTarget });
    maker.create(10, kRootIno, "null", { S_IFCHR | 0666, 1 << 20 | 3 });
    maker.call(11, [&](Call &call) { return rfs::set_xattr(call, hello, "user.b", value, 0); });
    maker.call(12, [&](Call &call) { return rfs::set_xattr(call, hello, "user.a", "1", 0); });
    REQUIRE(maker.call(13, [&](Call &call) {
        return lock(call, hello, rfs::LockKind::posix, rfs::LockType::read);
    }));
    REQUIRE(maker.call(13, [&](Call &call) {
        return lock(call, large, rfs::LockKind::flock, rfs::LockType::write);
    }));
    maker.open.add(maker.create(14, kRootIno, "gone", { S_IFREG | 0644 }));
    maker.call(15, [](Call &call) { return rfs::remove_file(call, kRootIno, "gone"); });
}

// All rows of a table, each behind its key, in the order of the keys.
template <class Row> Bytes rows_of(const dtx::Cluster &cluster, dtx::Table<Row> table)
{
    std::map<uint64_t, Bytes> rows;
    Bytes all;

    cluster.each_row(table.number, 0, [&](uint64_t key, const void *row, size_t) {
        auto bytes = static_cast<const unsigned char *>(row);

        rows[key].assign(bytes, bytes + sizeof(Row));
    });
    for (const auto &[key, row] : rows) {
        auto bytes = reinterpret_cast<const unsigned char *>(&key);

        all.insert(all.end(), bytes, bytes + sizeof(key));
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
}

// Calls @take(name of a golden file, table) for each table.
template <class Take> void for_each_table(const rfs::Tables &tables, Take take)
{
    take("volume", tables.volume);
    take("mounts", tables.mounts);
    take("inodes", tables.inodes);
    take("names", tables.names);
    take("long_names", tables.long_names);
    take("maps", tables.maps);
    take("blobs", tables.blobs);
    take("slabs", tables.slabs);
    take("orphans", tables.orphans);
    take("locks", tables.locks);
    take("locked_files", tables.locked_files);
}

// Where the golden volume has blocks with bytes.
struct GoldenBlock {
    const char *file;
    uint32_t shard;
};
constexpr GoldenBlock kBlocks[] = { { "block_hello", 0 }, { "block_large", 1 } };

// Awaited: puts the rows of a golden file into a table.
template <class Row> dtx::Task<> insert_rows(dtx::Txn &txn, const char *file, dtx::Table<Row> table)
{
    Bytes bytes = golden(file);

    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t) + sizeof(Row)) {
        uint64_t key;
        Row row;

        REQUIRE(at + sizeof(key) + sizeof(row) <= bytes.size());
        std::memcpy(&key, bytes.data() + at, sizeof(key));
        std::memcpy(&row, bytes.data() + at + sizeof(key), sizeof(row));
        (void)co_await txn.insert(table, key, row);
    }
}

// A volume from the golden bytes.
rfs::OpenVolume volume_of_golden_bytes(const GoldenVolume &golden_volume)
{
    rfs::Tables tables("home", golden_volume.wanted.sizes);
    dtx::Cluster cluster(tables.schema, golden_volume.options);

    cluster.create();

    dtx::Session session(cluster, 1);

    for_each_table(tables, [&](const char *file, auto table) {
        (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            co_await insert_rows(txn, file, table);
            co_return true;
        });
    });
    (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        for (const GoldenBlock &block : kBlocks) {
            Bytes bytes = golden(block.file);
            dtx::SpanWrite piece{ tables.blocks, block.shard, 0, bytes.data(), bytes.size() };

            co_await txn.write_span({ &piece, 1 });
        }
        co_return true;
    });
    return rfs::open_volume("home", golden_volume.options);
}

// A field of a row, and the same as FORMAT.md has it: offset, bytes, name.
using Field = std::tuple<size_t, size_t, std::string>;

// The rows of the first table behind the line that begins with @title.
std::vector<Field> documented(const std::string &title)
{
    std::ifstream file(std::string(GOLDEN_DIR) + "/../../../fs/FORMAT.md");
    std::vector<Field> fields;
    bool here = false;

    for (std::string line; std::getline(file, line);) {
        std::istringstream cells(line);
        char bar = 0;
        size_t at = 0;
        size_t bytes = 0;
        std::string name;

        if (line.rfind(title, 0) == 0)
            here = true;
        else if (here && !fields.empty() && line.rfind("|", 0) != 0)
            break;
        if (here && cells >> bar >> at >> bar >> bytes >> bar >> name)
            fields.emplace_back(at, bytes, name);
    }
    INFO("FORMAT.md, " << title);
    REQUIRE_FALSE(fields.empty());
    return fields;
}

} // namespace

#define FIELD(row, field)                                                                          \
    Field                                                                                          \
    {                                                                                              \
        offsetof(rfs::row, field), sizeof(rfs::row::field), #field                                 \
    }

TEST_CASE("golden: calls of fs make the golden rows and blocks", "[golden]")
{
    GoldenVolume made;

    rfs::make_volume(made.wanted, made.options);

    rfs::OpenVolume open = rfs::open_volume("home", made.options);

    {
        Maker maker(open);

        fill(maker);
        for (const GoldenBlock &block : kBlocks) {
            Bytes bytes(kBlockBytes);

            (void)maker.call(16, [&](Call &call) -> dtx::Task<bool> {
                dtx::SpanRead piece{ call.tables().blocks, block.shard,  0,
                                     bytes.data(),         bytes.size(), 0 };

                co_await call.txn.read_span({ &piece, 1 });
                co_return true;
            });
            CHECK(bytes == golden(block.file));
        }
    }
    for_each_table(open.volume.tables, [&](const char *file, auto table) {
        CAPTURE(file);
        CHECK(rows_of(*open.cluster, table) == golden(file));
    });
}

TEST_CASE("golden: a volume of fs has the tables of the golden description", "[golden]")
{
    rfs::Tables tables("home", { 64, 1 });
    std::string text = dtx::description_of(tables.schema);

    CHECK(Bytes(text.begin(), text.end()) == golden("description"));
    CHECK(tables.schema.version() == 1);
    CHECK(tables.schema.comment() == "rpmfs inodes=64 slabs=1");
}

TEST_CASE("golden: fs reads from the golden rows and blocks what went in", "[golden]")
{
    GoldenVolume made;
    rfs::OpenVolume open = volume_of_golden_bytes(made);

    CHECK(rfs::check_tables(open).texts() == std::vector<std::string>());
    CHECK(rfs::check_data(open).texts() == std::vector<std::string>());

    rfs::Client client(open);
    rfs::Credentials root;
    auto find = [&](const std::string &path) {
        return client.call_now(
            root, [&](Call &call) { return rfs::resolve(call, kRootIno, path, false); });
    };
    auto read = [&](const std::string &path, uint64_t offset) {
        std::string bytes(100, '?');
        uint32_t ino = find(path).ino;
        size_t got = client.call_now(root, [&](Call &call) {
            return rfs::read(call, ino, offset, bytes.data(), bytes.size());
        });

        return bytes.substr(0, got);
    };
    auto target = [&](const std::string &path) {
        uint32_t ino = find(path).ino;

        return client.call_now(root, [&](Call &call) { return rfs::read_link(call, ino); });
    };

    CHECK(read("/hello", 0) == "hello\n");
    for (const std::string &name : { kLong, kFirst, kSecond })
        CHECK(read(name, 0) == "hello\n");
    CHECK(read("/d/large", 40 * kBlockBytes - 2) == std::string("\0\0large", 7));
    CHECK(target("/short") == "hello");
    CHECK(target("/d/long") == kTarget);
    CHECK(find("/null").row.device == (1 << 20 | 3));
    CHECK(find("/hello").row.links == 4);

    uint32_t hello = find("/hello").ino;

    CHECK(client.call_now(root, [&](Call &call) { return rfs::list_xattrs(call, hello); }) ==
          std::string("user.a\0user.b\0", 14));
    CHECK(client.call_now(root, [&](Call &call) {
        return rfs::get_xattr(call, hello, "user.b");
    }) == std::string(600, 'b'));

    auto holder = client.call_now(root, [&](Call &call) {
        return rfs::test_lock(call, hello,
                              { 9, 9, 1, 1, 1, rfs::LockKind::posix, rfs::LockType::write });
    });

    REQUIRE(holder);
    CHECK(holder->pid == 4321);
}

TEST_CASE("golden: fs/FORMAT.md has the fields of the rows in the code, and no other", "[golden]")
{
    CHECK(documented("### volume") ==
          std::vector<Field>{ FIELD(VolumeRow, uuid), FIELD(VolumeRow, name_seed),
                              FIELD(VolumeRow, made_ns), FIELD(VolumeRow, block_bytes),
                              FIELD(VolumeRow, unused) });
    CHECK(documented("### inodes") ==
          std::vector<Field>{
              FIELD(InodeRow, mode), FIELD(InodeRow, uid), FIELD(InodeRow, gid),
              FIELD(InodeRow, links), FIELD(InodeRow, size), FIELD(InodeRow, blocks),
              FIELD(InodeRow, atime_ns), FIELD(InodeRow, mtime_ns), FIELD(InodeRow, ctime_ns),
              FIELD(InodeRow, btime_ns), FIELD(InodeRow, data_version), FIELD(InodeRow, cut),
              FIELD(InodeRow, generation), FIELD(InodeRow, parent), FIELD(InodeRow, device),
              FIELD(InodeRow, xattr_bytes), FIELD(InodeRow, pointers) });
    CHECK(documented("### names") == std::vector<Field>{ FIELD(NameRow, ino), FIELD(NameRow, type),
                                                         FIELD(NameRow, length),
                                                         FIELD(NameRow, head) });
    CHECK(documented("A name of more than 90") ==
          std::vector<Field>{ FIELD(LongNameRow, tail), FIELD(LongNameRow, unused) });
    CHECK(documented("### maps") == std::vector<Field>{ FIELD(MapRow, pointers) });
    CHECK(documented("A **pointer**") ==
          std::vector<Field>{ FIELD(Pointer, place), FIELD(Pointer, sum) });
    CHECK(documented("### blobs") == std::vector<Field>{ FIELD(BlobRow, bytes) });
    CHECK(documented("The **stream") == std::vector<Field>{ FIELD(XattrHead, name_bytes),
                                                            FIELD(XattrHead, unused),
                                                            FIELD(XattrHead, value_bytes) });
    CHECK(documented("### slabs") ==
          std::vector<Field>{ FIELD(SlabRow, owner), FIELD(SlabRow, used) });
    CHECK(documented("### mounts") == std::vector<Field>{ FIELD(MountsRow, clients),
                                                          FIELD(MountsRow, solo),
                                                          FIELD(MountsRow, changes) });
    CHECK(documented("### orphans") == std::vector<Field>{ FIELD(OrphanRow, clients) });
    CHECK(documented("### locks") ==
          std::vector<Field>{ FIELD(LockRow, start), FIELD(LockRow, end), FIELD(LockRow, owner),
                              FIELD(LockRow, pid), FIELD(LockRow, client), FIELD(LockRow, kind),
                              FIELD(LockRow, type) });
    CHECK(documented("A client that has locks") ==
          std::vector<Field>{ FIELD(LockedFileRow, beat) });
}
