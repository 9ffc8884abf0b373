// SPDX-License-Identifier: BSD-3-Clause
// url_fuzz.cpp: a URL and a size from a command line. The parts of a URL put together give the URL.
extern "C" {
#include "base/err.h"
#include "base/url.h"
}
#include "fuzz.h"

#include <string>

static bool inside(const rpmi_url &url, const char *part)
{
    return part >= url.text && part + strlen(part) < url.text + sizeof(url.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    auto url = std::make_unique<rpmi_url>();
    uint64_t bytes;

    text = text.c_str(); // up to the first NUL
    int err = rpmi_parse_bytes(text.c_str(), &bytes);
    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    err = rpmi_url_parse(text.c_str(), url.get());
    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    if (err != 0)
        return 0;

    std::string options;
    FUZZ_CHECK(url->options <= RPMI_URL_OPTIONS_MAX);
    FUZZ_CHECK(inside(*url, url->scheme) && inside(*url, url->address));
    for (uint32_t i = 0; i < url->options; i++) {
        FUZZ_CHECK(inside(*url, url->key[i]) && inside(*url, url->value[i]));
        FUZZ_CHECK(rpmi_url_get(url.get(), url->key[i], nullptr) == url->value[i]);
        options += std::string(",") + url->key[i] + "=" + url->value[i];
    }
    std::string front = std::string(url->scheme) + ":";
    // Without an address the comma in front of the first option may be missing.
    FUZZ_CHECK(text == front + url->address + options ||
               (url->address[0] == '\0' && options != "" && text == front + options.substr(1)));
    return 0;
}
