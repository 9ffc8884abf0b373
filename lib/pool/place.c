/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.c: where in its area an object is put: in the first gap between others that it fits into.
 *
 * Tests: tests/unit/pool/place_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"

#include <inttypes.h>

static uint64_t area_begin(const struct rpmi_service *service, bool dram)
{
    return dram ? RPMI_SCRATCH_BYTES : service->super.data_offset;
}

static uint64_t area_end(const struct rpmi_service *service, bool dram)
{
    return dram ? service->opts.dram->bytes : service->opts.pool->bytes;
}

static uint64_t area_align(bool dram)
{
    return dram ? RPMI_LINE_BYTES : RPMI_PAGE_BYTES;
}

/* Gaps of an area, from low to high: [at, end). */
struct gap {
    uint64_t at;
    uint64_t end;
    uint32_t next; /* place of the object behind it, by place */
};

/* The first gap if @gap->at is 0, else the one behind it. False: there is none. A gap may have no
 * bytes. */
static bool next_gap(const struct rpmi_service *service, bool dram, struct gap *gap)
{
    const struct rpmi_sorted *list = &service->by_place[rpmi_area_of(dram)];
    uint64_t end = area_end(service, dram);

    if (gap->at == 0) {
        *gap = (struct gap){ .at = area_begin(service, dram) };
    } else {
        const struct rpmi_dirent *before;

        if (gap->next == list->n)
            return false;
        before = &list->at[gap->next++]->entry;
        RPM_ASSERT(before->offset >= gap->end);
        gap->at = rpmi_align_up(before->offset + before->bytes, area_align(dram));
    }
    gap->end = gap->next < list->n ? list->at[gap->next]->entry.offset : end;
    gap->at = gap->at < gap->end ? gap->at : gap->end; /* the last object may end unaligned */
    RPM_ASSERT(gap->at != 0 && gap->end <= end);
    return true;
}

/* Bytes of the largest gap among the objects of one area. */
static uint64_t gap_max(const struct rpmi_service *service, bool dram)
{
    struct gap gap = { 0 };
    uint64_t largest = 0;

    while (next_gap(service, dram, &gap))
        largest = gap.end - gap.at > largest ? gap.end - gap.at : largest;
    return largest;
}

void rpmi_dir_room(const struct rpmi_service *service, bool dram, struct rpmi_dir_room *room)
{
    struct gap gap = { 0 };

    *room = (struct rpmi_dir_room){ .bytes = area_end(service, dram) - area_begin(service, dram),
                                    .objects_max = rpmi_area_past(service, dram) -
                                                   rpmi_area_first(service, dram) };
    while (next_gap(service, dram, &gap)) {
        uint64_t bytes = gap.end - gap.at;

        room->free += bytes;
        room->largest = bytes > room->largest ? bytes : room->largest;
        room->objects = gap.next;
    }
    RPM_ASSERT(room->largest <= room->free && room->free <= room->bytes);
    RPM_ASSERT(room->objects <= room->objects_max);
}

int rpmi_dir_place(const struct rpmi_service *service, bool dram, uint64_t bytes, uint64_t *offset)
{
    struct gap gap = { 0 };

    while (next_gap(service, dram, &gap)) {
        if (gap.end - gap.at < bytes)
            continue;
        RPM_ASSERT(rpmi_is_aligned(gap.at, area_align(dram)));
        *offset = gap.at;
        return 0;
    }
    return rpmi_fail(RPM_E_NOSPACE,
                     "%" PRIu64 " bytes wanted, %" PRIu64 " free in one piece, of the %s's %" PRIu64
                     ": ask for less, remove objects or serve a larger one",
                     bytes, gap_max(service, dram), dram ? "DRAM area" : "pool",
                     area_end(service, dram));
}
