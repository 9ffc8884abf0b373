/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c: check a load, and compute the addresses of its operations.
 *
 * Each sequential thread has its own area and begins at a random address in it. In a mix it has one
 * area that it reads and another that it writes, as in a copy. Appends of all threads share one
 * area. A load on one module uses only the chunks of the interleaving that belong to that module.
 *
 * Tests: tests/unit/sim/perf/load_test.cpp
 */
#include "base/err.h"
#include "sim/perf/server_model.h"

#define PART_BYTES                                                                                 \
    24u /* header of each part of a call but the first: as in the published port's log */
#define BYTES_MAX ((uint64_t)1 << 20)
#define REGION_MAX ((uint64_t)64 << 30)
#define REGION_DEFAULT ((uint64_t)1 << 30)
#define OPS_MAX ((uint64_t)1 << 24)
#define OPS_DEFAULT 20000u

uint32_t rpmi_load_areas(const struct rpm_load *load)
{
    if (load->pattern == RPM_LOAD_APPEND)
        return 1;
    return load->threads * (load->op == RPM_LOAD_MIX ? 2 : 1);
}

static uint64_t or_else(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static void defaults(struct rpm_load *load)
{
    load->copy = (uint32_t)or_else(load->copy, RPM_COPY_STREAM);
    load->bytes = load->op == RPM_LOAD_CAS ? 8 : or_else(load->bytes, RPMI_LINE_BYTES);
    load->fence_bytes = or_else(load->fence_bytes, 1);
    load->pad_bytes = or_else(load->pad_bytes, 1);
    load->align_bytes = or_else(load->align_bytes, RPMI_LINE_BYTES);
    load->region_bytes = or_else(load->region_bytes, REGION_DEFAULT);
    load->passes = (uint32_t)or_else(load->passes, 1);
    load->threads = (uint32_t)or_else(load->threads, 1);
    load->depth = (uint32_t)or_else(load->depth, 1);
    load->cores = (uint32_t)or_else(load->cores, 10);
    load->ops = or_else(load->ops, OPS_DEFAULT);
}

static int refuse(const char *what, uint64_t value)
{
    return rpmi_fail(RPM_E_INVAL, "load: %s (%llu)", what, (unsigned long long)value);
}

static int check_words(const struct rpm_load *load)
{
    if (load->by > RPM_BY_CALL)
        return refuse("by is 0 to 2, see enum rpm_load_by", load->by);
    if (load->op > RPM_LOAD_MIX)
        return refuse("op is 0 to 3, see enum rpm_load_op", load->op);
    if (load->copy > RPM_COPY_STORE)
        return refuse("copy is 0 to 3, see enum rpm_copy", load->copy);
    if (load->persist > RPM_PERSIST_CHAIN)
        return refuse("persist is 0 to 2, see enum rpm_load_persist", load->persist);
    if (load->memory > RPM_LOAD_DRAM)
        return refuse("memory is 0 or 1, see enum rpm_load_memory", load->memory);
    if (load->flush_memory > RPM_LOAD_DRAM)
        return refuse("flush_memory is 0 or 1, see enum rpm_load_memory", load->flush_memory);
    if (load->pattern > RPM_LOAD_APPEND)
        return refuse("pattern is 0 to 2, see enum rpm_load_pattern", load->pattern);
    if (load->op == RPM_LOAD_CAS && load->by != RPM_BY_NIC)
        return refuse("compare-and-swap is one-sided: by is RPM_BY_NIC", load->by);
    if (load->pattern == RPM_LOAD_APPEND &&
        (load->op == RPM_LOAD_CAS || load->op == RPM_LOAD_MIX || load->own_dimms != 0))
        return refuse("appends are reads or writes, of all threads on the same modules", load->op);
    if (load->passes > 1 && load->pattern != RPM_LOAD_SEQUENTIAL)
        return refuse("several passes need pattern RPM_LOAD_SEQUENTIAL", load->passes);
    if (load->words != 0 && load->op != RPM_LOAD_CAS)
        return refuse("words are for RPM_LOAD_CAS", load->words);
    if (load->ddio > RPM_YES || load->remote_socket > 1 || load->own_dimms > 1)
        return refuse("ddio is 0 to 2, remote_socket 0 or 1, own_dimms 0 or 1", load->ddio);
    if (load->write_percent > 100)
        return refuse("write_percent is 0 to 100", load->write_percent);
    return 0;
}

static int check_sizes(const struct rpmi_params *params, const struct rpm_load *load)
{
    uint64_t span = rpmi_load_written(load) + load->skew_bytes;
    uint64_t modules = params->dimms * params->interleave;

    if (load->region_bytes > REGION_MAX ||
        load->region_bytes / rpmi_load_areas(load) < 2 * (modules + load->align_bytes + span))
        return refuse("a region is at most 64 GiB and has room for some operations of each thread",
                      load->region_bytes);
    if (load->words > load->region_bytes / RPMI_LINE_BYTES)
        return refuse("a region has a line for each of words", load->words);
    if (load->passes * rpmi_load_written(load) > load->align_bytes)
        return refuse("align_bytes has room for an operation of each of passes", load->passes);
    if (load->use_dimms > params->dimms || (load->own_dimms != 0 && load->use_dimms == 0))
        return refuse("use_dimms is at most the preset's dimms, and own_dimms needs it",
                      load->use_dimms);
    if (load->use_dimms != 0 &&
        (load->align_bytes > params->interleave || span > params->interleave))
        return refuse("an operation on one module is no larger than its interleaving", span);
    return 0;
}

static int check_bytes(const struct rpm_load *load)
{
    if (load->bytes > BYTES_MAX || load->pad_bytes > BYTES_MAX || load->align_bytes > BYTES_MAX)
        return refuse("bytes, pad_bytes and align_bytes are at most 1 MiB", load->bytes);
    if (rpmi_load_written(load) > BYTES_MAX)
        return refuse("an operation with its padding is at most 1 MiB", rpmi_load_written(load));
    if (load->skew_bytes >= 4096)
        return refuse("skew_bytes is less than 4096", load->skew_bytes);
    return 0;
}

static int check_counts(const struct rpm_load *load)
{
    uint64_t slots = (uint64_t)load->threads * load->depth;

    if (load->threads > 4096 || load->depth > 64 || slots > RPMI_SERVER_SLOTS)
        return refuse("threads are at most 4096, of depth at most 64", load->threads);
    if (load->by == RPM_BY_CORE && (load->threads > RPMI_SERVER_CORES || load->depth != 1))
        return refuse("cores are at most 64, with one operation at a time (depth 1)",
                      load->threads);
    if (load->by == RPM_BY_CALL && load->cores > RPMI_SERVER_CORES)
        return refuse("cores are at most 64", load->cores);
    if (load->ops > OPS_MAX)
        return refuse("ops are at most 16 Mi", load->ops);
    return 0;
}

int rpmi_load_check(const struct rpmi_params *params, struct rpm_load *load)
{
    int err;

    defaults(load);
    err = check_words(load);
    if (err == 0)
        err = check_counts(load);
    if (err == 0)
        err = check_bytes(load);
    if (err != 0)
        return err;
    /* No operation overlaps the next. After the checks, so that this cannot overflow. */
    load->align_bytes =
        (rpmi_load_written(load) + load->align_bytes - 1) / load->align_bytes * load->align_bytes;
    return check_sizes(params, load);
}

uint64_t rpmi_load_written(const struct rpm_load *load)
{
    return (load->bytes + load->pad_bytes - 1) / load->pad_bytes * load->pad_bytes;
}

bool rpmi_load_writes(struct rpmi_server_model *server)
{
    if (server->load.op == RPM_LOAD_MIX)
        return rpmi_rng_below(&server->rng, 100) < server->load.write_percent;
    return server->load.op != RPM_LOAD_READ;
}

/* Map @offset to the chunks of the modules that the thread uses. */
static uint64_t on_used(const struct rpmi_server_model *server, uint32_t thread, uint64_t offset)
{
    uint64_t chunk = server->params->interleave;
    uint64_t used = server->load.use_dimms;
    uint64_t nth = offset / chunk;
    uint64_t module = nth % used + (server->load.own_dimms != 0 ? thread * used : 0);

    return (nth / used * server->modules + module % server->modules) * chunk + offset % chunk;
}

/* Where operation @nth of an area begins. With use_dimms no operation spans two chunks. */
static uint64_t offset_of(const struct rpmi_server_model *server, uint64_t nth)
{
    const struct rpmi_load_starts *starts = &server->starts;
    uint64_t align = server->load.align_bytes;

    if (server->load.use_dimms == 0)
        return nth * align;
    return nth / starts->in_chunk * server->params->interleave + nth % starts->in_chunk * align;
}

static uint64_t starts_in(const struct rpm_load *load, uint64_t bytes)
{
    return (bytes - load->skew_bytes - rpmi_load_written(load)) / load->align_bytes + 1;
}

void rpmi_load_count_starts(struct rpmi_server_model *server)
{
    const struct rpm_load *load = &server->load;
    struct rpmi_load_starts *starts = &server->starts;
    uint64_t chunk = server->params->interleave;
    uint64_t stripe = server->modules * chunk;

    starts->area_bytes = load->region_bytes / rpmi_load_areas(load) / stripe * stripe;
    if (load->use_dimms == 0) {
        starts->in_area = starts_in(load, starts->area_bytes);
        starts->in_region = starts_in(load, load->region_bytes);
    } else {
        starts->in_chunk = starts_in(load, chunk);
        starts->in_area = starts->area_bytes / stripe * load->use_dimms * starts->in_chunk;
        starts->in_region = load->region_bytes / stripe * load->use_dimms * starts->in_chunk;
    }
    RPM_ASSERT(starts->in_area > 0 && starts->in_region >= starts->in_area);
}

static uint32_t area_of(const struct rpm_load *load, uint32_t thread, bool writes)
{
    if (load->pattern == RPM_LOAD_APPEND)
        return 0;
    return thread + (load->op == RPM_LOAD_MIX && writes ? load->threads : 0);
}

uint64_t rpmi_load_address(struct rpmi_server_model *server, uint32_t thread, bool writes)
{
    const struct rpm_load *load = &server->load;
    const struct rpmi_load_starts *starts = &server->starts;
    uint32_t area = area_of(load, thread, writes);
    uint64_t offset;

    if (load->words != 0)
        return rpmi_rng_below(&server->rng, load->words) * RPMI_LINE_BYTES;
    if (load->pattern == RPM_LOAD_RANDOM) {
        offset = offset_of(server, rpmi_rng_below(&server->rng, starts->in_region));
        return (load->use_dimms != 0 ? on_used(server, thread, offset) : offset) + load->skew_bytes;
    }
    offset = offset_of(server, server->position[area] % starts->in_area) +
             server->position[area] / starts->in_area * rpmi_load_written(load);
    server->position[area] = (server->position[area] + 1) % (starts->in_area * load->passes);
    if (load->use_dimms != 0)
        offset = on_used(server, thread, offset);
    return area * starts->area_bytes + offset + load->skew_bytes;
}

bool rpmi_load_appends(const struct rpmi_server_model *server)
{
    return server->cluster == NULL && server->load.pattern == RPM_LOAD_APPEND;
}

uint32_t rpmi_load_word(const struct rpmi_server_model *server, const struct rpmi_slot_op *op)
{
    if (server->cluster == NULL && server->load.words != 0)
        return (uint32_t)(op->address / RPMI_LINE_BYTES) + 1;
    return op->op_class->word;
}

uint64_t rpmi_load_stagger_ps(const struct rpmi_server_model *server)
{
    return server->load.interval_ps > 1000000 ? server->load.interval_ps : 1000000;
}

/* Does the previous sequential operation end in the line in which this one begins? */
static bool goes_on(const struct rpm_load *load, uint64_t address)
{
    return load->pattern != RPM_LOAD_RANDOM && address % RPMI_LINE_BYTES >= load->align_bytes;
}

/* Fill the cache with the lines that a long run would have left. */
static void fill_cache(struct rpmi_server_model *server)
{
    uint64_t lines = 4ull * server->llc.sets * server->llc.ways;
    uint32_t thread = 0;

    while (lines > 0) {
        uint64_t address = rpmi_load_address(server, thread, true);
        uint64_t end = address + rpmi_load_written(&server->load);

        for (uint64_t at = address / RPMI_LINE_BYTES; at * RPMI_LINE_BYTES < end; at++) {
            if (!rpmi_llc_has(&server->llc, at))
                rpmi_llc_fill(&server->llc, at, &server->rng);
            lines -= lines > 0 && !goes_on(&server->load, address);
        }
        thread = (thread + 1) % server->load.threads;
    }
}

void rpmi_load_start(struct rpmi_server_model *server)
{
    const struct rpm_load *load = &server->load;

    for (uint32_t i = 0; i < rpmi_load_areas(load); i++)
        server->position[i] = rpmi_rng_below(&server->rng, server->starts.in_area * load->passes);
    if (load->op == RPM_LOAD_READ || load->memory == RPM_LOAD_DRAM)
        return;
    if (load->by == RPM_BY_NIC ? server->ddio : load->copy == RPM_COPY_STORE)
        fill_cache(server);
}

/* Payload bytes of a call's parts. */
static uint64_t payload_of(const struct rpmi_slot_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; op->write && i < op->op_classes; i++)
        bytes += op->op_class[i].op == RPM_LOAD_READ ? 0 : op->op_class[i].bytes;
    return bytes;
}

uint64_t rpmi_load_call_bytes(const struct rpmi_slot_op *op)
{
    return payload_of(op) + RPMI_LINE_BYTES + (op->op_classes - 1) * PART_BYTES;
}

/* Bytes of the answer: the results of its parts, or else a status. */
uint64_t rpmi_load_answer_bytes(const struct rpmi_slot_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < op->op_classes; i++)
        if (op->op_classes > 1 ? op->op_class[i].op != RPM_LOAD_WRITE : !op->write)
            bytes += op->op_class[i].bytes;
    return bytes != 0 ? bytes : RPMI_LINE_BYTES / 4;
}
