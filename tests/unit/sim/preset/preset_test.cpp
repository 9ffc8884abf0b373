// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"
#include "unit/sim/preset_of.h"

extern "C" {
#include "base/mem.h"
#include "sim/preset/preset_file.h"
}

#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>

static rpm_facts facts_of(const char *spec, bool native_flush)
{
    rpmi_preset preset = preset_of(spec);
    rpm_facts facts;

    rpmi_preset_facts(&preset, native_flush, &facts);
    return facts;
}

static bool at_once(const char *spec, bool by_nic)
{
    rpmi_preset preset = preset_of(spec);

    return rpmi_preset_at_once(&preset, by_nic);
}

static std::string refusal(const std::string &spec, int want = RPM_E_INVAL)
{
    rpmi_preset preset;

    CAPTURE(spec);
    REQUIRE(rpmi_preset_read(spec.c_str(), &preset) == want);
    return rpm_last_error();
}

static std::string write(const support::Dir &dir, const std::string &name, const std::string &text)
{
    std::ofstream(dir / name) << text;
    return dir / name;
}

TEST_CASE("preset: the library's presets are found, others are not", "[unit]")
{
    std::string all;

    for (const char *name : { "adr", "adr-noddio", "bf2", "bf3", "cx6", "dram", "eadr", "hints",
                              "hints-1dimm", "msync", "styx", "wave" }) {
        REQUIRE(std::string(preset_of(name).name) == name);
        all += std::string(all.empty() ? "" : ", ") + name;
    }
    REQUIRE(rpmi_preset_embedded_count == 12);
    for (const char *name : { "", "ADR", "adr ", "hints.preset", "optane" })
        REQUIRE(refusal(name) == std::string("no preset is called \"") + name + "\": give one of " +
                                     all + ", or the path of a file, with a '/'");
    REQUIRE(refusal(",dimms=1 dimms").find("no preset is called \"\"") == 0);
    REQUIRE(refusal(std::string(256, 'x')) == "preset: a name of 256 bytes, the maximum is 255");
}

TEST_CASE("preset: every number of the library's presets has its unit and its source", "[unit]")
{
    for (uint32_t i = 0; i < rpmi_preset_embedded_count; i++) {
        rpmi_preset preset = preset_of(rpmi_preset_embedded[i].name);

        for (uint32_t k = 0; k < RPMI_PARAMS; k++) {
            std::string value = preset.text[k].value;
            std::string source = preset.text[k].source;

            CAPTURE(preset.name, rpmi_param_table[k].name, value, source);
            CHECK(value.find_first_not_of("0123456789. ") != std::string::npos);
            CHECK(source.find_first_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos);
            CHECK(source != "given by the caller");
            CHECK(*rpmi_param_table[k].what != '\0');
        }
    }
}

TEST_CASE("preset: the order of events is the same on every platform and in every version",
          "[unit]")
{
    const rpmi_delays were = { 250, 600, 85, 60, 3000, 300,  2000,  4,    300,
                               200, 5,   62, 90, 10,   2000, 20000, 50000 };

    for (uint32_t i = 0; i < rpmi_preset_embedded_count; i++) {
        rpmi_preset preset = preset_of(rpmi_preset_embedded[i].name);

        CAPTURE(preset.name);
        CHECK(memcmp(&preset.ns, &were, sizeof(were)) == 0);
    }
}

TEST_CASE("preset: variants differ from preset hints in the values that they name", "[unit]")
{
    rpmi_preset hints = preset_of("hints");

    REQUIRE(hints.cost.dimms == 6);
    REQUIRE(hints.cost.media_line == 256);
    REQUIRE(hints.cost.llc_bytes == 14417920);
    for (const char *name : { "adr", "adr-noddio", "eadr", "msync", "hints-1dimm" }) {
        rpmi_preset preset = preset_of(name);
        bool single = strcmp(name, "hints-1dimm") == 0;

        CAPTURE(name);
        CHECK(preset.cost.dimms == (single ? 1 : 6));
        preset.cost.dimms = 6;
        CHECK(memcmp(&preset.cost, &hints.cost, sizeof(hints.cost)) == 0);
    }
    for (const char *name : { "hints", "cx6" })
        CHECK(preset_of(name).cost.soc_cores == 0);
    for (const char *name : { "bf2", "bf3", "styx", "wave" }) {
        CAPTURE(name);
        CHECK(preset_of(name).cost.soc_cores > 0);
        CHECK(preset_of(name).cost.switch_latency == 300000);
        CHECK(preset_of(name).cost.soc_payload < preset_of(name).cost.pcie_payload);
    }
    REQUIRE(preset_of("adr").unit_lines == 1);
    REQUIRE(preset_of("adr").granularity_bytes == 64);
    REQUIRE(preset_of("eadr").granularity_bytes == 1);
    REQUIRE(preset_of("msync").unit_lines == 8);
    REQUIRE(preset_of("msync").granularity_bytes == 4096);
    rpmi_preset dram = preset_of("dram");
    REQUIRE(dram.domain == RPM_DOMAIN_NONE);
    REQUIRE(dram.cost.media_read == hints.cost.dram_read);
    REQUIRE(dram.cost.media_write == hints.cost.dram_write);
    REQUIRE(dram.cost.media_latency == hints.cost.dram_latency);
}

TEST_CASE("preset: values are replaced after commas or semicolons", "[unit]")
{
    for (const char *spec :
         { "hints,dimms=1 dimms,media_write=134 ns", "hints;dimms=1 dimms;media_write=134 ns" }) {
        rpmi_preset preset = preset_of(spec);

        REQUIRE(std::string(preset.name) == "hints");
        REQUIRE(preset.cost.dimms == 1);
        REQUIRE(preset.cost.media_write == 134000);
        REQUIRE(std::string(preset.text[RPMI_AT_media_write].value) == "134 ns");
        REQUIRE(std::string(preset.text[RPMI_AT_media_write].source) == "given by the caller");
        REQUIRE(std::string(preset.text[RPMI_AT_media_read].source).find("FAST20") == 0);
        REQUIRE(preset.cost.media_read == preset_of("hints").cost.media_read);
    }
    REQUIRE_FALSE(preset_of("adr,ddio=off").ddio);
    REQUIRE(preset_of("adr,network_rate=25 GB/s").cost.network_rate == 25000);
    REQUIRE(preset_of("msync,domain=eadr,medium=devdax").granularity_bytes == 1);
    REQUIRE(refusal("hints,dimms=1") ==
            "preset given by the caller:1: dimms: 1 has no unit: dimms");
    REQUIRE(refusal("hints,").find(":1: no setting between") != std::string::npos);
    REQUIRE(refusal("adr,domain=msync") == "preset adr: domain msync and medium file go together");
}

TEST_CASE("preset: a path is read, and inherits is resolved in its folder", "[unit]")
{
    support::Dir dir;
    std::string mine =
        write(dir, "mine.preset", "# talk\ninherits = hints\ndimms = 2 dimms # me\n");
    std::string child = write(dir, "child.preset", "inherits = ./mine.preset\nddio = off\n");
    std::string absolute = write(dir, "absolute.preset", "inherits = " + mine + "\n");

    rpmi_preset preset = preset_of(mine.c_str());
    REQUIRE(preset.name == mine);
    REQUIRE(preset.cost.dimms == 2);
    REQUIRE(std::string(preset.text[RPMI_AT_dimms].source) == "me");
    preset = preset_of((child + ",media_read=40 ns").c_str());
    REQUIRE(preset.cost.dimms == 2);
    REQUIRE(preset.cost.media_read == 40000);
    REQUIRE_FALSE(preset.ddio);
    REQUIRE(preset_of(absolute.c_str()).cost.dimms == 2);
}

TEST_CASE("preset: a path that cannot be used is refused by name", "[unit]")
{
    support::Dir dir;
    auto said = [&dir](const std::string &text, int want = RPM_E_INVAL) {
        return refusal(write(dir, "x.preset", text), want);
    };
    auto has = [](const std::string &text, const char *part) {
        return text.find(part) != std::string::npos;
    };

    write(dir, "x.preset", "");
    REQUIRE(has(refusal(dir / "none.preset", RPM_E_NOENT), "/none.preset: No such file"));
    REQUIRE(has(refusal(dir / "x.preset/y", RPM_E_NOENT), "/x.preset/y: "));
    REQUIRE(has(refusal(dir / ""), "not a regular file"));
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    REQUIRE(has(refusal(dir / "pipe"), "pipe: not a regular file"));
    REQUIRE(has(refusal("/dev/zero"), "/dev/zero: not a regular file"));
    REQUIRE(has(refusal("./" + std::string(253, 'x') + "/"), "256 bytes, the maximum is 255"));
    REQUIRE(has(said(""), "/x.preset:0: the file has no settings"));
    REQUIRE(has(said(std::string(70000, '\n')),
                "/x.preset: a file of 65537 bytes or more, the maximum is 65536"));
    REQUIRE(has(said(std::string("\0\0", 2)), "/x.preset:1: byte 0x00 is not text"));
    REQUIRE(has(said("dimms = 6 dimms # s\n"), "/x.preset: domain is missing"));
    REQUIRE(has(said("inherits = hints\n\ndimms = 6\n"), "/x.preset:3: dimms: 6 has no unit"));
    REQUIRE(has(said("inherits = optane\n"), "no preset is called \"optane\""));
    REQUIRE(has(said("inherits = ./gone\n", RPM_E_NOENT), "/gone: No such file"));
    REQUIRE(has(said("inherits = ./x.preset\n"), "/x.preset: inherits in a loop"));
    REQUIRE(has(said("inherits = ./" + std::string(236, 'x') + "\n"), "is too long"));
    write(dir, "y.preset", "inherits = ./x.preset\n");
    REQUIRE(has(said("inherits = ./y.preset\n"), "/x.preset: inherits in a loop"));
}

TEST_CASE("preset: seven files may inherit from one another, not more", "[unit]")
{
    support::Dir dir;

    for (int i = 0; i < 8; i++) {
        std::string base = i == 0 ? "hints" : "./" + std::to_string(i - 1);
        write(dir, std::to_string(i), "inherits = " + base + "\n");
    }
    REQUIRE(preset_of((dir / "6").c_str()).cost.dimms == 6);
    REQUIRE(refusal(dir / "7").find("from more than 7") != std::string::npos);
}

TEST_CASE("preset: every failed allocation is an error", "[unit]")
{
    support::Dir dir;
    std::string mine = write(dir, "mine.preset", "inherits = hints\n");
    std::string child = write(dir, "child.preset", "inherits = ./mine.preset\n");
    rpmi_preset preset;
    uint64_t nth = 1;

    for (;; nth++) {
        rpmi_mem_fail_at(nth);
        int err = rpmi_preset_read(child.c_str(), &preset);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        REQUIRE(err == RPM_E_NOMEM);
    }
    REQUIRE(nth == 4);
}

TEST_CASE("preset: facts follow from the platform and are marked as modelled", "[unit]")
{
    rpm_facts facts;

    facts = facts_of("adr", false);
    REQUIRE(facts.modelled == 1);
    REQUIRE(facts.domain == RPM_DOMAIN_ADR);
    REQUIRE(facts.medium == RPM_MEDIUM_DEVDAX);
    REQUIRE(facts.ddio == RPM_YES);
    REQUIRE(facts.native_flush == RPM_NO);
    REQUIRE(facts.methods == 0x7e); // write..copy
    REQUIRE(facts.line_bytes == 256);

    facts = facts_of("adr-noddio", true);
    REQUIRE(facts.ddio == RPM_NO);
    REQUIRE(facts.native_flush == RPM_YES);
    REQUIRE(facts.methods == 0xfe);

    facts = facts_of("eadr", false);
    REQUIRE(facts.domain == RPM_DOMAIN_EADR);
    REQUIRE(facts.granularity_bytes == 1);

    facts = facts_of("msync", true);
    REQUIRE(facts.domain == RPM_DOMAIN_MSYNC);
    REQUIRE(facts.medium == RPM_MEDIUM_FILE);
    REQUIRE(facts.native_flush == RPM_NO); // the NIC has it, this region cannot use it
    REQUIRE(facts.granularity_bytes == 4096);
}

TEST_CASE("preset: where the persistence boundary lies", "[unit]")
{
    REQUIRE_FALSE(at_once("adr", true));
    REQUIRE_FALSE(at_once("adr", false));
    REQUIRE(at_once("adr-noddio", true));
    REQUIRE_FALSE(at_once("adr-noddio", false));
    REQUIRE(at_once("eadr", true));
    REQUIRE(at_once("eadr", false));
    REQUIRE_FALSE(at_once("msync", true));
    REQUIRE_FALSE(at_once("msync", false));
}
