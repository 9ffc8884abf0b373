/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preset.c: the table of modelled platforms.
 *
 * Invariants
 *   nothing here is fitted to an experiment: each number is taken from a measurement or a
 *   specification, or says that it is a coarse choice
 *   the facts a link reports follow from the row, never from elsewhere
 *
 * Tests: tests/unit/sim/preset_test.cpp
 */
#include "sim/preset.h"

#include "base/assert.h"
#include "base/limits.h"

#include <string.h>

/*
 * Nanoseconds. Sources: [1] Yang et al., "An Empirical Guide to the Behavior and Use of Scalable
 * Persistent Memory", FAST 2020, published data; [2] round trips of 4 us (write, then read) and
 * 3 us (chained) in Wei et al., USENIX ATC 2021; [c] coarse choice, to be calibrated.
 */
#define NVM_DELAYS                                                                                 \
    {                                                                                              \
        .post = 250,           /* [c] with network and pcie adds up to the chained 3 us of [2] */  \
            .network = 600,    /* [2] half of the round trip that chaining saves, less the NICs */ \
            .packet = 85,      /* 1 KiB at 12 GB/s, the rate of a 100 Gb/s port */                 \
            .nic = 60,         /* [c] */                                                           \
            .nic_slow = 3000,  /* [c] long enough for an ACK to overtake the data it speaks of */  \
            .pcie = 300,       /* [c] */                                                           \
            .pcie_slow = 2000, /* [c] longer than the way back of an acknowledgement */            \
            .line = 4,         /* 64 B at 16 GB/s, PCIe 3.0 x16 */                                 \
            .read = 300,       /* [1] random read of an idle DIMM, 305 ns */                       \
            .wake = 200,       /* [c] a core that polls */                                         \
            .store = 5,        /* [c] */                                                           \
            .writeback = 62,   /* [1] store and clwb, 62 ns */                                     \
            .stream = 90,      /* [1] non-temporal store, 90 ns */                                 \
            .fence = 10,       /* [c] */                                                           \
            .sector = 2000,    /* [c] unused without a block device */                             \
            .evict = 20000,    /* [c] */                                                           \
            .retry = 50000,    /* [c] far below real ones, so that a lost link costs few events */ \
    }

static const struct rpmi_preset PRESETS[] = {
    { "adr", RPM_DOMAIN_ADR, RPM_MEDIUM_DEVDAX, true, 1, RPMI_LINE_BYTES, NVM_DELAYS },
    { "adr-noddio", RPM_DOMAIN_ADR, RPM_MEDIUM_DEVDAX, false, 1, RPMI_LINE_BYTES, NVM_DELAYS },
    { "eadr", RPM_DOMAIN_EADR, RPM_MEDIUM_DEVDAX, true, 1, 1, NVM_DELAYS },
    /* A block device writes sectors of 512 bytes whole. */
    { "msync", RPM_DOMAIN_MSYNC, RPM_MEDIUM_FILE, true, 8, RPMI_PAGE_BYTES, NVM_DELAYS },
};

const struct rpmi_preset *rpmi_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof(PRESETS) / sizeof(PRESETS[0]); i++)
        if (strcmp(PRESETS[i].name, name) == 0)
            return &PRESETS[i];
    return NULL;
}

static uint32_t methods_of(bool native_flush)
{
    uint32_t methods = 0;

    for (uint32_t method = RPM_METHOD_WRITE; method <= RPM_METHOD_FLUSH; method++)
        methods |= 1u << method;
    return native_flush ? methods : methods & ~(1u << RPM_METHOD_FLUSH);
}

void rpmi_preset_facts(const struct rpmi_preset *preset, bool native_flush, struct rpm_facts *facts)
{
    bool device = preset->medium == RPM_MEDIUM_DEVDAX;

    *facts = rpm_facts_init();
    facts->medium = preset->medium;
    facts->domain = preset->domain;
    facts->ddio = preset->ddio ? RPM_YES : RPM_NO;
    /* A region over a page cache cannot be registered for persistent FLUSH. */
    facts->native_flush = native_flush && device ? RPM_YES : RPM_NO;
    facts->atomic_write = RPM_NO;
    facts->memory_window = RPM_YES;
    facts->granularity_bytes = preset->granularity_bytes;
    facts->line_bytes = device ? RPMI_XPLINE_BYTES : RPMI_LINE_BYTES;
    facts->methods = methods_of(native_flush);
    facts->memory_node = 0;
    facts->port_node = 0;
    facts->modelled = 1;
}

bool rpmi_preset_at_once(const struct rpmi_preset *preset, bool by_nic)
{
    switch (preset->domain) {
    case RPM_DOMAIN_EADR:
        return true;
    case RPM_DOMAIN_ADR:
        return by_nic && !preset->ddio;
    default:
        RPM_ASSERT(preset->domain == RPM_DOMAIN_MSYNC);
        return false;
    }
}
