// SPDX-License-Identifier: BSD-3-Clause
// Extended attributes as bytes, and bytes that are none.
#include "core/format/xattr_stream.h"

#include "support/catch.h"

using rfs::decode_xattrs;
using rfs::encode_xattrs;
using rfs::kXattrsMax;
using rfs::Xattr;

namespace
{

// The stream of an attribute whose head says what it says.
std::string entry(unsigned name_bytes, unsigned value_bytes, const std::string &rest,
                  char unused = 0)
{
    return std::string{ static_cast<char>(name_bytes), unused,
                        static_cast<char>(value_bytes & 0xff),
                        static_cast<char>(value_bytes >> 8) } +
           rest;
}

} // namespace

TEST_CASE("fs: a stream of attributes has its bytes in order", "[unit]")
{
    std::string value(300, 'v');
    std::string stream = encode_xattrs({ { "user.a", "" }, { "user.b", value } });

    CHECK(stream == entry(6, 0, "user.a") + entry(6, 300, "user.b" + value));
    CHECK(rfs::stream_bytes({ { "user.a", "" }, { "user.b", value } }) == stream.size());
    CHECK(encode_xattrs({}) == "");
    CHECK(decode_xattrs("").value().empty());

    std::vector<Xattr> found = decode_xattrs(stream).value();

    REQUIRE(found.size() == 2);
    CHECK((found[0].name == "user.a" && found[0].value == ""));
    CHECK((found[1].name == "user.b" && found[1].value == value));
}

TEST_CASE("fs: the longest name and the longest value fit into a stream", "[unit]")
{
    std::string name(rfs::kNameMax, 'n');
    std::string value(kXattrsMax - name.size() - sizeof(rfs::XattrHead), '\0');
    std::string stream = encode_xattrs({ { name, value } });
    std::vector<Xattr> found = decode_xattrs(stream).value();

    CHECK(stream.size() == kXattrsMax);
    CHECK(rfs::xattr_pieces(stream.size()) == 137);
    REQUIRE(found.size() == 1);
    CHECK((found[0].name == name && found[0].value == value));
}

TEST_CASE("fs: a damaged stream of attributes is not decoded", "[unit]")
{
    std::string good = entry(2, 1, "ab1") + entry(3, 2, "abc22");

    REQUIRE(decode_xattrs(good).has_value());
    for (size_t bytes = 1; bytes < good.size(); bytes++)
        CHECK(decode_xattrs(std::string_view(good).substr(0, bytes)).has_value() == (bytes == 7));
    CHECK_FALSE(decode_xattrs(entry(0, 1, "v")).has_value());
    CHECK_FALSE(decode_xattrs(entry(1, 0, "n", 1)).has_value());
    CHECK_FALSE(decode_xattrs(entry(3, 0, std::string("a\0b", 3))).has_value());
    CHECK_FALSE(decode_xattrs(entry(1, 0, "a") + entry(1, 0, "a")).has_value());
    CHECK_FALSE(decode_xattrs(entry(1, 0, "b") + entry(1, 0, "a")).has_value());
    CHECK_FALSE(decode_xattrs(good + '\0').has_value());
    CHECK(decode_xattrs(entry(1, 0, "a") + entry(1, 0, "\xff")).has_value()); // bytes, not chars
    CHECK_FALSE(decode_xattrs(entry(255, 65535, "")).has_value());
}
