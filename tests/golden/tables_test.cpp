// SPDX-License-Identifier: BSD-3-Clause
// tables_test.cpp: every table of lib/wire. Its codec makes the golden bytes from what it reads in
// them, and refuses each field out of range, each other byte, and each shorter message.
extern "C" {
#include "base/bytes.h"
}
#include "golden/tables.h"

#include <filesystem>
#include <regex>
#include <set>

static std::vector<Format> all_formats()
{
    std::vector<Format> all;

    for (auto part : { media_formats, tier_formats, handshake_formats, call_formats,
                       message_formats, step_formats })
        for (Format &format : part())
            all.push_back(std::move(format));
    return all;
}

static Bytes golden_of(const Format &format)
{
    Bytes file = golden(format.golden);
    size_t bytes = format.bytes != 0 ? format.bytes : file.size() - format.at;

    REQUIRE(format.at + bytes <= file.size());
    REQUIRE(bytes >= format.layout->bytes);
    return Bytes(file.begin() + static_cast<long>(format.at),
                 file.begin() + static_cast<long>(format.at + bytes));
}

// Is @in refused?
static bool refuses(const Format &format, const Bytes &in)
{
    Bytes out(in.size(), 0xee);

    return format.recode(in, out) < 0;
}

// Is @in encoded again to the same bytes, so that no bit of it was ignored?
static bool accepts(const Format &format, const Bytes &in)
{
    Bytes out(in.size(), 0xee);

    return format.recode(in, out) >= 0 && out == in;
}

static void store(Bytes &bytes, const rpmi_field &field, uint64_t value)
{
    for (uint32_t i = 0; i < field.bytes; i++)
        bytes.at(field.at + i) = static_cast<unsigned char>(value >> 8 * i);
}

// Bytes that every version of the format has as they are: reserved ones, and those that the codec
// makes by itself, except a random number and messages in the message.
static std::vector<bool> fixed_bytes(const rpmi_layout &layout)
{
    const std::set<std::string> varying = { "random", "head", "sealed accept", "grant" };
    std::vector<bool> fixed(layout.bytes, true);

    for (uint32_t i = 0; i < layout.fields; i++) {
        const rpmi_field &field = layout.field[i];

        if (field.kind != RPMI_FIELD_OWN || varying.count(field.name) != 0)
            std::fill_n(fixed.begin() + field.at, field.bytes, false);
    }
    return fixed;
}

TEST_CASE("golden: every table that lib/wire declares is tested here", "[golden]")
{
    const std::regex declared(R"(rpmi_layout rpmi_(\w+)_layout;)");
    std::set<std::string> in_code;
    std::set<std::string> tested;

    for (const auto &entry : std::filesystem::directory_iterator(GOLDEN_DIR "/../../lib/wire")) {
        std::ifstream file(entry.path());
        std::string line;
        std::smatch name;

        while (entry.path().extension() == ".h" && std::getline(file, line))
            if (std::regex_search(line, name, declared))
                in_code.insert(name[1]);
    }
    for (const Format &format : all_formats())
        tested.insert(format.name);
    REQUIRE(in_code.size() > 20);
    REQUIRE(tested == in_code);
}

TEST_CASE("golden: every codec reads its golden bytes and makes them again", "[golden]")
{
    for (const Format &format : all_formats()) {
        Bytes expected = golden_of(format);

        CAPTURE(format.name, format.golden, format.at);
        CHECK(accepts(format, expected));
    }
}

// The codecs on the data path have the table unrolled, and not these functions.
TEST_CASE("golden: a table without its codec reads and makes the golden bytes as well", "[golden]")
{
    for (const Format &format : all_formats()) {
        const rpmi_layout &layout = *format.layout;
        Bytes expected = golden_of(format);
        Bytes memory(1024);
        Bytes made(layout.bytes, 0xee);

        CAPTURE(format.name, format.golden, format.at);
        REQUIRE(rpmi_layout_get(&layout, expected.data(), memory.data()) == nullptr);
        rpmi_layout_put(&layout, made.data(), memory.data());
        for (uint32_t i = 0; i < layout.fields; i++)
            if (layout.field[i].kind == RPMI_FIELD_OWN)
                std::copy_n(expected.begin() + layout.field[i].at, layout.field[i].bytes,
                            made.begin() + layout.field[i].at);
        expected.resize(layout.bytes);
        CHECK(made == expected);
    }
}

TEST_CASE("golden: every number out of its range is refused, in every format", "[golden]")
{
    for (const Format &format : all_formats()) {
        const rpmi_layout &layout = *format.layout;
        const Bytes sound = golden_of(format);
        size_t named = 0;

        CAPTURE(format.name, format.golden, format.at);
        for (uint32_t i = 0; i < layout.fields; i++) {
            const rpmi_field &field = layout.field[i];
            auto entry = format.refused.find(field.name);

            CAPTURE(field.name);
            if (field.kind != RPMI_FIELD_NUMBER)
                continue;
            REQUIRE(entry != format.refused.end());
            named++;
            for (uint64_t value : entry->second) {
                Bytes changed = sound;

                CAPTURE(value);
                store(changed, field, value);
                format.seal(changed);
                CHECK(refuses(format, changed));
            }
            if (entry->second.empty()) {
                Bytes changed = sound;

                store(changed, field, UINT64_MAX);
                format.seal(changed);
                CHECK(accepts(format, changed));
            }
        }
        CHECK(named == format.refused.size());
    }
}

TEST_CASE("golden: a text that is not ended by zeros is refused, in every format", "[golden]")
{
    for (const Format &format : all_formats())
        for (uint32_t i = 0; i < format.layout->fields; i++) {
            const rpmi_field &field = format.layout->field[i];
            Bytes behind = golden_of(format);
            Bytes full = behind;

            CAPTURE(format.name, format.golden, field.name);
            if (field.kind != RPMI_FIELD_TEXT)
                continue;
            behind.at(field.at + field.bytes - 1) = 'x';
            std::fill_n(full.begin() + field.at, field.bytes, 'x');
            format.seal(behind);
            format.seal(full);
            CHECK(refuses(format, behind));
            CHECK(refuses(format, full));
        }
}

TEST_CASE("golden: no byte of a format is ignored: changed, it is refused or has another meaning",
          "[golden]")
{
    for (const Format &format : all_formats()) {
        const Bytes sound = golden_of(format);
        std::vector<bool> fixed = fixed_bytes(*format.layout);
        std::vector<size_t> ignored;

        CAPTURE(format.name, format.golden, format.at);
        fixed.resize(sound.size());
        for (size_t at = 0; at < sound.size(); at++)
            for (int bits : { 0x01, 0x80, 0xff }) {
                Bytes changed = sound;
                Bytes sealed;

                changed[at] = static_cast<unsigned char>(changed[at] ^ bits);
                sealed = changed;
                format.seal(sealed);
                if (!refuses(format, changed) && (fixed[at] || !accepts(format, changed)))
                    ignored.push_back(at);
                if (!refuses(format, sealed) && !accepts(format, sealed))
                    ignored.push_back(at);
            }
        CHECK(ignored == std::vector<size_t>());
    }
}

TEST_CASE("golden: a message that was cut short is refused, also if it was filled up with zeros",
          "[golden]")
{
    for (const Format &format : all_formats()) {
        const Bytes sound = golden_of(format);
        std::vector<size_t> taken;

        CAPTURE(format.name, format.golden, format.at);
        for (size_t bytes = 0; bytes < sound.size(); bytes++) {
            Bytes cut(sound.begin(), sound.begin() + static_cast<long>(bytes));

            if (format.sized && !refuses(format, cut))
                taken.push_back(bytes);
            cut.resize(sound.size());
            if (!refuses(format, cut) && !accepts(format, cut)) // its last bytes may be zeros
                taken.push_back(bytes);
        }
        CHECK(taken == std::vector<size_t>());
    }
}
