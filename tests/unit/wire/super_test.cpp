// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/super.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

static const uint64_t POOL_BYTES = 1 << 20;
using Bytes = std::vector<unsigned char>;

static rpmi_super sample_super()
{
    rpmi_super super = {};

    super.version = RPMI_FORMAT_VERSION;
    super.pool_id = 0xfeedfacecafebeefull;
    super.pool_bytes = POOL_BYTES;
    super.dir_offset = RPMI_DIR_OFFSET;
    super.entries = rpmi_super_entries(POOL_BYTES);
    super.data_offset = RPMI_DIR_OFFSET + super.entries * RPMI_DIRENT_BYTES;
    return super;
}

static Bytes made_super(const rpmi_super &super = sample_super())
{
    Bytes block(RPMI_SUPER_BYTES, 0xff);

    rpmi_store64(block.data(), rpmi_super_put(block.data(), &super));
    return block;
}

static rpmi_dirent sample_dirent(const char *name = "orders/2024.log")
{
    rpmi_dirent entry = {};

    strcpy(entry.name, name);
    entry.kind = RPM_KIND_LOG;
    entry.offset = 65536;
    entry.bytes = 65536;
    entry.id = 42;
    return entry;
}

static Bytes made_dirent(const rpmi_dirent &entry = sample_dirent())
{
    Bytes slot(RPMI_DIRENT_BYTES, 0xff);

    rpmi_dirent_put(slot.data(), &entry);
    for (uint32_t at : { 0u, RPMI_DIRENT_STATE_2 })
        rpmi_store64(&slot[at], rpmi_dirent_used());
    return slot;
}

// Changes one field of an encoded superblock, and makes its checksum valid again.
static void forge_super(Bytes &block, unsigned at, uint32_t value)
{
    rpmi_store32(&block[at], value);
    rpmi_store64(&block[2040], rpmi_sum(&block[8], 2032));
}

static void forge_dirent(Bytes &slot, unsigned at, uint32_t value)
{
    rpmi_store32(&slot[at], value);
    rpmi_store64(&slot[248], rpmi_sum(&slot[8], 232));
}

TEST_CASE("super: an encoded superblock is decoded unchanged", "[unit]")
{
    rpmi_super out = {};
    Bytes block = made_super();

    REQUIRE(rpmi_super_get(block.data(), POOL_BYTES, &out) == 0);
    REQUIRE(out.version == RPMI_FORMAT_VERSION);
    REQUIRE(out.pool_id == 0xfeedfacecafebeefull);
    REQUIRE(out.pool_bytes == POOL_BYTES);
    REQUIRE(out.dir_offset == RPMI_DIR_OFFSET);
    REQUIRE(out.data_offset == 36864);
    // A file that has grown since is valid.
    REQUIRE(rpmi_super_get(block.data(), 2 * POOL_BYTES, &out) == 0);
}

TEST_CASE("super: zeros are an unformatted pool, other bytes are foreign", "[unit]")
{
    rpmi_super out = {};
    Bytes block(RPMI_SUPER_BYTES);

    REQUIRE(rpmi_super_get(block.data(), POOL_BYTES, &out) == RPM_E_NOENT);
    for (size_t i = 0; i < block.size(); i += 13) {
        Bytes foreign(RPMI_SUPER_BYTES);

        // Where formatting puts an id, offsets or a checksum, it may be a formatting cut short.
        if ((i >= 16 && i < 24) || (i >= 32 && i < 48) || i >= 2040)
            continue;
        foreign[i] = 'x';
        CAPTURE(i);
        REQUIRE(rpmi_super_get(foreign.data(), POOL_BYTES, &out) == RPM_E_FOREIGN);
    }
    Bytes noise(RPMI_SUPER_BYTES, 0xa5);
    REQUIRE(rpmi_super_get(noise.data(), POOL_BYTES, &out) == RPM_E_FOREIGN);
    REQUIRE(out.pool_bytes == 0);
}

TEST_CASE("super: formatting cut anywhere before the magic word was never formatted", "[unit]")
{
    rpmi_super super = sample_super();
    rpmi_super out = {};
    Bytes whole(RPMI_SUPER_BYTES);
    std::vector<unsigned> words;

    REQUIRE(rpmi_super_put(whole.data(), &super) != 0);
    for (unsigned at = 0; at < RPMI_SUPER_BYTES; at += 8)
        if (rpmi_load64(&whole[at]) != 0)
            words.push_back(at);
    REQUIRE(words.size() == 7);
    for (unsigned subset = 0; subset < 1u << words.size(); subset++) {
        Bytes cut(RPMI_SUPER_BYTES);

        for (unsigned i = 0; i < words.size(); i++)
            if ((subset & (1u << i)) != 0)
                memcpy(&cut[words[i]], &whole[words[i]], 8);
        CAPTURE(subset);
        REQUIRE(rpmi_super_get(cut.data(), POOL_BYTES, &out) == RPM_E_NOENT);
        // A file may end in the middle of a page; of another size it is not this pool's.
        REQUIRE(rpmi_super_get(cut.data(), POOL_BYTES + 4095, &out) == RPM_E_NOENT);
        bool sized = rpmi_load64(&cut[24]) != 0;
        REQUIRE(rpmi_super_get(cut.data(), POOL_BYTES + 4096, &out) ==
                (sized ? RPM_E_FOREIGN : RPM_E_NOENT));
    }
}

TEST_CASE("super: without magic, anything that formatting does not write is foreign", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = { { 8, RPMI_FORMAT_VERSION + 1 },
                  { 12, 1 },
                  { 24, 4096 },
                  { 32, 4097 },
                  { 36, 1 },
                  { 40, 1 },
                  { 48, 127 },
                  { 56, 1 },
                  { 40, POOL_BYTES * 2 } };

    for (const auto &test : CASES) {
        Bytes block = made_super();
        rpmi_super out = {};

        rpmi_store64(block.data(), 0);
        REQUIRE(rpmi_super_get(block.data(), POOL_BYTES, &out) == RPM_E_NOENT);
        forge_super(block, test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_super_get(block.data(), POOL_BYTES, &out) == RPM_E_FOREIGN);
    }
}

TEST_CASE("super: a flipped bit behind the magic is never accepted", "[unit]")
{
    Bytes block = made_super();
    rpmi_super out = {};

    for (unsigned bit = 64; bit < 8 * RPMI_SUPER_BYTES; bit++) {
        block[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        int err = rpmi_super_get(block.data(), POOL_BYTES, &out);

        if (err != (bit < 96 ? RPM_E_VERSION : RPM_E_CORRUPT))
            FAIL("bit " << bit << " gives " << rpm_error_name(err));
        block[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
}

TEST_CASE("super: another version, a truncated file and fields out of bounds are reported as such",
          "[unit]")
{
    Bytes block = made_super();
    rpmi_super out = {};

    REQUIRE(rpmi_super_get(block.data(), POOL_BYTES - 1, &out) == RPM_E_CORRUPT);
    REQUIRE(std::string(rpm_last_error()).find("cut short") != std::string::npos);
    forge_super(block, 8, RPMI_FORMAT_VERSION + 1);
    REQUIRE(rpmi_super_get(block.data(), POOL_BYTES, &out) == RPM_E_VERSION);

    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = {
        { 12, 1 }, { 24, 4096 },      { 24, 61440 }, { 24, 65537 }, { 24, POOL_BYTES + 1 },
        { 32, 0 }, { 32, 4096 + 64 }, { 32, 8192 },  { 40, 0 },     { 40, 36864 + 64 },
        { 44, 1 }, { 48, 127 },       { 48, 129 },   { 48, 4097 },  { 52, 128 },
        { 56, 1 }, { 2036, 1 },
    };
    for (const auto &test : CASES) {
        Bytes forged = made_super();

        forge_super(forged, test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_super_get(forged.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
    }
    // A directory that does not start on a media line, though there is room for it.
    Bytes forged = made_super();
    forge_super(forged, 40, 40960);
    REQUIRE(rpmi_super_get(forged.data(), POOL_BYTES, &out) == 0);
    // A larger directory than a pool of this size has, though there is room for it.
    Bytes larger = forged;
    forge_super(larger, 48, 129);
    REQUIRE(rpmi_super_get(larger.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
    out = {};
    forge_super(forged, 32, 4096 + 64);
    REQUIRE(rpmi_super_get(forged.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
    REQUIRE(out.version == 0);
}

TEST_CASE("dirent: an encoded entry is decoded unchanged, and counts only with its state word",
          "[unit]")
{
    Bytes slot(RPMI_DIRENT_BYTES, 0xff);
    rpmi_dirent in = sample_dirent(std::string(63, 'n').c_str());
    rpmi_dirent out = {};

    rpmi_dirent_put(slot.data(), &in);
    REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == 0);
    rpmi_store64(slot.data(), rpmi_dirent_used());
    REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == RPMI_DIRENT_HALF);
    rpmi_store64(&slot[RPMI_DIRENT_STATE_2], rpmi_dirent_used());
    REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == RPMI_DIRENT_USED);
    REQUIRE(std::string(out.name) == std::string(63, 'n'));
    REQUIRE(out.kind == RPM_KIND_LOG);
    REQUIRE(out.offset == 65536);
    REQUIRE(out.bytes == 65536);
    REQUIRE(out.id == 42);
}

TEST_CASE("dirent: a used entry that lost a line or a word is corrupt, not free", "[unit]")
{
    rpmi_dirent out = {};

    for (size_t len : { 8u, 64u, 128u, 192u })
        for (size_t at = 0; at + len <= RPMI_DIRENT_BYTES; at += len) {
            Bytes slot = made_dirent();
            Bytes lost = slot;

            std::fill(lost.begin() + at, lost.begin() + at + len, 0);
            CAPTURE(at, len);
            int err = rpmi_dirent_get(lost.data(), POOL_BYTES, &out);
            REQUIRE(err == (lost == slot ? 1 : RPM_E_CORRUPT));
        }
    Bytes never(RPMI_DIRENT_BYTES);
    REQUIRE(rpmi_dirent_get(never.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
    rpmi_dirent_put_free(never.data());
    REQUIRE(rpmi_dirent_get(never.data(), POOL_BYTES, &out) == 0);
}

TEST_CASE("dirent: an old cache line frees no entry, nor restores one", "[unit]")
{
    rpmi_dirent other = sample_dirent("before");
    rpmi_dirent out = {};
    Bytes never(RPMI_DIRENT_BYTES);
    Bytes removed = made_dirent();

    rpmi_dirent_put_free(never.data());
    for (uint32_t at : { 0u, RPMI_DIRENT_STATE_2 })
        rpmi_store64(&removed[at], rpmi_dirent_free());
    rpmi_store64(&removed[RPMI_DIRENT_SUM], 0);
    other.id = 41;
    for (const Bytes &now : { made_dirent(), removed, never })
        for (const Bytes &past : { never, removed, made_dirent(), made_dirent(other) })
            for (size_t at = 0; at < RPMI_DIRENT_BYTES; at += 64) {
                Bytes mixed = now;
                int is = rpmi_dirent_get(now.data(), POOL_BYTES, &out);

                std::copy_n(past.begin() + at, 64, mixed.begin() + at);
                int err = rpmi_dirent_get(mixed.data(), POOL_BYTES, &out);
                CAPTURE(at, is, err);
                bool told = err == RPM_E_CORRUPT || err == is;
                bool healed = is == RPMI_DIRENT_USED && err == RPMI_DIRENT_HALF;
                REQUIRE((told || healed));
            }
}

TEST_CASE("dirent: a used entry with any bit flipped is corrupt", "[unit]")
{
    Bytes slot = made_dirent();
    rpmi_dirent out = {};

    for (unsigned bit = 0; bit < 8 * RPMI_DIRENT_BYTES; bit++) {
        slot[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CAPTURE(bit);
        REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
        slot[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == 1);
}

TEST_CASE("dirent: a checksum does not excuse fields out of bounds", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = {
        { 8, 0 },           { 8, RPM_KIND_DRAM }, { 8, 99 }, { 12, 1 },    { 16, 0 },
        { 16, 4096 - 64 },  { 16, 65537 },        { 20, 1 }, { 24, 0 },    { 24, 4096 },
        { 24, POOL_BYTES }, { 28, 0xffffffffu },  { 40, 0 }, { 40, 0x20 }, { 100, 'x' },
        { 104, 1 },         { 244, 1 },
    };

    for (const auto &test : CASES) {
        Bytes slot = made_dirent();
        rpmi_dirent out = {};

        forge_dirent(slot, test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_dirent_get(slot.data(), POOL_BYTES, &out) == RPM_E_CORRUPT);
        REQUIRE(out.bytes == 0);
    }
    // A region may be of any size but none.
    Bytes region = made_dirent();
    forge_dirent(region, 8, RPM_KIND_REGION);
    forge_dirent(region, 24, 1);
    rpmi_dirent small = {};
    REQUIRE(rpmi_dirent_get(region.data(), POOL_BYTES, &small) == 1);
    forge_dirent(region, 24, 0);
    REQUIRE(rpmi_dirent_get(region.data(), POOL_BYTES, &small) == RPM_E_CORRUPT);
    // The same entry is fine in its own pool and corrupt in a smaller one.
    rpmi_dirent out = {};
    REQUIRE(rpmi_dirent_get(made_dirent().data(), 131072, &out) == 1);
    REQUIRE(rpmi_dirent_get(made_dirent().data(), 131071, &out) == RPM_E_CORRUPT);
}

TEST_CASE("dirent: invalid arguments of the encoder are an assertion", "[unit]")
{
    Bytes slot(RPMI_DIRENT_BYTES);
    auto put = [&](rpmi_dirent entry) {
        return death_of([&] { rpmi_dirent_put(slot.data(), &entry); });
    };
    rpmi_dirent entry = sample_dirent();

    entry.kind = RPM_KIND_LOCKS;
    REQUIRE(put(entry) != "");
    entry = sample_dirent("a b");
    REQUIRE(put(entry) != "");
    entry = sample_dirent();
    entry.offset = UINT64_MAX - 63;
    REQUIRE(put(entry) != "");
}

TEST_CASE("name: letters, digits and ._-/ up to 63 bytes, nothing else", "[unit]")
{
    REQUIRE(rpmi_name_check("a") == 0);
    REQUIRE(rpmi_name_check("AZaz09._-/x") == 0);
    REQUIRE(rpmi_name_check(std::string(63, 'x').c_str()) == 0);
    for (const char *bad : { "", " ", "a b", "a\n", "a,b", "a=b", "a:b", "\xc3\xa4", "a\x7f" }) {
        CAPTURE(bad);
        REQUIRE(rpmi_name_check(bad) == RPM_E_NAME);
    }
    REQUIRE(rpmi_name_check(std::string(64, 'x').c_str()) == RPM_E_NAME);
    REQUIRE(std::string(rpm_last_error()).find("longer than 63") != std::string::npos);
    REQUIRE(rpmi_name_check(std::string(100000, 'x').c_str()) == RPM_E_NAME);
    REQUIRE(rpmi_name_check((std::string(62, 'x') + " ").c_str()) == RPM_E_NAME);
    REQUIRE(std::string(rpm_last_error()).find("position 62") != std::string::npos);
}
