// SPDX-License-Identifier: BSD-3-Clause
// hello_fuzz.cpp: the first message of a connection, of any length. Encoding an accepted message
// again gives the input.
extern "C" {
#include "base/err.h"
#include "wire/hello.h"
}
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, size);
    auto again = fuzz_copy(nullptr, 0, RPMI_HELLO_BYTES);
    rpmi_hello hello;
    int err = rpmi_hello_get(bytes.get(), size, &hello);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO || err == RPM_E_VERSION);
    if (err != 0)
        return 0;
    FUZZ_CHECK(size == RPMI_HELLO_BYTES);
    rpmi_hello_put(again.get(), &hello);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), RPMI_HELLO_BYTES) == 0);
    return 0;
}
