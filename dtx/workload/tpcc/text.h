/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h: texts and numbers by the rules of TPC-C (clauses 2.1.6, 4.3.2).
 */
#ifndef DTX_WORKLOAD_TPCC_TEXT_H
#define DTX_WORKLOAD_TPCC_TEXT_H

#include "workload/random.h"
#include "workload/tpcc/schema.h"

#include <string>

namespace dtx::tpcc
{

/* Letters and digits, between @least and @most of them. */
std::string a_string(Random &random, uint32_t least, uint32_t most);
/* @count digits. */
std::string n_string(Random &random, uint32_t count);
/* The last name with number @number, 0 to 999. */
std::string last_name(uint32_t number);
/* 26 to 50 letters; with ORIGINAL somewhere in a tenth of them. */
std::string data_string(Random &random);
PostalAddress address(Random &random);

/* The constants C of the non-uniform draws (NURand), one for each field, the same for all terminals
 * of a run. */
struct Constants {
    uint32_t last_name;
    uint32_t customer;
    uint32_t item;
};

/* The constants for the load, and for a run: the specification limits how far the run's last_name
 * may be from that of the load. */
Constants load_constants(uint64_t load_seed);
Constants run_constants(uint64_t load_seed, uint64_t seed);

/* NURand(@a, @x, @y) of the specification; @a is 255, 1023 or 8191. */
struct Uneven {
    uint32_t a;
    uint32_t x;
    uint32_t y;
    uint32_t c;
};
uint32_t nurand(Random &random, const Uneven &uneven);

} // namespace dtx::tpcc
#endif
