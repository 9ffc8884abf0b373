/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * params.h: the parameters of a preset, each with its unit. The struct, the parser and the listing
 * are made from this one list.
 *
 * Kinds, and the base unit a value is kept in:
 *   TIME   ns, us            picoseconds
 *   BYTES  B, KiB, MiB, GiB  bytes
 *   RATE   GB/s              bytes per microsecond
 *   COUNT  a noun            as it is
 *
 * Tests: tests/unit/sim/preset/preset_test.cpp
 */
#ifndef RPMI_SIM_PARAMS_H
#define RPMI_SIM_PARAMS_H

#include <stdint.h>

enum rpmi_param_kind {
    RPMI_PARAM_TIME = 0,
    RPMI_PARAM_BYTES = 1,
    RPMI_PARAM_RATE = 2,
    RPMI_PARAM_COUNT = 3
};

/* X(kind, name, noun of a count or "", least, most in base units, description) */
#define RPMI_PERF_PARAMS(X)                                                                        \
    /* memory */                                                                                   \
    X(COUNT, dimms, "dimms", 1, 8, "modules that one pool is interleaved over")                    \
    X(BYTES, interleave, "", 64, 1 << 20, "contiguous bytes on one module")                        \
    X(BYTES, media_line, "", 64, 256, "what the media read and write as one")                      \
    X(COUNT, buffer_lines, "lines", 1, 1024, "media lines in a module's write buffer")             \
    X(TIME, media_read, "", 1, 1u << 30, "media busy with reading one media line")                 \
    X(TIME, media_write, "", 1, 1u << 30, "media busy with writing one media line")                \
    X(TIME, media_fill, "", 0, 1u << 30, "spared of a write for each 64 bytes read before it")     \
    X(TIME, media_latency, "", 1, 1u << 30, "idle load of a line that the media must read")        \
    X(TIME, buffer_latency, "", 1, 1u << 30, "idle load of a line that the module has at hand")    \
    X(TIME, channel_line, "", 1, 1u << 30, "64 bytes over the bus to a module")                    \
    X(COUNT, wpq_lines, "lines", 1, 256, "a module's queue in the memory controller")              \
    X(COUNT, directory, "writes", 0, 1, "media writes that a remote socket's access adds")         \
    X(TIME, dram_read, "", 1, 1u << 30, "DRAM channel busy with reading 64 bytes")                 \
    X(TIME, dram_write, "", 1, 1u << 30, "DRAM channel busy with writing 64 bytes")                \
    X(TIME, dram_latency, "", 1, 1u << 30, "idle load of a line in DRAM")                          \
    /* caches and sockets */                                                                       \
    X(BYTES, llc_bytes, "", 1 << 16, 1 << 28, "last-level cache")                                  \
    X(COUNT, llc_ways, "ways", 1, 32, "ways of a set")                                             \
    X(COUNT, llc_slices, "slices", 1, 64, "slices, in which lines wait for a controller")          \
    X(COUNT, ddio_ways, "ways", 1, 32, "ways that inbound writes may allocate in")                 \
    X(TIME, llc_latency, "", 1, 1u << 30, "idle load of a line in the last-level cache")           \
    X(COUNT, llc_victims, "ways", 1, 32, "oldest ways of a set, one of which goes")                \
    X(TIME, upi_latency, "", 0, 1u << 30, "a hop to the other socket and back")                    \
    X(RATE, upi_rate, "", 1, 1u << 30, "one direction between the sockets")                        \
    /* a server core */                                                                            \
    X(COUNT, fill_buffers, "lines", 1, 64, "cache misses and streams of one core under way")       \
    X(TIME, read_line, "", 1, 1u << 30, "least time between loads of two lines")                   \
    X(COUNT, reads_in_flight, "lines", 1, 64, "loads of one core that overlap")                    \
    X(TIME, stream_line, "", 1, 1u << 30, "least time between non-temporal stores of two lines")   \
    X(TIME, stream_latency, "", 1, 1u << 30, "idle non-temporal store until a fence returns")      \
    X(TIME, stream_fence, "", 1, 1u << 30, "least time between two fenced streams of a line")      \
    X(TIME, stream_fence_line, "", 0, 1u << 30, "the same, for each further line of a stream")     \
    X(TIME, clwb_line, "", 1, 1u << 30, "least time between stores with clwb of two lines")        \
    X(TIME, clwb_latency, "", 1, 1u << 30, "idle store and clwb until a fence returns")            \
    X(TIME, clwb_fence, "", 1, 1u << 30, "least time between two fenced stores with clwb")         \
    X(TIME, store_line, "", 1, 1u << 30, "least time between cached stores of two lines")          \
    X(TIME, call_work, "", 1, 1u << 30, "a core takes up one message and sees what it asks")       \
    X(TIME, call_reply, "", 1, 1u << 30, "a core posts one reply")                                 \
    /* NIC, PCIe, network */                                                                       \
    X(TIME, nic_post, "", 1, 1u << 30, "client core: a request and its doorbell")                  \
    X(TIME, nic_message, "", 1, 1u << 30, "NIC busy with one message")                             \
    X(TIME, nic_latency, "", 1, 1u << 30, "one NIC handles one message, idle")                     \
    X(TIME, nic_atomic, "", 1, 1u << 30, "NIC's own part of an atomic's critical section")         \
    X(COUNT, nic_atomics, "units", 1, 64, "atomics that proceed side by side")                     \
    X(COUNT, nic_reads, "requests", 1, 128, "PCIe reads of one NIC under way")                     \
    X(BYTES, nic_inline, "", 0, 4096, "largest payload that goes out with its doorbell")           \
    X(BYTES, nic_buffer, "", 4096, 1 << 24, "what a NIC holds of messages not yet placed")         \
    X(COUNT, inbound_lines, "lines", 1, 4096, "inbound lines that the root complex reads ahead")   \
    X(RATE, network_rate, "", 1, 1u << 30, "one port, one direction")                              \
    X(TIME, network_latency, "", 1, 1u << 30, "one way, switch and cables")                        \
    X(TIME, pcie_read, "", 1, 1u << 30, "round trip of a read, without the memory's share")        \
    X(TIME, pcie_write, "", 1, 1u << 30, "posted write until the root complex has it")             \
    X(RATE, pcie_rate, "", 1, 1u << 30, "one direction, before headers")                           \
    X(BYTES, pcie_payload, "", 64, 4096, "most data in one transaction")                           \
    X(BYTES, pcie_header, "", 1, 64, "framing of one transaction")                                 \
    X(TIME, completion, "", 1, 1u << 30, "answer at the client's NIC until its core has seen it")  \
    X(TIME, nic_poll, "", 1, 1u << 30, "scripts: client core takes one completion")                \
    X(TIME, client_switch, "", 1, 1u << 30, "scripts: client core goes to a coroutine and back")   \
    X(TIME, doorbell_lock, "", 0, 1u << 30, "scripts: a doorbell's lock comes from another core")  \
    X(TIME, doorbell_wait, "", 0, 1u << 30, "the same for each further core that waits for it")    \
    X(COUNT, request_cache, "requests", 1, 1 << 20,                                                \
      "requests under way that a client's NIC holds")                                              \
    X(TIME, request_miss, "", 0, 1u << 30, "that NIC busy with fetching a request anew")           \
    /* paths of a DPU: its units, switch, SoC and copy engine */                                   \
    X(COUNT, nic_units, "units", 1, 64, "paths: units of a NIC, a message is handled by one")      \
    X(COUNT, nic_host_units, "units", 0, 32, "of these, for messages to host memory alone")        \
    X(COUNT, nic_soc_units, "units", 0, 32, "of these, for messages to SoC memory alone")          \
    X(COUNT, nic_tags, "requests", 1, 4096, "paths: PCIe reads of one NIC under way")              \
    X(COUNT, host_cores, "cores", 1, 64, "paths: cores of the host that answer calls")             \
    X(TIME, switch_latency, "", 0, 1u << 30, "one pass of the DPU's PCIe switch")                  \
    X(BYTES, soc_payload, "", 64, 4096, "most data in a transaction of SoC memory")                \
    X(COUNT, soc_cores, "cores", 0, 64, "of the DPU; 0: there is no DPU")                          \
    X(TIME, soc_call, "", 1, 1u << 30, "a SoC core takes up a message and answers it")             \
    X(TIME, soc_post, "", 1, 1u << 30, "a SoC core: a request and its doorbell")                   \
    X(RATE, soc_dram_rate, "", 1, 1u << 30, "SoC memory, reads and writes together")               \
    X(TIME, soc_dram_latency, "", 1, 1u << 30, "idle load of a line in SoC memory")                \
    X(COUNT, soc_banks, "banks", 1, 64, "of SoC memory, each with one access at a time")           \
    X(TIME, soc_bank_busy, "", 1, 1u << 30, "a bank is busy with one access")                      \
    X(BYTES, soc_bank_bytes, "", 64, 1 << 20, "contiguous bytes in one bank")                      \
    X(TIME, dma_read_task, "", 1, 1u << 30, "SoC's copy engine takes up a copy from the host")     \
    X(TIME, dma_write_task, "", 1, 1u << 30, "the same of a copy to the host")                     \
    X(RATE, dma_read_rate, "", 1, 1u << 30, "that engine copies from the host")                    \
    X(RATE, dma_write_rate, "", 1, 1u << 30, "that engine copies to the host")                     \
    X(TIME, dma_latency, "", 1, 1u << 30, "a copy begins and its end is noticed, idle")            \
    /* what threads and agents do, in chains of steps */                                           \
    X(TIME, host_sleep, "", 1, 1u << 30, "a thread of the host sleeps, its core goes to another")  \
    X(TIME, host_wake, "", 1, 1u << 30, "an interrupt of a host core until a thread of it runs")   \
    X(TIME, soc_wake, "", 1, 1u << 30, "the same of a SoC core")                                   \
    X(TIME, page_checksum, "", 1, 1u << 30, "a host core checks 4 KiB that are in its cache")      \
    X(TIME, page_compare, "", 1, 1u << 30, "a host core compares 4 KiB that are in its cache")     \
    X(TIME, soc_checksum, "", 1, 1u << 30, "a SoC core checks 4 KiB")                              \
    X(TIME, soc_compare, "", 1, 1u << 30, "a SoC core compares 4 KiB")                             \
    X(TIME, soc_compress, "", 1, 1u << 30, "a SoC core compresses 4 KiB")                          \
    X(TIME, soc_decompress, "", 1, 1u << 30, "a SoC core decompresses 4 KiB")                      \
    X(TIME, agent_event, "", 1, 1u << 30, "host: an event until an agent on another core has it")  \
    X(TIME, agent_decide, "", 1, 1u << 30, "host: an agent makes one decision and writes it down") \
    X(TIME, agent_commit, "", 1, 1u << 30, "host: an agent has a written decision carried out")

/* Base units, see the kinds above. */
struct rpmi_params {
#define RPMI_PARAM_FIELD(kind, name, noun, least, most, what) uint64_t name;
    RPMI_PERF_PARAMS(RPMI_PARAM_FIELD)
#undef RPMI_PARAM_FIELD
};

#endif
