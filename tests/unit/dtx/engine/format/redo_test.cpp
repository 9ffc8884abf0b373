// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/redo.h"

#include "unit/dtx/engine/database.h"

#include <cstring>

namespace
{

struct Fixture {
    Tables tables{ 100 };
    dtx::Layout layout{ tables.schema };
    dtx::ReadWriteSet set;
    std::vector<dtx::Spare> spares{ { dtx::Address::of(0, tables.accounts.number, 7), 0 },
                                    { dtx::Address::of(0, tables.sorted.number, 9), 12 } };
    std::vector<unsigned char> record;

    Fixture()
    {
        for (uint64_t slot = 0; slot < 3; slot++) {
            dtx::Access *access =
                set.add(dtx::Address::of(0, tables.accounts.number + slot % 2, slot),
                        layout.table(tables.accounts.number + slot % 2).slot_bytes);

            std::memset(access->image, 0, access->bytes);
            access->header().version = slot + 1;
            access->header().flags = dtx::kObjectValid;
            dtx::seal(access->image, access->bytes);
        }
        dtx::encode_redo(99, set.sorted(), spares, record);
    }
    bool decodes(std::vector<unsigned char> bytes, unsigned *calls, uint32_t shards = 1) const
    {
        return dtx::decode_redo(layout, shards, bytes.data(), bytes.size(),
                                [&](dtx::Address, const unsigned char *, uint32_t) { (*calls)++; });
    }
};

} // namespace

TEST_CASE_METHOD(Fixture, "dtx: a redo record gives back what was put into it", "[unit]")
{
    size_t i = 0;
    size_t k = 0;
    auto take_object = [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
        dtx::Access *access = set.sorted()[i++];

        CHECK(address == access->address);
        REQUIRE(bytes == access->bytes);
        CHECK(std::memcmp(image, access->image, bytes) == 0);
    };
    auto take_spare = [&](const dtx::Spare &spare) {
        REQUIRE(k < spares.size());
        CHECK(spare.address == spares[k].address);
        CHECK(spare.version == spares[k++].version);
    };

    REQUIRE(dtx::decode_redo(layout, 1, record.data(), record.size(), take_object, take_spare));
    CHECK(i == 3);
    CHECK(k == 2);
    CHECK(record.size() == dtx::redo_bytes(set.sorted(), 2));
    CHECK_FALSE(dtx::is_note(record.data()));
    dtx::encode_redo(99, {}, spares, record);
    CHECK(dtx::is_note(record.data()));
}

TEST_CASE_METHOD(Fixture,
                 "dtx: a redo record that is truncated or changed is refused, without a callback",
                 "[unit]")
{
    unsigned calls = 0;

    for (size_t bytes = 0; bytes < record.size(); bytes++)
        REQUIRE_FALSE(
            decodes({ record.begin(), record.begin() + static_cast<long>(bytes) }, &calls));
    for (size_t at = sizeof(uint64_t); at < record.size(); at++) {
        std::vector<unsigned char> bent = record;
        size_t first_spare = bent.size() - spares.size() * sizeof(dtx::Spare);

        bent[at] ^= 0x80;
        /* A flipped bit may give another valid address, or version of a spare slot: only their own
         * bytes may decode. librpm checks the record as a whole. */
        if (at < first_spare && decodes(bent, &calls))
            CHECK((at - 16) % 72 < 8);
    }
    record.push_back(0);
    CHECK_FALSE(decodes(record, &calls));
}

TEST_CASE_METHOD(Fixture, "dtx: a redo record of a shard that the database lacks is refused",
                 "[unit]")
{
    constexpr size_t kShardByte = sizeof(dtx::RedoHeader) + sizeof(uint64_t) - 1;
    unsigned calls = 0;

    record[kShardByte] = 2;
    CHECK_FALSE(decodes(record, &calls, 2));
    CHECK(calls == 0);
    CHECK(decodes(record, &calls, 3));
    CHECK(calls == 3);
}

TEST_CASE_METHOD(Fixture, "dtx: a redo record with a spare slot that cannot be one is refused",
                 "[unit]")
{
    dtx::Address wrong = GENERATE(dtx::Address::of(1, 1, 0), dtx::Address::of(0, 5, 0),
                                  dtx::Address::of(0, 1, 100), dtx::Address::of(0, 0, 1));
    unsigned calls = 0;

    CHECK(decodes(record, &calls));
    spares[1].address = wrong;
    calls = 0;
    dtx::encode_redo(99, set.sorted(), spares, record);
    CHECK_FALSE(decodes(record, &calls));
    CHECK(calls == 0);
}
