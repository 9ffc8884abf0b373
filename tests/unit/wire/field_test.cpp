// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "wire/field.h"
}
#include "support/catch.h"
#include "support/death.h"

TEST_CASE("field: a text has one encoding, zeros to the end of its field", "[unit]")
{
    char field[8];
    char text[8];

    memset(field, 'x', sizeof(field));
    rpmi_text_put(field, sizeof(field), "abc");
    REQUIRE(memcmp(field, "abc\0\0\0\0\0", 8) == 0);
    REQUIRE(rpmi_text_get(field, sizeof(field), text));
    REQUIRE(std::string(text) == "abc");
    rpmi_text_put(field, sizeof(field), "1234567");
    REQUIRE(rpmi_text_get(field, sizeof(field), text));
    REQUIRE(std::string(text) == "1234567");
    REQUIRE(death_of([&] { rpmi_text_put(field, sizeof(field), "12345678"); }) != "");
}

TEST_CASE("field: a text without an end, or with something behind it, is refused", "[unit]")
{
    char text[4];

    REQUIRE_FALSE(rpmi_text_get("abcd", 4, text));
    REQUIRE_FALSE(rpmi_text_get("a\0\0b", 4, text));
    REQUIRE(rpmi_text_get("\0\0\0", 4, text));
    REQUIRE(rpmi_all_zero("\0\0\0", 3));
    REQUIRE(rpmi_all_zero("x", 0));
    REQUIRE_FALSE(rpmi_all_zero("\0\0x", 3));
}

TEST_CASE("field: bytes are all zero exactly if each of them is, at any address", "[unit]")
{
    unsigned char room[64] = {};

    for (size_t from = 0; from < 8; from++)
        for (size_t bytes = 0; bytes <= 40; bytes++) {
            REQUIRE(rpmi_all_zero(room + from, bytes));
            for (size_t at = 0; at < sizeof(room); at++) {
                room[at] = 0x80;
                REQUIRE(rpmi_all_zero(room + from, bytes) == (at < from || at >= from + bytes));
                room[at] = 0;
            }
        }
}
