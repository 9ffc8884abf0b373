/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.cc: generates texts, last names and non-uniform random numbers.
 */
#include "workload/tpcc/text.h"

namespace dtx::tpcc
{

std::string a_string(Random &random, uint32_t least, uint32_t most)
{
    static constexpr char letters[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::string text(random.between(least, most), ' ');

    for (char &letter : text)
        letter = letters[random.below(sizeof(letters) - 1)];
    return text;
}

std::string n_string(Random &random, uint32_t count)
{
    std::string text(count, '0');

    for (char &digit : text)
        digit = static_cast<char>('0' + random.below(10));
    return text;
}

std::string last_name(uint32_t number)
{
    static const char *const syllables[] = { "BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                             "ESE", "ANTI",  "CALLY", "ATION", "EING" };

    return std::string(syllables[number / 100 % 10]) + syllables[number / 10 % 10] +
           syllables[number % 10];
}

std::string data_string(Random &random)
{
    static constexpr std::string_view original = "ORIGINAL";
    std::string text = a_string(random, 26, 50);

    if (random.chance(1000))
        text.replace(random.below(text.size() - original.size() + 1), original.size(), original);
    return text;
}

PostalAddress address(Random &random)
{
    PostalAddress made{};

    made.street_1.set(a_string(random, 10, 20));
    made.street_2.set(a_string(random, 10, 20));
    made.city.set(a_string(random, 10, 20));
    made.state.set(a_string(random, 2, 2));
    made.zip.set(n_string(random, 4) + "11111");
    return made;
}

Constants load_constants(uint64_t load_seed)
{
    Random random(seed_of(load_seed, UINT64_MAX));

    return { random.between(0, 255), random.between(0, 1023), random.between(0, 8191) };
}

Constants run_constants(uint64_t load_seed, uint64_t seed)
{
    Random random(seed_of(seed, UINT64_MAX - 1));
    uint32_t loaded = load_constants(load_seed).last_name;
    Constants run{ 0, random.between(0, 1023), random.between(0, 8191) };
    uint32_t apart = 0;

    while (apart < 65 || apart > 119 || apart == 96 || apart == 112) {
        run.last_name = random.between(0, 255);
        apart = run.last_name > loaded ? run.last_name - loaded : loaded - run.last_name;
    }
    return run;
}

uint32_t nurand(Random &random, const Uneven &uneven)
{
    uint32_t drawn = random.between(0, uneven.a) | random.between(uneven.x, uneven.y);

    return (drawn + uneven.c) % (uneven.y - uneven.x + 1) + uneven.x;
}

} // namespace dtx::tpcc
