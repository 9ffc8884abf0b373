/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset.h: presets, the platforms that can be modelled: where the persistence domain begins, and
 * the times and rates of its parts. A preset is a file (preset_file.h); those in this folder are
 * part of the library.
 *
 * Tests: tests/unit/sim/preset/preset_test.cpp
 */
#ifndef RPMI_SIM_PRESET_H
#define RPMI_SIM_PRESET_H

#include "sim/preset/params.h"

#include <librpm/facts.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Delays that order the events of a world. X(name, what it is). In a file the name begins with
 * "order_". */
#define RPMI_ORDER_PARAMS(X)                                                                       \
    X(post, "doorbell until the first packet leaves")                                              \
    X(network, "one way")                                                                          \
    X(packet, "a full packet on the wire")                                                         \
    X(nic, "server NIC looks at a packet")                                                         \
    X(nic_slow, "most that a packet may linger there")                                             \
    X(pcie, "posted write or read request through the PCIe queue")                                 \
    X(pcie_slow, "most that one may wait for credits on top")                                      \
    X(line, "next cache line of a transaction")                                                    \
    X(read, "memory read by the NIC, a few lines")                                                 \
    X(wake, "server CPU notices a message")                                                        \
    X(store, "cached store of one line")                                                           \
    X(writeback, "clwb of one line until it is in the controller's queue")                         \
    X(stream, "non-temporal store of one line until there")                                        \
    X(fence, "sfence with nothing outstanding")                                                    \
    X(sector, "one sector to the block device")                                                    \
    X(evict, "longest until a line is evicted, when it is")                                        \
    X(retry, "client NIC waits this long for a sign of life")

/* Nanoseconds. */
struct rpmi_delays {
#define RPMI_ORDER_FIELD(name, what) uint32_t name;
    RPMI_ORDER_PARAMS(RPMI_ORDER_FIELD)
#undef RPMI_ORDER_FIELD
};

/* Index of a parameter in rpmi_param_table and in rpmi_preset.text. */
enum rpmi_param_index {
#define RPMI_PARAM_INDEX(kind, name, noun, least, most, what) RPMI_AT_##name,
    RPMI_PERF_PARAMS(RPMI_PARAM_INDEX)
#undef RPMI_PARAM_INDEX
#define RPMI_ORDER_INDEX(name, what) RPMI_AT_order_##name,
        RPMI_ORDER_PARAMS(RPMI_ORDER_INDEX)
#undef RPMI_ORDER_INDEX
            RPMI_PARAMS
};

/* A parameter, and the values that a file may give it. */
struct rpmi_param {
    const char *name;
    const char *noun; /* unit of a count */
    const char *what;
    uint64_t least; /* base units of its kind */
    uint64_t most;
    size_t offset; /* in struct rpmi_preset */
    enum rpmi_param_kind kind;
    bool order; /* a uint32_t of nanoseconds in .ns, else a uint64_t in .cost */
};

extern const struct rpmi_param rpmi_param_table[RPMI_PARAMS];

#define RPMI_PRESET_NAME_MAX 256u /* a name or a path, with the NUL */
#define RPMI_PRESET_VALUE_MAX 32u
#define RPMI_PRESET_SOURCE_MAX 200u

struct rpmi_param_text {
    char value[RPMI_PRESET_VALUE_MAX]; /* as given, with its unit */
    char source[RPMI_PRESET_SOURCE_MAX];
};

/* Holds no pointers: may be copied, needs no closing. */
struct rpmi_preset {
    char name[RPMI_PRESET_NAME_MAX];
    enum rpm_domain domain;
    enum rpm_medium medium;
    bool ddio;           /* inbound writes allocate in the cache */
    uint32_t words;      /* bit for each word that was given */
    uint32_t unit_lines; /* lines that go to the media together */
    uint32_t granularity_bytes;
    struct rpmi_delays ns;
    struct rpmi_params cost;
    struct rpmi_param_text text[RPMI_PARAMS];
};

#define RPMI_SIM_RETRIES 7u /* retry_cnt is a 3-bit field in a queue pair's attributes */

/*
 * Read "NAME" or "PATH" (it contains a '/'), with values replaced after commas or semicolons:
 * "hints,dimms=1 dimms". RPM_E_INVAL with file and line of the error, RPM_E_NOENT, RPM_E_IO,
 * RPM_E_NOMEM; @preset is undefined then. Setup only.
 */
int rpmi_preset_read(const char *spec, struct rpmi_preset *preset);

/* The facts that a link to such a machine reports. @native_flush: its NIC has FLUSH. */
void rpmi_preset_facts(const struct rpmi_preset *preset, bool native_flush,
                       struct rpm_facts *facts);

/* Is a write durable when it arrives? @by_nic: through PCIe, else a CPU's cached store. */
bool rpmi_preset_at_once(const struct rpmi_preset *preset, bool by_nic);

#endif
