// SPDX-License-Identifier: BSD-3-Clause
// fuzz.h: what every fuzz target uses. A target is a file X_fuzz.cpp with the one function below,
// which libFuzzer runs, or replay.cpp over the corpus in the ordinary build.
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Checks a property of a target. Aborts if it is false, which libFuzzer and ctest report.
#define FUZZ_CHECK(expr)                                                                           \
    do {                                                                                           \
        if (!(expr)) {                                                                             \
            fprintf(stderr, "fuzz: %s does not hold (%s:%d)\n", #expr, __FILE__, __LINE__);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// A copy of exactly @bytes on the heap, zeros after the end of the input: for decoders of a fixed
// size, and so that a sanitizer detects a read beyond it.
inline std::unique_ptr<uint8_t[]> fuzz_copy(const uint8_t *data, size_t size, size_t bytes)
{
    std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes]());

    if (size > 0)
        memcpy(copy.get(), data, size < bytes ? size : bytes);
    return copy;
}

// Takes the bytes of the input one after another, zeros after its end.
struct FuzzBytes {
    const uint8_t *data;
    size_t left;

    uint8_t byte()
    {
        if (left == 0)
            return 0;
        left--;
        return *data++;
    }
};

#endif
