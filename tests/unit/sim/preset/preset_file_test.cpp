// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/sim/preset_of.h"

extern "C" {
#include "sim/preset/preset_file.h"
}

#include <memory>
#include <string>

namespace
{

rpmi_preset_file file_of(const std::string &text)
{
    return { "x.preset", text.data(), text.size() };
}

// The error about @text; "" if it is accepted.
std::string refusal(const std::string &text, rpmi_preset *preset)
{
    rpmi_preset_file file = file_of(text);

    *preset = rpmi_preset{};
    return rpmi_preset_file_apply(&file, preset) == 0 ? "" : rpm_last_error();
}

std::string override_refusal(const std::string &text, rpmi_preset *preset)
{
    *preset = rpmi_preset{};
    return rpmi_preset_file_override(text.c_str(), preset) == 0 ? "" : rpm_last_error();
}

struct Refused {
    std::string text;
    const char *says; // in the message, which begins with file and line
};

const Refused REFUSED[] = {
    { "", ":0: the file has no settings" },
    { "\n# only talk\n", ":2: the file has no settings" },
    { "dimms\n", ":1: \"dimms\" is not name = value" },
    { "dimms =\n", ":1: \"dimms = \" is not name = value" },
    { "dimms = # six\n", ":1: \"dimms = \" is not name = value" },
    { "= 6 dimms # s\n", ":1: \" = 6 dimms\" is not name = value" },
    { "\nDimms = 6 dimms # s\n", ":2: \"Dimms\" is unknown" },
    { "media_speed = 6 ns # s\n", ":1: \"media_speed\" is unknown" },
    { "dimms = 6 dimms # s\n\ndimms = 6 dimms # s\n", ":3: dimms is given twice" },
    { "ddio = on\nddio = on\n", ":2: ddio is given twice" },
    { "dimms = -6 dimms # s\n", ":1: dimms: -6 dimms is negative" },
    { "media_read = -0.5 ns # s\n", ":1: media_read: -0.5 ns is negative" },
    { "dimms = six dimms # s\n", ":1: dimms: \"six dimms\" is not a number" },
    { "dimms = +6 dimms # s\n", ":1: dimms: \"+6 dimms\" is not a number" },
    { "media_read = .5 ns # s\n", ":1: media_read: \".5 ns\" is not a number" },
    { "media_read = 5. ns # s\n", ":1: media_read: \"5. ns\" is not a number" },
    { "media_read = 1.2.3 ns # s\n", ":1: media_read: \"1.2.3 ns\" is not a number" },
    { "media_read = 1e2 ns # s\n", ":1: media_read: \"e2 ns\" is not its unit: ns or us" },
    { "media_read = 0x20 ns # s\n", ":1: media_read: \"x20 ns\" is not its unit" },
    { "media_read = nan ns # s\n", ":1: media_read: \"nan ns\" is not a number" },
    { "dimms = 6 # s\n", ":1: dimms: 6 has no unit: dimms" },
    { "media_read = 39.3 # s\n", ":1: media_read: 39.3 has no unit: ns or us" },
    { "llc_bytes = 14417920 # s\n", ":1: llc_bytes: 14417920 has no unit: B, KiB, MiB or GiB" },
    { "upi_rate = 20 # s\n", ":1: upi_rate: 20 has no unit: GB/s" },
    { "media_read = 39.3 GB/s # s\n", ":1: media_read: \"GB/s\" is not its unit: ns or us" },
    { "media_read = 39.3 NS # s\n", ":1: media_read: \"NS\" is not its unit: ns or us" },
    { "media_read = 39.3 ns ns # s\n", ":1: media_read: \"ns ns\" is not its unit: ns or us" },
    { "dimms = 6 lines # s\n", ":1: dimms: \"lines\" is not its unit: dimms" },
    { "interleave = 4 ns # s\n", ":1: interleave: \"ns\" is not its unit: B, KiB, MiB or GiB" },
    { "upi_rate = 20 MB/s # s\n", ":1: upi_rate: \"MB/s\" is not its unit: GB/s" },
    { "dimms = 0 dimms # s\n", ":1: dimms: 0 dimms is out of range: 1 to 8 dimms" },
    { "dimms = 9 dimms # s\n", ":1: dimms: 9 dimms is out of range: 1 to 8 dimms" },
    { "media_read = 0 ns # s\n", ":1: media_read: 0 ns is out of range: 1 to 1073741824 ps" },
    { "media_read = 1073.741825 us # s\n", ":1: media_read: 1073.741825 us is out of range" },
    { "media_read = 99999999999999999 us # s\n", " us is out of range: 1 to 1073741824 ps" },
    { "media_read = 18446744073710 us # s\n", ":1: media_read: 18446744073710 us is out of range" },
    { "order_post = 0 ns # s\n", ":1: order_post: 0 ns is out of range" },
    { "order_post = 100.001 us # s\n", "" },
    { "order_post = 100001 us # s\n", ":1: order_post: 100001 us is out of range" },
    { "media_read = 39.3001 ns # s\n", ":1: media_read: 39.3001 ns is not a whole number of ps" },
    { "dimms = 1.5 dimms # s\n", ":1: dimms: 1.5 dimms is not a whole number of dimms" },
    { "interleave = 0.3 KiB # s\n", ":1: interleave: 0.3 KiB is not a whole number of B" },
    { "upi_rate = 20.8001 GB/s # s\n", " is not a whole number of bytes per microsecond" },
    { "order_post = 2.5 ns # s\n", ":1: order_post: 2.5 ns is not a whole number of ns" },
    { "dimms = 99999999999999999999999 dimms # s\n", " has too many digits" },
    { "media_read = 1.000000000000000000000 ns # s\n", " has too many digits" },
    { "dimms = 000000000000000000000000006 dimms # s\n",
      ":1: dimms: a value has at most 31 bytes" },
    { "dimms = 6 dimms\n", ":1: dimms = 6 dimms has no source" },
    { "dimms = 6 dimms #\n", ":1: dimms = 6 dimms has no source" },
    { "dimms = 6 dimms # \t \n", ":1: dimms = 6 dimms has no source" },
    { "# the source\ndimms = 6 dimms\n", ":2: dimms = 6 dimms has no source" },
    { "dimms = 6 dimms # " + std::string(200, 's'), ":1: dimms: a source has at most 199 bytes" },
    { "# " + std::string(254, 's'), ":1: a line of 256 bytes, the maximum is 255" },
    { "domain = ADR\n", ":1: domain: \"ADR\" is none of its values: adr, eadr, msync or none" },
    { "medium = 3\n", ":1: medium: \"3\" is none of its values: devdax, file or dram" },
    { "ddio = yes\n", ":1: ddio: \"yes\" is none of its values: on or off" },
    { "dimms = 6 dimms # s\ninherits = hints\n", ":2: inherits is not the first setting" },
    { "inherits = hints\ninherits = adr\n", ":2: inherits is not the first setting" },
    { "inherits = " + std::string(240, 'n') + "\n", "" },
    { "dimms = 6 dimms # s\r\n", ":1: byte 0x0d is not text" },
    { std::string("dimms = 6\0 dimms # s\n", 21), ":1: byte 0x00 is not text" },
    { "\x7f"
      "ELF\x02\x01\x01",
      ":1: byte 0x7f is not text" },
    { "# caf\xc3\xa9\n", ":1: byte 0xc3 is not text" },
    { std::string(65537, '\n'), "a file of 65537 bytes or more, the maximum is 65536" },
};

} // namespace

TEST_CASE("preset_file: an invalid file is refused with file, line and reason", "[unit]")
{
    auto preset = std::make_unique<rpmi_preset>();

    for (const Refused &row : REFUSED) {
        std::string said = refusal(row.text, preset.get());

        CAPTURE(row.text.substr(0, 300), said);
        if (*row.says == '\0') {
            CHECK(said == "");
            continue;
        }
        CHECK(said.find("preset x.preset:") == 0);
        CHECK(said.find(row.says) != std::string::npos);
    }
}

TEST_CASE("preset_file: values are kept exactly, in base units", "[unit]")
{
    auto preset = std::make_unique<rpmi_preset>();

    REQUIRE(refusal("dimms=6dimms#a\n"
                    "\tmedia_read = 38.4 ns\t#  Yang et al., # 2 \n"
                    "media_latency = 0.305 us # b\n"
                    "media_write = 0.001 ns # c\n"
                    "media_line = 0.25 KiB # d\n"
                    "llc_bytes = 13.75 MiB # e\n"
                    "upi_rate = 20.8 GB/s # f\n"
                    "upi_latency = 0 ns # h\n"
                    "dram_read = 1073741.824 ns # i\n"
                    "order_retry = 50 us # j\n"
                    "order_line = 4.000 ns # k\n"
                    "domain = eadr\n"
                    "ddio = off",
                    preset.get()) == "");
    CHECK(preset->cost.dimms == 6);
    CHECK(preset->cost.media_read == 38400);
    CHECK(preset->cost.media_latency == 305000);
    CHECK(preset->cost.media_write == 1);
    CHECK(preset->cost.media_line == 256);
    CHECK(preset->cost.llc_bytes == 14417920);
    CHECK(preset->cost.upi_rate == 20800);
    CHECK(preset->cost.upi_latency == 0);
    CHECK(preset->cost.dram_read == 1u << 30);
    CHECK(preset->ns.retry == 50000);
    CHECK(preset->ns.line == 4);
    CHECK(preset->domain == RPM_DOMAIN_EADR);
    CHECK_FALSE(preset->ddio);
    CHECK(std::string(preset->text[RPMI_AT_dimms].value) == "6dimms");
    CHECK(std::string(preset->text[RPMI_AT_dimms].source) == "a");
    CHECK(std::string(preset->text[RPMI_AT_media_read].value) == "38.4 ns");
    CHECK(std::string(preset->text[RPMI_AT_media_read].source) == "Yang et al., # 2");
    CHECK(std::string(preset->text[RPMI_AT_order_retry].value) == "50 us");
    CHECK(std::string(preset->text[RPMI_AT_channel_line].value) == "");
}

TEST_CASE("preset_file: the last setting of a value is used", "[unit]")
{
    auto preset = std::make_unique<rpmi_preset>();
    std::string text = "dimms = 6 dimms # file\nddio = on\n";
    rpmi_preset_file file = file_of(text);

    REQUIRE(rpmi_preset_file_apply(&file, preset.get()) == 0);
    REQUIRE(rpmi_preset_file_override("dimms=1 dimms; ddio = off,media_read=1us", preset.get()) ==
            0);
    CHECK(preset->cost.dimms == 1);
    CHECK(preset->cost.media_read == 1000000);
    CHECK_FALSE(preset->ddio);
    CHECK(std::string(preset->text[RPMI_AT_dimms].value) == "1 dimms");
    CHECK(std::string(preset->text[RPMI_AT_dimms].source) == "given by the caller");
    CHECK(rpmi_preset_file_override("dimms=0 dimms", preset.get()) == RPM_E_INVAL);
}

TEST_CASE("preset_file: settings of the caller are checked like those of a file", "[unit]")
{
    auto preset = std::make_unique<rpmi_preset>();
    const Refused table[] = {
        { "", ":1: no setting between two separators" },
        { "dimms=1 dimms,", ":2: no setting between two separators" },
        { "dimms=1 dimms,,ddio=on", ":2: no setting between two separators" },
        { "dimms=1 dimms,dimms=1 dimms", ":2: dimms is given twice" },
        { "dimms=1", ":1: dimms: 1 has no unit" },
        { "inherits=hints", ":1: \"inherits\" is unknown" },
        { "dimms=1 dimms # mine", ":1: dimms: \"dimms # mine\" is not its unit" },
        { "dimms=1\n dimms", ":1: byte 0x0a is not text" },
        { "hints", ":1: \"hints\" is not name = value" },
    };

    for (const Refused &row : table) {
        std::string said = override_refusal(row.text, preset.get());

        CAPTURE(row.text, said);
        CHECK(said.find("preset given by the caller:") == 0);
        CHECK(said.find(row.says) != std::string::npos);
    }
}

TEST_CASE("preset_file: inherits must be the first setting of a file", "[unit]")
{
    char base[RPMI_PRESET_NAME_MAX];
    auto base_of = [&base](const std::string &text) {
        rpmi_preset_file file = file_of(text);

        return rpmi_preset_file_base(&file, base);
    };

    REQUIRE(base_of("# talk\n\n inherits=hints # why\ndimms = x\n") == 0);
    REQUIRE(std::string(base) == "hints");
    REQUIRE(base_of("dimms = 6 dimms # s\ninherits = hints\n") == 0);
    REQUIRE(std::string(base) == "");
    REQUIRE(base_of("") == 0);
    REQUIRE(std::string(base) == "");
    REQUIRE(base_of("inherits\n") == RPM_E_INVAL);
    REQUIRE(base_of("inherits = \n") == RPM_E_INVAL);
    REQUIRE(base_of("\x01\n") == RPM_E_INVAL);
    REQUIRE(base_of(std::string(65537, '\n')) == RPM_E_INVAL);
}

TEST_CASE("preset_file: a preset must be complete and its values consistent", "[unit]")
{
    auto preset = std::make_unique<rpmi_preset>(preset_of("hints"));
    auto said = [&preset] {
        return rpmi_preset_file_complete("x", preset.get()) == 0 ? "" : rpm_last_error();
    };

    REQUIRE(said() == std::string(""));
    for (uint32_t i = 0; i < RPMI_PARAMS; i++) {
        *preset = preset_of("hints");
        preset->text[i].value[0] = '\0';
        CHECK(said() == std::string("preset x: ") + rpmi_param_table[i].name + " is missing");
    }
    for (const char *word : { "domain", "medium", "ddio" }) {
        *preset = preset_of("hints");
        preset->words &= ~(word[0] == 'm' ? 2u : word[1] == 'o' ? 1u : 4u);
        CHECK(said() == std::string("preset x: ") + word + " is missing");
    }
    for (const char *clash :
         { "domain=msync", "medium=file", "domain=none", "medium=dram", "media_line=200 B",
           "interleave=5000 B", "interleave=128 B", "ddio_ways=12 ways", "buffer_latency=1 us",
           "pcie_write=1 us", "media_fill=50 ns" }) {
        rpmi_preset other;

        CAPTURE(clash);
        CHECK(rpmi_preset_read((std::string("hints,") + clash).c_str(), &other) == RPM_E_INVAL);
        CHECK(std::string(rpm_last_error()).find("preset hints: ") == 0);
    }
}
