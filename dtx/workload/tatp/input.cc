/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.cc: draws the transactions of TATP and their parameters.
 */
#include "workload/tatp/input.h"

#include <array>

namespace dtx::tatp
{

const std::vector<std::string> &kind_names()
{
    static const std::vector<std::string> names = {
        "get_subscriber_data",   "get_new_destination", "get_access_data",
        "update_subscriber",     "update_location",     "insert_call_forwarding",
        "delete_call_forwarding"
    };

    return names;
}

void put_digits(char (&digits)[15], uint64_t number)
{
    for (size_t i = sizeof(digits); i > 0; i--) {
        digits[i - 1] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

Kind Inputs::kind()
{
    static constexpr std::array<uint32_t, kKinds> percent = { 35, 10, 35, 2, 14, 2, 2 };
    uint32_t drawn = static_cast<uint32_t>(random_.below(100));
    uint32_t kind = 0;

    while (drawn >= percent[kind])
        drawn -= percent[kind++];
    return static_cast<Kind>(kind);
}

uint32_t Inputs::subscriber()
{
    uint32_t most = parameters_.subscribers;
    uint32_t even = random_.between(1, most);

    if (parameters_.uniform)
        return even;
    return (random_.between(0, skew_of(most)) | even) % most + 1;
}

Input Inputs::next()
{
    Input input{};

    input.kind = kind();
    input.s_id = subscriber();
    input.type = random_.between(1, 4);
    input.start_time = 8 * random_.between(0, 2);
    input.end_time = input.kind == kGetNewDestination ? random_.between(1, 24)
                                                      : input.start_time + random_.between(1, 8);
    input.location = random_.between(1, UINT32_MAX);
    input.bit = static_cast<uint8_t>(random_.below(2));
    input.data_a = static_cast<uint8_t>(random_.below(256));
    put_digits(input.numberx, random_.below(1000000000000000ull));
    return input;
}

} // namespace dtx::tatp
