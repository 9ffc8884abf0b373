// SPDX-License-Identifier: BSD-3-Clause
// liar.h: a link to an agent that does not do what it is asked for.
#ifndef TESTS_SUPPORT_LIAR_H
#define TESTS_SUPPORT_LIAR_H

extern "C" {
#include "transport/wrap/wrap.h"
}

enum class Lie {
    none,
    forges,  // answers at once, by certificates of its own
    skips,   // asks the server about the last line of the records only
    replays, // answers by the first certificate that it got, at once
    mutters, // answers by bytes that are no certificate
    sleeps,  // takes orders, and never answers
};

// By its name, as in a line that replays a run.
const char *lie_name(Lie lie);
const int LIES = 6;

// Puts the liar in front of @inner, which it owns then.
rpmi_link *lying(rpmi_link *inner, Lie lie);

#endif
