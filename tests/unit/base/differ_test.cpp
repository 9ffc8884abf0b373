// SPDX-License-Identifier: BSD-3-Clause
// differ_test.cpp: the first difference of two ranges, at every place around a line of 64 bytes.
extern "C" {
#include "base/differ.h"
}
#include "support/catch.h"

#include <cstring>
#include <vector>

namespace
{

std::vector<unsigned char> mixed(size_t bytes)
{
    std::vector<unsigned char> all(bytes);

    for (size_t i = 0; i < bytes; i++)
        all[i] = static_cast<unsigned char>(i * 7 + i / 251);
    return all;
}

} // namespace

TEST_CASE("differ: equal ranges have no difference, whatever their length and place", "[unit]")
{
    std::vector<unsigned char> one = mixed(1000);

    for (size_t from = 0; from < 9; from++)
        for (size_t len = 0; len < 300; len++) {
            std::vector<unsigned char> other(one.begin() + static_cast<long>(from),
                                             one.begin() + static_cast<long>(from + len));

            CAPTURE(from, len);
            REQUIRE(rpmi_differ_at(&one[from], other.data(), len) == len);
        }
    CHECK(rpmi_differ_at(one.data(), one.data(), one.size()) == one.size());
}

TEST_CASE("differ: the first byte that differs is found, and not a later one", "[unit]")
{
    for (size_t len : { 1, 7, 8, 63, 64, 65, 128, 200 })
        for (size_t at = 0; at < len; at++) {
            std::vector<unsigned char> one = mixed(len);
            std::vector<unsigned char> other = one;

            CAPTURE(len, at);
            other[at] ^= 0x80;
            REQUIRE(rpmi_differ_at(one.data(), other.data(), len) == at);
            REQUIRE(rpmi_differ_at(other.data(), one.data(), len) == at);
            REQUIRE(rpmi_differ_at(one.data(), other.data(), at) == at); // it is not looked at
            other[len - 1] ^= 1;
            REQUIRE(rpmi_differ_at(one.data(), other.data(), len) == at);
        }
}

TEST_CASE("differ: ranges may overlap", "[unit]")
{
    std::vector<unsigned char> bytes(500, 'x');

    CHECK(rpmi_differ_at(bytes.data(), &bytes[3], 497) == 497);
    bytes[300] = 'y';
    CHECK(rpmi_differ_at(bytes.data(), &bytes[3], 497) == 297);
}
