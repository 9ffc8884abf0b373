/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sorted.c: sorted lists of objects. A pool can have thousands of objects: a search by name, place
 * or id takes a few steps, and an object that comes or goes moves the pointers behind it.
 *
 * Tests: tests/unit/pool/sorted_test.cpp
 */
#include "pool/state.h"

#include <string.h>

static int compare(enum rpmi_sorted_by by, const struct rpmi_dirent *a, const struct rpmi_dirent *b)
{
    if (by == RPMI_BY_NAME)
        return strcmp(a->name, b->name);
    if (by == RPMI_BY_PLACE)
        return (a->offset > b->offset) - (a->offset < b->offset);
    return (a->id > b->id) - (a->id < b->id);
}

uint32_t rpmi_sorted_find(const struct rpmi_sorted *sorted, const struct rpmi_dirent *key)
{
    uint32_t first = 0;
    uint32_t past = sorted->n;

    while (first < past) {
        uint32_t middle = first + (past - first) / 2;

        if (compare(sorted->by, &sorted->at[middle]->entry, key) < 0)
            first = middle + 1;
        else
            past = middle;
    }
    RPM_ASSERT(first == 0 || compare(sorted->by, &sorted->at[first - 1]->entry, key) < 0);
    return first;
}

void rpmi_sorted_add(struct rpmi_sorted *sorted, struct rpmi_object *object)
{
    uint32_t place = rpmi_sorted_find(sorted, &object->entry);

    RPM_ASSERT(object->used);
    memmove(&sorted->at[place + 1], &sorted->at[place],
            (sorted->n - place) * sizeof(struct rpmi_object *));
    sorted->at[place] = object;
    sorted->n++;
}

void rpmi_sorted_remove(struct rpmi_sorted *sorted, const struct rpmi_object *object)
{
    uint32_t place = rpmi_sorted_find(sorted, &object->entry);

    RPM_ASSERT(object->used && place < sorted->n);
    while (sorted->at[place] != object) { /* others may have the same id */
        place++;
        RPM_ASSERT(place < sorted->n);
    }
    sorted->n--;
    memmove(&sorted->at[place], &sorted->at[place + 1],
            (sorted->n - place) * sizeof(struct rpmi_object *));
}
