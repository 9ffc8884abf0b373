// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"

extern "C" {
#include "conn/outbox.h"
}

TEST_CASE("outbox: pieces are aligned, apart, and never wrap", "[unit]")
{
    uint64_t bytes = GENERATE(4096, 4096 + 64, 65536 + 192);
    std::vector<unsigned char> memory(bytes + 64);
    rpmi_outbox box = {};
    std::deque<std::pair<uint64_t, uint64_t>> held; // start, end; and the tail behind it
    std::deque<uint64_t> tails;
    rpmi_rng rng;
    uint64_t taken = 0;
    uint64_t none = 0;

    box.base = memory.data();
    box.bytes = bytes;
    rpmi_rng_seed(&rng, bytes);
    for (int turn = 0; turn < 20000; turn++) {
        if (rpmi_rng_below(&rng, 3) == 0 && !held.empty()) {
            box.head = tails.front();
            tails.pop_front();
            held.pop_front();
            continue;
        }
        uint64_t len = 1 + rpmi_rng_below(&rng, turn % 7 == 0 ? rpmi_outbox_piece_max(&box) : 200);
        unsigned char *at = rpmi_outbox_take(&box, len);

        if (at == nullptr) {
            REQUIRE(!held.empty()); // an empty ring always has room for a piece
            none++;
            continue;
        }
        uint64_t from = static_cast<uint64_t>(at - box.base);
        REQUIRE(from % 64 == 0);
        REQUIRE(from + len <= bytes);
        for (const auto &other : held)
            REQUIRE((from >= other.second || other.first >= from + len));
        held.push_back({ from, from + len });
        tails.push_back(box.tail);
        taken++;
    }
    CHECK(taken > 1000);
    CHECK(none > 100);
}

TEST_CASE("outbox: the largest piece fits whenever nothing is held", "[unit]")
{
    uint64_t bytes = GENERATE(128, 192, 4096, 4160);
    std::vector<unsigned char> memory(bytes);
    rpmi_outbox box = {};

    box.base = memory.data();
    box.bytes = bytes;
    for (uint64_t tail = 0; tail < 4 * bytes; tail += 64) {
        box.head = box.tail = tail;
        CHECK(rpmi_outbox_take(&box, rpmi_outbox_piece_max(&box)) != nullptr);
    }
}

TEST_CASE("outbox: data are copied into the ring, unless the outbox borrows them", "[unit]")
{
    bool borrows = GENERATE(false, true);
    std::vector<unsigned char> memory(256);
    const std::string data(100, 'd');
    rpmi_outbox box = {};

    box.base = memory.data();
    box.bytes = memory.size();
    box.borrows = borrows;
    CHECK(rpmi_outbox_put_max(&box) == (borrows ? UINT64_MAX : 128));
    const void *first = rpmi_outbox_put(&box, data.data(), data.size());
    const void *second = rpmi_outbox_put(&box, data.data(), data.size());
    const void *third = rpmi_outbox_put(&box, data.data(), data.size());

    CHECK(first == (borrows ? static_cast<const void *>(data.data()) : memory.data()));
    CHECK(second == (borrows ? static_cast<const void *>(data.data()) : &memory[128]));
    CHECK(third == (borrows ? data.data() : nullptr)); // no room for a third
    CHECK(box.tail == (borrows ? 0 : 256));
    CHECK(memcmp(second, data.data(), data.size()) == 0);
}
