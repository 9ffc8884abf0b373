/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far.h: what clients of every server make of what it says.
 */
#ifndef RPMI_FAR_H
#define RPMI_FAR_H

#include <librpm/facts.h>
#include <stdbool.h>

/* Why the server's CPU did not do what it was asked for, in a sentence. */
const char *rpmi_far_why(int status);

/* Do plans made with @before hold for @now? Asked when a server is dialled again. */
bool rpmi_far_same_ground(const struct rpm_facts *before, const struct rpm_facts *now);

#endif
