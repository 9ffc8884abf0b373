// SPDX-License-Identifier: BSD-3-Clause
// tables.h: every table of lib/wire with its golden bytes, its codec, and the values that the codec
// refuses. tables_test.cpp runs the same tests over all of them.
#ifndef TESTS_GOLDEN_TABLES_H
#define TESTS_GOLDEN_TABLES_H

extern "C" {
#include "wire/layout.h"
}
#include "golden/golden.h"

#include <functional>
#include <map>

struct Format {
    const char *name; // the table is rpmi_NAME_layout
    const rpmi_layout *layout;
    const char *golden;
    size_t at;    // of the format in the golden file
    size_t bytes; // of it there, with what its codec reads behind the table; 0: to the end

    // Decode @in, and encode the result into @out, which is as long and holds other bytes. An error
    // of get, or a number that is not negative.
    std::function<int(const Bytes &in, Bytes &out)> recode;

    // Of each number of the table the values that are refused; none: every value is valid.
    std::map<std::string, std::vector<uint64_t>> refused;

    bool sized = false; // get is told how many bytes there are; else its callers know it

    // Make checksum or proof right again.
    std::function<void(Bytes &)> seal = [](Bytes &) {};
};

#define TABLE(name) #name, &rpmi_##name##_layout

std::vector<Format> media_formats();     // of a pool
std::vector<Format> tier_formats();      // sections 13 and 14
std::vector<Format> handshake_formats(); // sections 6 and 9
std::vector<Format> call_formats();      // sections 7 and 10
std::vector<Format> message_formats();   // section 11
std::vector<Format> step_formats();      // section 12

template <class T> auto recode_by(int (*get)(const void *, T *), void (*put)(void *, const T *))
{
    return [=](const Bytes &in, Bytes &out) {
        T found;
        int err;

        memset(static_cast<void *>(&found), 0xff, sizeof(found)); // get must set each field
        err = get(in.data(), &found);
        if (err >= 0)
            put(out.data(), &found);
        return err;
    };
}

template <class T>
auto recode_sized(int (*get)(const void *, size_t, T *), void (*put)(void *, const T *))
{
    return [=](const Bytes &in, Bytes &out) {
        T found;
        int err;

        memset(static_cast<void *>(&found), 0xff, sizeof(found));
        err = get(in.data(), in.size(), &found);
        if (err >= 0)
            put(out.data(), &found);
        return err;
    };
}

#endif
