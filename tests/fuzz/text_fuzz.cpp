// SPDX-License-Identifier: BSD-3-Clause
// text_fuzz.cpp: texts from a command line: a URL, a size, hint switches. The parts of an accepted
// URL put together give the URL; accepted switches, printed as text, parse to the same switches.
extern "C" {
#include "base/err.h"
#include "base/url.h"
}
#include "fuzz.h"

#include <librpm/plan.h>
#include <string>

static bool inside(const rpmi_url &url, const char *part)
{
    return part >= url.text && part + strlen(part) < url.text + sizeof(url.text);
}

static void url(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    auto found = std::make_unique<rpmi_url>();
    uint64_t bytes;

    text = text.c_str(); // up to the first NUL
    int err = rpmi_parse_bytes(text.c_str(), &bytes);
    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    err = rpmi_url_parse(text.c_str(), found.get());
    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    if (err != 0)
        return;

    std::string options;
    FUZZ_CHECK(found->options <= RPMI_URL_OPTIONS_MAX);
    FUZZ_CHECK(inside(*found, found->scheme) && inside(*found, found->address));
    for (uint32_t i = 0; i < found->options; i++) {
        FUZZ_CHECK(inside(*found, found->key[i]) && inside(*found, found->value[i]));
        FUZZ_CHECK(rpmi_url_get(found.get(), found->key[i], nullptr) == found->value[i]);
        options += std::string(",") + found->key[i] + "=" + found->value[i];
    }
    std::string front = std::string(found->scheme) + ":";
    // Without an address the comma in front of the first option may be missing.
    FUZZ_CHECK(text == front + found->address + options ||
               (found->address[0] == '\0' && options != "" && text == front + options.substr(1)));
}

static void hints(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    std::string again = "none";
    uint32_t switches = 0x80000000u;
    uint32_t same = 0;
    int err = rpm_hints_parse(text.c_str(), &switches);

    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    FUZZ_CHECK(err == 0 || switches == 0x80000000u);
    if (err != 0)
        return;
    FUZZ_CHECK((switches & ~RPM_HINTS_ALL) == 0);
    for (unsigned k = 1; k <= 9; k++)
        if ((switches & RPM_HINT(k)) != 0)
            again += ",+H" + std::to_string(k);
    FUZZ_CHECK(rpm_hints_parse(again.c_str(), &same) == 0);
    FUZZ_CHECK(same == switches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    url(data, size);
    hints(data, size);
    return 0;
}
