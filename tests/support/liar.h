// SPDX-License-Identifier: BSD-3-Clause
// liar.h: a link to an agent that does not do what it is asked for.
#ifndef TESTS_SUPPORT_LIAR_H
#define TESTS_SUPPORT_LIAR_H

extern "C" {
#include "transport/wrap/wrap.h"
}
#include <vector>

enum class Lie {
    none,
    forges,  // answers at once, by certificates of its own
    skips,   // asks the server about the last line of the records only
    replays, // answers by the first certificate that it got, at once
    mutters, // answers by bytes that are no certificate
    sleeps,  // takes orders, and never answers
    garbles, // changes a bit of what it carries
    late,    // carries nothing when it is asked to, and all of it again and again later on
    repeats, // carries what it was given earlier, of any writer, again and again
    stranger // the server does not declare it
};

// By its name, as in a line that replays a run.
const char *lie_name(Lie lie);
const int LIES = 10;
const int ORDER_LIES = 6; // of these, those that an agent can tell that carries nothing

// The lists that the liars of a world have been given, of all writers.
struct Hoard {
    std::vector<std::vector<unsigned char>> lists;
    size_t next = 0; // to be sent again
};

// Puts the liar in front of @inner, which it owns then. @hoard outlives it.
rpmi_link *lying(rpmi_link *inner, Lie lie, Hoard *hoard);

#endif
