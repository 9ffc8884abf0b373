// SPDX-License-Identifier: BSD-3-Clause
// call_fuzz.cpp: a call from an untrusted client. Encoding an accepted call again gives the input.
extern "C" {
#include "base/err.h"
#include "wire/call.h"
}
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, RPMI_CALL_BYTES);
    auto again = fuzz_copy(nullptr, 0, RPMI_CALL_BYTES);
    rpmi_call call;
    int err = rpmi_call_get(bytes.get(), &call);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO);
    if (err != 0)
        return 0;
    rpmi_call_put(again.get(), &call);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), RPMI_CALL_BYTES) == 0);
    return 0;
}
