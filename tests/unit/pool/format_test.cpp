// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

namespace
{

// The result of opening this memory.
int verdict(loop::Mem &pool)
{
    loop::Mem dram(4096);
    rpmi_service_opts opts = {};
    rpmi_service *service = nullptr;

    opts.pool = &pool.mem;
    opts.dram = &dram.mem;
    opts.clients_max = 2;
    opts.server_epoch = 1;
    int err = rpmi_service_open(&opts, &service);
    CHECK((err == 0) == (service != nullptr));
    rpmi_service_close(&service);
    return err;
}

} // namespace

TEST_CASE("format: a formatted pool opens, and invalid sizes are refused", "[unit]")
{
    for (uint64_t bytes : { 65536, 69632, 1 << 20 }) {
        loop::Mem pool(bytes);

        REQUIRE(rpmi_pool_format(&pool.mem, 7) == 0);
        CHECK(pool.bytes == pool.kept);
        CHECK(verdict(pool) == 0);
    }
    for (uint64_t bytes : { 0, 4096, 65535, 61440, 65537, 70000 }) {
        loop::Mem pool(bytes);
        std::vector<unsigned char> before = pool.bytes;

        CHECK(rpmi_pool_format(&pool.mem, 7) == RPM_E_INVAL);
        CHECK(pool.bytes == before);
    }
}

TEST_CASE("format: memory that was never a pool is reported as such", "[unit]")
{
    loop::Mem zeros(1 << 20);
    loop::Mem text(1 << 20);
    loop::Mem small(4096);

    CHECK(verdict(zeros) == RPM_E_NOENT);
    for (size_t i = 0; i < text.bytes.size(); i++)
        text.bytes[i] = static_cast<unsigned char>("What is this? "[i % 14]);
    CHECK(verdict(text) == RPM_E_FOREIGN);
    CHECK(verdict(small) == RPM_E_FOREIGN);
}

TEST_CASE("format: power fails at each of its steps", "[unit]")
{
    for (uint32_t step = 1; step <= 3; step++) {
        loop::Mem pool(65536);

        std::fill(pool.bytes.begin() + 4096, pool.bytes.end(), 0xee);
        pool.kept = pool.bytes;
        pool.fail_persist_at = step;
        CHECK(rpmi_pool_format(&pool.mem, 7) == RPM_E_IO);
        pool.bytes = pool.kept;
        CHECK(verdict(pool) == RPM_E_NOENT); // as if it had not been formatted
        REQUIRE(rpmi_pool_format(&pool.mem, 7) == 0);
        CHECK(verdict(pool) == 0);
    }
}

TEST_CASE("format: any flipped byte of the superblock is reported, never accepted", "[unit]")
{
    loop::Mem pool(65536);

    REQUIRE(rpmi_pool_format(&pool.mem, 7) == 0);
    for (size_t at = 0; at < RPMI_SUPER_BYTES; at++) {
        for (unsigned char bits : { 0x01, 0x80, 0xff }) {
            pool.bytes[at] ^= bits;
            int err = verdict(pool);
            CAPTURE(at, bits);
            CHECK(err == (at < 8 ? RPM_E_FOREIGN : at < 12 ? RPM_E_VERSION : RPM_E_CORRUPT));
            pool.bytes[at] ^= bits;
        }
    }
    CHECK(verdict(pool) == 0);
}

TEST_CASE("format: a pool cut short", "[unit]")
{
    loop::Mem pool(1 << 20);
    loop::Mem half(512 << 10);
    loop::Mem longer(2 << 20);

    REQUIRE(rpmi_pool_format(&pool.mem, 7) == 0);
    std::copy(pool.bytes.begin(), pool.bytes.begin() + (512 << 10), half.bytes.begin());
    std::copy(pool.bytes.begin(), pool.bytes.end(), longer.bytes.begin());
    CHECK(verdict(half) == RPM_E_CORRUPT);
    CHECK(verdict(longer) == 0);
}
