/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset_file.h: parse the text of a preset. These functions do no I/O.
 *
 *   # a comment; comments and empty lines are ignored
 *   inherits = hints              first setting of a variant: the others replace settings of hints
 *   domain = adr                  adr, eadr, msync, none
 *   medium = devdax               devdax, file, dram
 *   ddio = on                     on, off
 *   media_write = 113 ns  # where the number was taken from
 *
 * Each number has its unit and, on its own line, its source. Names are those of params.h, and of
 * preset.h after "order_". ASCII, at most 255 bytes in a line. A value is kept exactly: decimals
 * finer than the base unit of its kind are refused.
 *
 * Tests: tests/unit/sim/preset/preset_file_test.cpp, tests/fuzz/preset_fuzz.cpp
 */
#ifndef RPMI_SIM_PRESET_FILE_H
#define RPMI_SIM_PRESET_FILE_H

#include "sim/preset/preset.h"

#define RPMI_PRESET_BYTES_MAX 65536u

struct rpmi_preset_file {
    const char *name; /* for messages; an embedded file is found by it */
    const char *text; /* no NUL needed */
    size_t bytes;
};

/* The files of this folder, from the C file that the build generates. */
extern const struct rpmi_preset_file rpmi_preset_embedded[];
extern const uint32_t rpmi_preset_embedded_count;

/* The name that the file inherits from, or "". RPM_E_INVAL. */
int rpmi_preset_file_base(const struct rpmi_preset_file *file, char base[RPMI_PRESET_NAME_MAX]);

/* Replace the values in @preset by those in the file. RPM_E_INVAL with file and line. */
int rpmi_preset_file_apply(const struct rpmi_preset_file *file, struct rpmi_preset *preset);

/* The same for "name=value unit, ..." that a caller gave, separated by ',' or ';'. */
int rpmi_preset_file_override(const char *settings, struct rpmi_preset *preset);

/* Check that every value is given, and that they are consistent. RPM_E_INVAL. */
int rpmi_preset_file_complete(const char *name, struct rpmi_preset *preset);

#endif
