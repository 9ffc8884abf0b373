// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "base/rng.h"
#include "pmem/cpu_copy.h"
}
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace
{

// Restores the copy kernel when a case ends.
struct Restore {
    ~Restore()
    {
        rpmi_cpu_choose(RPMI_COPY_KINDS);
    }
};

std::vector<unsigned char> random_bytes(rpmi_rng *rng, size_t n)
{
    std::vector<unsigned char> bytes(n);

    for (auto &byte : bytes)
        byte = static_cast<unsigned char>(rpmi_rng_next(rng) | 1);
    return bytes;
}

struct Shape {
    size_t at; // of the destination within a page-aligned buffer
    size_t head;
    size_t body;
    size_t len;
};

constexpr size_t kRoom = 1 << 14; // the longest case, and room on both sides

// Memory between two unmapped pages.
class Walled
{
  public:
    Walled()
        : map_(static_cast<unsigned char *>(
              mmap(nullptr, 6 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        REQUIRE(map_ != MAP_FAILED);
        REQUIRE(mprotect(map_ + 4096, kBytes, PROT_READ | PROT_WRITE) == 0);
    }
    ~Walled()
    {
        munmap(map_, 6 * 4096);
    }
    // An address of so many bytes next to one of the unmapped pages.
    unsigned char *place(rpmi_rng *rng, size_t bytes) const
    {
        size_t skew = rpmi_rng_below(rng, 2) * rpmi_rng_below(rng, 64);

        if (bytes + skew > kBytes)
            skew = 0;
        return map_ + 4096 + (rpmi_rng_chance(rng, 500000) ? skew : kBytes - bytes - skew);
    }

  private:
    static constexpr size_t kBytes = 4 * 4096;
    unsigned char *map_;
};

// The error of one write, or "".
std::string judge(rpmi_rng *rng, const Walled &walled, const Shape &shape)
{
    static unsigned char *room = static_cast<unsigned char *>(std::aligned_alloc(4096, kRoom));
    std::vector<unsigned char> head = random_bytes(rng, shape.head);
    std::vector<unsigned char> bytes = random_bytes(rng, shape.body + 64);
    std::vector<unsigned char> want(kRoom, 0xa5);
    unsigned char *body = &bytes[rpmi_rng_below(rng, 64)];

    if (rpmi_rng_chance(rng, 500000)) {
        body = walled.place(rng, shape.body);
        std::copy_n(bytes.begin(), shape.body, body);
    }
    std::copy(head.begin(), head.end(), &want[shape.at]);
    std::copy_n(body, shape.body, &want[shape.at + shape.head]);
    std::fill_n(&want[shape.at + shape.head + shape.body], shape.len - shape.head - shape.body, 0);
    memset(room, 0xa5, kRoom);
    if (shape.head == 24 && rpmi_rng_chance(rng, 800000)) {
        uint64_t words[3];

        memcpy(words, head.data(), sizeof(words));
        rpmi_frame_fn *const frames[] = { rpmi_cpu.nt_frame, rpmi_cpu.lone_frame, rpmi_back_frame };
        frames[rpmi_rng_below(rng, 3)](room + shape.at, words, body, shape.body, shape.len);
    } else if (rpmi_rng_chance(rng, 300000)) {
        rpmi_back_write(room + shape.at, head.data(), shape.head, body, shape.body, shape.len);
    } else {
        rpmi_nt_write(room + shape.at, head.data(), shape.head, body, shape.body, shape.len);
    }
    rpmi_cpu_fence();
    if (memcmp(want.data(), room, kRoom) == 0)
        return "";
    auto differs = std::mismatch(want.begin(), want.end(), room);
    return "byte " + std::to_string(differs.first - want.begin() - static_cast<long>(shape.at)) +
           " of the destination";
}

Shape random_shape(rpmi_rng *rng)
{
    Shape shape;
    size_t most = rpmi_rng_chance(rng, 800000) ? 400 : 9000;

    shape.at = 4096 + rpmi_rng_below(rng, 2) * rpmi_rng_below(rng, 200);
    if (rpmi_rng_chance(rng, 300000))
        shape.at &= ~size_t{ 63 };
    shape.head = rpmi_rng_chance(rng, 300000) ? 24 : rpmi_rng_below(rng, 65);
    shape.body = rpmi_rng_below(rng, most);
    shape.len = shape.head + shape.body + rpmi_rng_below(rng, 2) * rpmi_rng_below(rng, 300);
    if (rpmi_rng_chance(rng, 500000))
        shape.len = (shape.len + 63) & ~size_t{ 63 };
    return shape;
}

} // namespace

TEST_CASE("cpu_copy: every kernel writes head, body and zeros, and nothing beside them", "[unit]")
{
    Restore restore;
    int kind = GENERATE(range(0, static_cast<int>(RPMI_COPY_KINDS)));
    bool stores = GENERATE(false, true);
    Walled walled;
    rpmi_rng rng;

    if (rpmi_cpu_choose(static_cast<rpmi_cpu_copy>(kind)) != kind)
        return; // this CPU lacks the kernel
    rpmi_cpu.store_max = stores ? 256 : 0;
    rpmi_cpu.back_max = stores ? 768 : 0;
    rpmi_rng_seed(&rng, 7);
    for (int i = 0; i < 4000; i++) {
        Shape shape = random_shape(&rng);
        std::string wrong = judge(&rng, walled, shape);

        if (!wrong.empty())
            FAIL(rpmi_cpu.copy_name << ": at " << shape.at << " head " << shape.head << " body "
                                    << shape.body << " len " << shape.len << ": " << wrong);
    }
    SUCCEED();
}

TEST_CASE("cpu_copy: lines around the edges of mapped memory are neither read nor written",
          "[unit]")
{
    Restore restore;
    int kind = GENERATE(range(0, static_cast<int>(RPMI_COPY_KINDS)));
    unsigned char *map = static_cast<unsigned char *>(
        mmap(nullptr, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    alignas(64) unsigned char to[256];

    REQUIRE(map != MAP_FAILED);
    REQUIRE(mprotect(map + 4096, 4096, PROT_READ | PROT_WRITE) == 0);
    (void)rpmi_cpu_choose(static_cast<rpmi_cpu_copy>(kind));
    unsigned char *last = map + 2 * 4096 - 40;
    std::fill_n(last, 40, static_cast<unsigned char>(3));
    std::fill_n(map + 4096, 24, static_cast<unsigned char>(2));

    rpmi_nt_write(to, map + 4096, 24, last, 40, 64); // body ends with its page
    CHECK((to[23] == 2 && to[24] == 3 && to[63] == 3));
    rpmi_nt_write(to, nullptr, 0, map + 4096, 24, 128); // body begins with its page
    CHECK((to[0] == 2 && to[23] == 2 && to[24] == 0 && to[127] == 0));
    rpmi_nt_write(map + 4096, nullptr, 0, to, 24, 40); // so does the destination
    rpmi_nt_write(last, to, 24, nullptr, 0, 40);       // and ends with it
    rpmi_cpu_flush(last, 40);
    rpmi_cpu_fence();
    CHECK((last[23] == 2 && last[24] == 0));
    munmap(map, 3 * 4096);
}

TEST_CASE("cpu_copy: a plain write puts down the same bytes", "[unit]")
{
    unsigned char to[40];
    const unsigned char head[] = { 1, 2, 3 };
    const unsigned char body[] = { 4, 5 };

    std::fill_n(to, sizeof(to), static_cast<unsigned char>(9));
    rpmi_plain_write(to + 1, head, 3, body, 2, 8);
    const unsigned char want[] = { 9, 1, 2, 3, 4, 5, 0, 0, 0, 9 };
    CHECK(std::equal(want, want + sizeof(want), to));
}

namespace
{

std::vector<std::pair<const unsigned char *, size_t>> flushed;

void note_flush(const void *ptr, size_t len)
{
    flushed.emplace_back(static_cast<const unsigned char *>(ptr), len);
}

} // namespace

TEST_CASE("cpu_copy: every line of a cached copy is written back", "[unit]")
{
    Restore restore;
    int kind = GENERATE(range(0, static_cast<int>(RPMI_COPY_KINDS)));
    size_t len = GENERATE(1u, 63u, 64u, 200u, 4096u, 5000u);
    size_t at = GENERATE(0u, 1u, 63u);
    std::vector<unsigned char> to(6000);
    std::string body(len, 'b');

    (void)rpmi_cpu_choose(static_cast<rpmi_cpu_copy>(kind));
    rpmi_cpu.flush = note_flush;
    flushed.clear();
    rpmi_back_write(&to[at], nullptr, 0, body.data(), len, len);
    REQUIRE(flushed.size() == 1);
    CHECK(flushed[0].first == &to[at]);
    CHECK(flushed[0].second == len);
}

TEST_CASE("cpu_copy: without stores past the caches every write is flushed whole", "[unit]")
{
    Restore restore;
    size_t len = GENERATE(24u, 64u, 200u, 5000u);
    size_t at = GENERATE(0u, 1u, 63u);
    std::vector<unsigned char> to(6000);
    std::string body(len, 'b');
    const uint64_t head[3] = { 1, 2, 3 };

    REQUIRE(rpmi_cpu_choose(RPMI_COPY_PLAIN) == RPMI_COPY_PLAIN);
    rpmi_cpu.flush = note_flush;
    flushed.clear();
    rpmi_nt_write(&to[at], nullptr, 0, body.data(), len, len);
    rpmi_cpu.nt_frame(&to[at], head, body.data(), len - 24, len);
    rpmi_cpu.lone_frame(&to[at], head, body.data(), len - 24, len);
    REQUIRE(flushed.size() == 3);
    for (const auto &range : flushed) {
        CHECK(range.first == &to[at]);
        CHECK(range.second == len);
    }
}
