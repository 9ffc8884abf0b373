// SPDX-License-Identifier: BSD-3-Clause
// preset_fuzz.cpp: a preset file, and the values that a caller replaces. Each accepted value is
// within its bounds, has a unit and a source, and has the same meaning if it is printed and parsed
// again.
extern "C" {
#include "base/err.h"
#include "sim/preset/preset_file.h"
}
#include "fuzz.h"

#include <string>

static const char *const DOMAINS[] = { "none", "msync", "adr", "eadr" };

static uint64_t value_of(const rpmi_preset &preset, const rpmi_param &param)
{
    const char *at = reinterpret_cast<const char *>(&preset) + param.offset;
    uint32_t ns;
    uint64_t value;

    memcpy(&ns, at, sizeof(ns));
    if (param.order)
        return uint64_t{ ns } * 1000;
    memcpy(&value, at, sizeof(value));
    return value;
}

static std::string written(const rpmi_preset &preset)
{
    std::string text = "# again\n";

    if ((preset.words & 1) != 0)
        text += std::string("domain = ") + DOMAINS[preset.domain] + "\n";
    if ((preset.words & 2) != 0)
        text += std::string("medium = ") +
                (preset.medium == RPM_MEDIUM_DEVDAX ? "devdax"
                 : preset.medium == RPM_MEDIUM_FILE ? "file"
                                                    : "dram") +
                "\n";
    if ((preset.words & 4) != 0)
        text += std::string("ddio = ") + (preset.ddio ? "on" : "off") + "\n";
    for (uint32_t i = 0; i < RPMI_PARAMS; i++)
        if (preset.text[i].value[0] != '\0')
            text += std::string(rpmi_param_table[i].name) + " = " + preset.text[i].value + "#" +
                    preset.text[i].source + "\n";
    return text;
}

static void check(const rpmi_preset &preset)
{
    auto again = std::make_unique<rpmi_preset>();
    std::string text = written(preset);
    rpmi_preset_file file = { "again", text.data(), text.size() };

    for (uint32_t i = 0; i < RPMI_PARAMS; i++) {
        const rpmi_param &param = rpmi_param_table[i];
        uint64_t value = value_of(preset, param);

        if (preset.text[i].value[0] == '\0')
            continue;
        FUZZ_CHECK(value >= param.least && value <= param.most);
        FUZZ_CHECK(strlen(preset.text[i].value) > 1);
        FUZZ_CHECK(strlen(preset.text[i].source) > 0);
    }
    if (text == "# again\n")
        return; // it inherits, and sets nothing else
    FUZZ_CHECK(rpmi_preset_file_apply(&file, again.get()) == 0);
    FUZZ_CHECK(memcmp(again.get(), &preset, sizeof(preset)) == 0);
}

static void refused(int err)
{
    FUZZ_CHECK(err == RPM_E_INVAL);
    FUZZ_CHECK(strncmp(rpm_last_error(), "preset ", 7) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::unique_ptr<uint8_t[]> copy = fuzz_copy(data, size, size);
    rpmi_preset_file file = { "fuzzed", reinterpret_cast<const char *>(copy.get()), size };
    auto preset = std::make_unique<rpmi_preset>();
    char base[RPMI_PRESET_NAME_MAX];

    int err = rpmi_preset_file_base(&file, base);
    if (err != 0)
        refused(err);
    FUZZ_CHECK(err != 0 || strlen(base) < sizeof(base));
    err = rpmi_preset_file_apply(&file, preset.get());
    if (err != 0)
        refused(err);
    else
        check(*preset);
    *preset = {};
    std::string settings(reinterpret_cast<const char *>(copy.get()), size);
    err = rpmi_preset_file_override(settings.c_str(), preset.get());
    if (err != 0)
        refused(err);
    else
        check(*preset);
    err = rpmi_preset_file_complete("fuzzed", preset.get());
    if (err != 0)
        refused(err);
    return 0;
}
