// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/err.h"
#include "base/mem.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <cstring>
#include <string>
#include <thread>

// At an impossible size a sanitizer ends the process, unless its options say to return NULL as
// malloc() does.
extern "C" const char *__asan_default_options()
{
    return "allocator_may_return_null=1";
}

extern "C" const char *__tsan_default_options()
{
    return "allocator_may_return_null=1";
}

TEST_CASE("mem: memory is zeroed, aligned and counted", "[unit]")
{
    size_t bytes = GENERATE(0, 1, 63, 64, 4097, 1 << 20);
    size_t align = GENERATE(8, 16, 64, 4096);
    uint64_t before = rpmi_mem_count();
    unsigned char *ptr = static_cast<unsigned char *>(rpmi_alloc(bytes, align));

    CAPTURE(bytes, align);
    REQUIRE(ptr != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(ptr) % align == 0);
    for (size_t i = 0; i < bytes; i++)
        if (ptr[i] != 0)
            FAIL("byte " << i << " is not zero");
    REQUIRE(rpmi_mem_count() == before + 1);
    memset(ptr, 0xff, bytes); // so that the next round gets memory with old contents
    rpmi_free(ptr);
    rpmi_free(nullptr);
}

TEST_CASE("mem: memory that is not set is aligned, counted, and fails when it is told to", "[unit]")
{
    size_t bytes = GENERATE(0, 64, 1 << 20);
    size_t align = GENERATE(8, 64, 4096);
    uint64_t before = rpmi_mem_count();
    void *ptr = rpmi_alloc_unset(bytes, align);

    CAPTURE(bytes, align);
    REQUIRE(ptr != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(ptr) % align == 0);
    memset(ptr, 0xff, bytes);
    rpmi_free(ptr);
    rpmi_mem_fail_at(1);
    REQUIRE(rpmi_alloc_unset(bytes, align) == nullptr);
    REQUIRE(rpmi_alloc_unset(SIZE_MAX / 2, 64) == nullptr);
    REQUIRE(rpmi_mem_count() == before + 1);
}

TEST_CASE("mem: an impossible size is refused with a text", "[unit]")
{
    uint64_t before = rpmi_mem_count();

    rpmi_fail(RPM_E_IO, "older");
    REQUIRE(rpmi_alloc(SIZE_MAX / 2, 64) == nullptr);
    REQUIRE(std::string(rpm_last_error()).find("out of memory") == 0);
    REQUIRE(rpmi_alloc(SIZE_MAX - 100, 8) == nullptr);
    REQUIRE(rpmi_mem_count() == before);
}

TEST_CASE("mem: allocating while frozen is an assertion, in this thread only", "[unit]")
{
    void *elsewhere = nullptr;

    REQUIRE(death_of([] {
                rpmi_mem_freeze();
                rpmi_free(rpmi_alloc(8, 8));
            }) != "");
    // Nested: one thaw is not enough.
    REQUIRE(death_of([] {
                rpmi_mem_freeze();
                rpmi_mem_freeze();
                rpmi_mem_thaw();
                rpmi_free(rpmi_alloc(8, 8));
            }) != "");
    rpmi_mem_freeze();
    std::thread([&] { elsewhere = rpmi_alloc(8, 8); }).join();
    rpmi_mem_thaw();
    REQUIRE(elsewhere != nullptr);
    rpmi_free(elsewhere);
    rpmi_free(rpmi_alloc(8, 8)); // thawed
    REQUIRE(death_of([] { rpmi_mem_thaw(); }) != "");
}

TEST_CASE("mem: exactly the nth allocation fails", "[unit]")
{
    for (uint64_t nth = 1; nth <= 5; nth++) {
        rpmi_mem_fail_at(nth);
        for (uint64_t i = 1; i <= 6; i++) {
            void *ptr = rpmi_alloc(32, 8);

            CAPTURE(nth, i);
            REQUIRE((ptr == nullptr) == (i == nth));
            rpmi_free(ptr);
        }
    }
    rpmi_mem_fail_at(1);
    rpmi_mem_fail_at(0);
    void *ptr = rpmi_alloc(32, 8);
    REQUIRE(ptr != nullptr);
    rpmi_free(ptr);
}

// Opens like a handle does: three blocks, and each allocation may fail.
static int open_three(rpmi_arena *arena, void **extra)
{
    int err = rpmi_arena_open(arena, nullptr, rpmi_arena_cost(100) + rpmi_arena_cost(1));

    if (err != 0)
        return err;
    extra[0] = rpmi_alloc(10, 8);
    extra[1] = extra[0] == nullptr ? nullptr : rpmi_alloc(10, 64);
    if (extra[1] != nullptr)
        return 0;
    rpmi_free(extra[0]);
    rpmi_arena_close(arena);
    return RPM_E_NOMEM;
}

TEST_CASE("mem: walking every allocation of an open finds a clean refusal each time", "[unit]")
{
    int refused = 0;

    for (uint64_t nth = 1; nth <= 10; nth++) {
        rpmi_arena arena = {};
        void *extra[2] = {};
        uint64_t before = rpmi_mem_count();

        rpmi_mem_fail_at(nth);
        int err = open_three(&arena, extra);
        rpmi_mem_fail_at(0);
        if (err == 0) {
            REQUIRE(rpmi_mem_count() == before + 3);
            rpmi_free(extra[0]);
            rpmi_free(extra[1]);
            rpmi_arena_close(&arena);
            break;
        }
        REQUIRE(err == RPM_E_NOMEM);
        REQUIRE(arena.base == nullptr);
        refused++;
    }
    REQUIRE(refused == 3);
}

TEST_CASE("mem: an arena hands out zeroed lines up to its size", "[unit]")
{
    rpmi_arena arena = {};

    REQUIRE(rpmi_arena_cost(0) == 0);
    REQUIRE(rpmi_arena_cost(1) == 64);
    REQUIRE(rpmi_arena_cost(64) == 64);
    REQUIRE(rpmi_arena_cost(65) == 128);
    REQUIRE(rpmi_arena_open(&arena, nullptr, 192) == 0);
    unsigned char *one = static_cast<unsigned char *>(rpmi_arena_take(&arena, 65));
    unsigned char *two = static_cast<unsigned char *>(rpmi_arena_take(&arena, 64));
    REQUIRE(reinterpret_cast<uintptr_t>(one) % 64 == 0);
    REQUIRE(two == one + 128);
    REQUIRE(death_of([&] { rpmi_arena_take(&arena, 1); }) != "");
    REQUIRE(death_of([&] { rpmi_arena_take(&arena, SIZE_MAX - 3); }) != "");
    rpmi_arena_close(&arena);
    REQUIRE(arena.base == nullptr);
}

TEST_CASE("mem: an arena over the caller's memory allocates and frees nothing", "[unit]")
{
    alignas(64) unsigned char mem[256];
    rpmi_arena arena = {};

    memset(mem, 0xee, sizeof(mem));
    rpmi_mem_freeze();
    REQUIRE(rpmi_arena_open(&arena, mem, sizeof(mem)) == 0);
    unsigned char *piece = static_cast<unsigned char *>(rpmi_arena_take(&arena, 100));
    rpmi_arena_close(&arena);
    rpmi_mem_thaw();
    REQUIRE(piece == mem);
    for (int i = 0; i < 100; i++)
        REQUIRE(mem[i] == 0);
    REQUIRE(mem[128] == 0xee);
    REQUIRE(rpmi_arena_open(&arena, mem + 8, 128) == RPM_E_INVAL);
}
