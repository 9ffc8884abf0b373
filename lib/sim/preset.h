/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset.h: platforms that can be modelled: where the persistence domain begins, and how long
 * things take. Every number has its source beside it in preset.c.
 *
 * Tests: tests/unit/sim/preset_test.cpp
 */
#ifndef RPMI_SIM_PRESET_H
#define RPMI_SIM_PRESET_H

#include <librpm/facts.h>
#include <stdbool.h>
#include <stdint.h>

struct rpmi_delays {
    uint32_t post;      /* doorbell until the first packet leaves */
    uint32_t network;   /* one way */
    uint32_t packet;    /* a full packet on the wire */
    uint32_t nic;       /* server NIC looks at a packet */
    uint32_t nic_slow;  /* most that a packet may linger there */
    uint32_t pcie;      /* posted write or read request through the PCIe queue */
    uint32_t pcie_slow; /* most that one may wait for credits on top */
    uint32_t line;      /* next cache line of a transaction */
    uint32_t read;      /* memory read by the NIC, a few lines */
    uint32_t wake;      /* far CPU notices a message */
    uint32_t store;     /* cached store of one line */
    uint32_t writeback; /* clwb of one line until it is in the controller's queue */
    uint32_t stream;    /* non-temporal store of one line until there */
    uint32_t fence;     /* sfence with nothing outstanding */
    uint32_t sector;    /* one sector to the block device */
    uint32_t evict;     /* longest until a line is evicted, when it is */
    uint32_t retry;     /* client NIC waits this long for a sign of life */
};

struct rpmi_preset {
    const char *name;
    enum rpm_domain domain;
    enum rpm_medium medium;
    bool ddio;           /* inbound writes allocate in the cache */
    uint32_t unit_lines; /* lines that go to the media together */
    uint32_t granularity_bytes;
    struct rpmi_delays ns;
};

#define RPMI_SIM_RETRIES 7u /* retry_cnt is a 3-bit field in a queue pair's attributes */

/* NULL when there is none of that name. */
const struct rpmi_preset *rpmi_preset_find(const char *name);

/* What a link to such a machine reports. @native_flush: its NIC has FLUSH. */
void rpmi_preset_facts(const struct rpmi_preset *preset, bool native_flush,
                       struct rpm_facts *facts);

/* Is a write durable the moment it lands? @by_nic: through PCIe, else a CPU's cached store. */
bool rpmi_preset_at_once(const struct rpmi_preset *preset, bool by_nic);

#endif
