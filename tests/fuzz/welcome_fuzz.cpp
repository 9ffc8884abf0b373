// SPDX-License-Identifier: BSD-3-Clause
// welcome_fuzz.cpp: the first message from anybody, of any length. What is accepted has one
// encoding only: the one that came in.
extern "C" {
#include "base/err.h"
#include "wire/hello.h"
}
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, size);
    auto again = fuzz_copy(nullptr, 0, RPMI_WELCOME_BYTES);
    rpmi_welcome welcome;
    int err = rpmi_welcome_get(bytes.get(), size, &welcome);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO || err == RPM_E_VERSION);
    if (err != 0)
        return 0;
    FUZZ_CHECK(size == RPMI_WELCOME_BYTES);
    rpmi_welcome_put(again.get(), &welcome);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), RPMI_WELCOME_BYTES) == 0);
    return 0;
}
