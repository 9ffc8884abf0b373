// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "log/chain.h"
}
#include <librpm.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace
{

constexpr uint64_t CAPACITY = 4096;

rpmi_frame frame(uint64_t lsn, uint32_t epoch, uint32_t len = 40, uint32_t flags = 0)
{
    rpmi_frame one = {};

    one.lsn = lsn;
    one.epoch = epoch;
    one.len = len;
    one.flags = flags;
    return one;
}

// Appends @n records of one line each.
void run(std::vector<rpmi_frame> &ring, uint64_t lsn, uint32_t epoch, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        ring.push_back(frame(lsn + 64 * i, epoch));
}

struct Found {
    std::unique_ptr<rpmi_chains> chains = std::make_unique<rpmi_chains>();
    rpmi_known known = {};

    explicit Found(std::vector<rpmi_frame> ring)
    {
        std::sort(ring.begin(), ring.end(), [](const rpmi_frame &a, const rpmi_frame &b) {
            return a.lsn % CAPACITY < b.lsn % CAPACITY;
        });
        rpmi_chains_begin(chains.get(), CAPACITY, &known);
        for (const rpmi_frame &one : ring)
            rpmi_chains_add(chains.get(), &one);
        rpmi_chains_end(chains.get());
    }
    void head(uint64_t trim, uint64_t base, uint32_t epoch)
    {
        known.has_head = true;
        known.head.trim_lsn = trim;
        known.head.base_lsn = base;
        known.head.epoch = epoch;
        known.trim_lsn = trim;
    }
    // The chain that begins at @lsn.
    const rpmi_chain &at(uint64_t lsn) const
    {
        for (uint32_t i = 0; i < chains->count; i++)
            if (chains->chain[i].first_lsn == lsn)
                return chains->chain[i];
        FAIL("no chain begins at " << lsn);
        return chains->chain[0];
    }
    rpmi_start choose()
    {
        rpmi_start start = {};

        REQUIRE(rpmi_chains_choose(chains.get(), &known, &start) == 0);
        return start;
    }
    uint32_t fate(uint64_t lsn, uint64_t first, uint64_t end, uint32_t epoch)
    {
        rpmi_start start = choose();
        rpmi_chain kept = {};

        kept.first_lsn = first;
        kept.end_lsn = end;
        kept.epoch_last = epoch;
        return rpmi_chain_fate(&at(lsn), &known, &start, &kept);
    }
};

} // namespace

TEST_CASE("chain: consecutive records are a chain, across the ring's end too", "[unit]")
{
    std::vector<rpmi_frame> ring;

    run(ring, 4096 - 128, 3, 2);
    run(ring, 4096, 4, 5);
    Found found(ring);
    REQUIRE(found.chains->count == 1);
    CHECK(found.at(4096 - 128).end_lsn == 4096 + 320);
    CHECK(found.at(4096 - 128).records == 7);
    CHECK(found.at(4096 - 128).bytes == 280);
    CHECK(found.at(4096 - 128).epoch_first == 3);
    CHECK(found.at(4096 - 128).epoch_last == 4);
    CHECK(found.chains->end_lsn == 4096 + 320);
    CHECK(found.chains->epoch == 4);
    CHECK(rpmi_chains_expect(found.chains.get(), 4096 + 320));
    CHECK_FALSE(rpmi_chains_expect(found.chains.get(), 4096));
}

TEST_CASE("chain: an older writer's record behind a newer one's is not the log's", "[unit]")
{
    std::vector<rpmi_frame> ring;

    run(ring, 0, 3, 2);
    run(ring, 128, 4, 1);
    run(ring, 192, 3, 4);
    Found found(ring);
    REQUIRE(found.chains->count == 2);
    CHECK(found.at(0).end_lsn == 192);
    CHECK(found.choose().walk_lsn == 0);
    CHECK(found.fate(0, 0, 192, 4) == RPMI_FATE_KEPT);
    CHECK(found.fate(192, 0, 192, 4) == RPMI_FATE_GIVEN_UP);
}

TEST_CASE("chain: bytes of an earlier lap that a later frame skips are ignored", "[unit]")
{
    // A pad frame of 4 lines at 4096 + 64, with old records beneath it; and a media line whose
    // frame ends within its first line.
    std::vector<rpmi_frame> ring;

    run(ring, 4096, 2, 1);
    ring.push_back(frame(4096 + 64, 2, 4 * 64 - 24, RPMI_FRAME_PAD));
    run(ring, 128, 1, 2);
    ring.push_back(frame(4096 + 320, 2, 10, RPMI_FRAME_XPLINE));
    run(ring, 320 + 64, 1, 3);
    run(ring, 4096 + 576, 2, 1);
    Found found(ring);
    REQUIRE(found.chains->count == 1);
    CHECK(found.at(4096).end_lsn == 4096 + 640);
    CHECK(found.at(4096).records == 3);
}

TEST_CASE("chain: a later record inside the bytes that an earlier frame skips counts", "[unit]")
{
    std::vector<rpmi_frame> ring;

    ring.push_back(frame(0, 1, 8 * 64 - 24, RPMI_FRAME_PAD));
    run(ring, 4096 + 64, 2, 3);
    Found found(ring);
    CHECK(found.at(4096 + 64).records == 3);
    CHECK(found.choose().walk_lsn == 4096 + 64);
    // The bytes that the first frame skips behind these records are of no later lap than they are.
    CHECK(found.fate(0, 4096 + 64, 4096 + 256, 2) == RPMI_FATE_LOST);
}

TEST_CASE("chain: a valid slot says where the log begins; without one the newest records do",
          "[unit]")
{
    std::vector<rpmi_frame> ring;

    run(ring, 0, 1, 10);
    run(ring, 704, 1, 5); // one record between them is damaged
    Found found(ring);
    CHECK(found.choose().walk_lsn == 0); // more records
    found.head(64, 0, 1);
    CHECK(found.choose().walk_lsn == 64);
    CHECK(found.fate(0, 64, 640, 1) == RPMI_FATE_KEPT);
    CHECK(found.fate(704, 64, 640, 1) == RPMI_FATE_LOST);
    found.head(640, 0, 1); // the damaged record is the first one
    CHECK(found.choose().walk_lsn == 640);
    found.known.lacks_start = true;
    CHECK(found.choose().walk_lsn == 704);
    CHECK(found.choose().least_lsn == 704);
    CHECK(found.fate(0, 704, 1024, 1) == RPMI_FATE_TRIMMED);
    // A newer writer's few records come before an older one's many, and the caller's choice comes
    // first.
    run(ring, 1088, 2, 1);
    Found newer(ring);
    CHECK(newer.choose().walk_lsn == 1088);
    CHECK(newer.fate(0, 1088, 1152, 2) == RPMI_FATE_LOST);
    newer.known.has_from = true;
    newer.known.from_lsn = 704;
    CHECK(newer.choose().walk_lsn == 704);
    CHECK(newer.fate(1088, 704, 1024, 1) == RPMI_FATE_LOST);
    newer.known.from_lsn = 640;
    rpmi_start start;
    CHECK(rpmi_chains_choose(newer.chains.get(), &newer.known, &start) == RPM_E_RANGE);
    newer.head(128, 0, 1);
    newer.known.from_lsn = 64; // trimmed
    CHECK(rpmi_chains_choose(newer.chains.get(), &newer.known, &start) == RPM_E_RANGE);
}

TEST_CASE("chain: records older than a lap are trimmed, whatever an old head says", "[unit]")
{
    std::vector<rpmi_frame> ring;

    run(ring, 2048, 1, 10);
    run(ring, 4096, 1, 20);
    Found found(ring);
    found.head(0, 0, 1);
    CHECK(found.choose().floor_lsn == 20 * 64);
    CHECK(found.choose().walk_lsn == 4096);
    // A full ring is one chain.
    ring.clear();
    run(ring, 20 * 64, 1, 44);
    run(ring, 4096, 1, 20);
    Found full(ring);
    REQUIRE(full.chains->count == 1);
    CHECK(full.choose().walk_lsn == 20 * 64);
    CHECK(full.choose().least_lsn == 20 * 64);
}

TEST_CASE("chain: records behind a writer's seal never count", "[unit]")
{
    std::vector<rpmi_frame> ring;
    rpmi_frame old = frame(640, 3);
    rpmi_frame fresh = frame(640, 5);

    run(ring, 640, 3, 4);
    Found found(ring);
    found.head(640, 640, 4); // the writer appended nothing
    found.known.lacks_start = true;
    CHECK(found.choose().walk_lsn == 640);
    CHECK(found.fate(640, 640, 640, 0) == RPMI_FATE_GIVEN_UP);
    CHECK_FALSE(rpmi_known_allows(&found.known, &old, 0));
    CHECK(rpmi_known_allows(&found.known, &fresh, 0));
    CHECK_FALSE(rpmi_known_allows(&found.known, &fresh, 6));
    old.lsn = 576;
    CHECK(rpmi_known_allows(&found.known, &old, 3));
    fresh.lsn = 576;
    CHECK_FALSE(rpmi_known_allows(&found.known, &fresh, 3));
}

namespace
{

// A ring of 1 MiB with a log and, behind it, every second record of a torn burst.
struct Torn {
    std::unique_ptr<rpmi_chains> chains = std::make_unique<rpmi_chains>();
    std::vector<rpmi_frame> ring;
    rpmi_known known = {};

    void tear(uint64_t lsn, uint32_t epoch, unsigned n)
    {
        for (unsigned i = 0; i < n; i++)
            ring.push_back(frame(lsn + 128 * i, epoch));
    }
    void head(uint64_t trim, uint64_t base, uint32_t epoch)
    {
        known.has_head = true;
        known.head.trim_lsn = trim;
        known.head.base_lsn = base;
        known.head.epoch = epoch;
        known.trim_lsn = trim;
    }
    // The number of records of the chain that begins at @lsn; 0: none.
    uint64_t records_at(uint64_t lsn)
    {
        rpmi_chains_begin(chains.get(), 1 << 20, &known);
        for (const rpmi_frame &one : ring)
            rpmi_chains_add(chains.get(), &one);
        rpmi_chains_end(chains.get());
        for (uint32_t i = 0; i < chains->count; i++)
            if (chains->chain[i].first_lsn == lsn)
                return chains->chain[i].records;
        return 0;
    }
};

} // namespace

TEST_CASE("chain: of too many chains, those that cannot belong to the log are dropped first",
          "[unit]")
{
    Torn torn;

    SECTION("the log is one record, and no newer writer came")
    {
        run(torn.ring, 0, 1, 1);
        torn.tear(128, 1, 140);
        torn.head(0, 0, 1);
        CHECK(torn.records_at(0) == 1);
        CHECK(torn.chains->dropped_records == 141 - RPMI_CHAINS_MAX);
    }
    SECTION("a newer writer came, and what was torn is given up")
    {
        unsigned damaged = GENERATE(0u, 1u); // how many of the log's first records

        run(torn.ring, 64 * damaged, 1, 5 - damaged);
        run(torn.ring, 320, 2, 3);
        torn.tear(640, 1, 140);
        torn.head(0, 320, 2);
        CHECK(torn.records_at(64 * damaged) == 8 - damaged);
        CHECK(torn.chains->dropped_records == 0);
    }
    SECTION("and no slot of the head is valid")
    {
        run(torn.ring, 64, 1, 1);
        run(torn.ring, 192, 1, 2);
        run(torn.ring, 320, 2, 3);
        torn.tear(640, 1, 140);
        CHECK(torn.records_at(192) == 5);
        CHECK(torn.chains->dropped_records > 0);
    }
    SECTION("the caller says where the log begins")
    {
        run(torn.ring, 64, 1, 1);
        for (uint64_t i = 0; i < 140; i++)
            run(torn.ring, 320 + 192 * i, 2, 2);
        torn.known.has_from = true;
        torn.known.from_lsn = 64;
        CHECK(torn.records_at(64) == 1);
        CHECK(torn.chains->dropped_records > 0);
    }
    SECTION("what is more than a lap old was trimmed")
    {
        torn.tear(128, 1, 140);
        run(torn.ring, (1 << 20) + (1 << 19), 1, 3);
        torn.tear((1 << 19) + 256, 1, 140);
        CHECK(torn.records_at((1 << 20) + (1 << 19)) == 3);
    }
}

TEST_CASE("chain: a ring without records begins where its head says", "[unit]")
{
    Found none({});
    CHECK(none.choose().walk_lsn == 0);
    none.head(640, 640, 4);
    CHECK(none.choose().least_lsn == 640);
}
