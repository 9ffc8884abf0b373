// SPDX-License-Identifier: BSD-3-Clause
// reply_fuzz.cpp: a reply from an untrusted server. Encoding an accepted reply again gives the
// input.
extern "C" {
#include "base/err.h"
#include "wire/call.h"
}
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, RPMI_REPLY_BYTES);
    auto again = fuzz_copy(nullptr, 0, RPMI_REPLY_BYTES);
    rpmi_reply reply;
    int err = rpmi_reply_get(bytes.get(), &reply);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO);
    if (err != 0)
        return 0;
    rpmi_reply_put(again.get(), &reply);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), RPMI_REPLY_BYTES) == 0);
    return 0;
}
