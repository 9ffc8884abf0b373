/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.c: binary heap of events.
 *
 * Invariants
 *   no event is earlier than its parent in the heap
 *   memory is taken at setup only; a push never allocates
 *
 * Tests: tests/unit/sim/queue_test.cpp
 */
#include "sim/queue.h"

#include "base/assert.h"
#include "base/mem.h"

#include <librpm/error.h>
#include <string.h>

static bool earlier(const struct rpmi_event *a, const struct rpmi_event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->order < b->order;
}

int rpmi_queue_reserve(struct rpmi_queue *queue, uint32_t more)
{
    uint32_t room = queue->count + more;
    struct rpmi_event *heap;

    if (room <= queue->room)
        return 0;
    heap = rpmi_alloc(room * sizeof(*heap), 64);
    if (heap == NULL)
        return RPM_E_NOMEM;
    if (queue->count > 0)
        memcpy(heap, queue->heap, queue->count * sizeof(*heap));
    rpmi_free(queue->heap);
    queue->heap = heap;
    queue->room = room;
    return 0;
}

void rpmi_queue_close(struct rpmi_queue *queue)
{
    rpmi_free(queue->heap);
    memset(queue, 0, sizeof(*queue));
}

void rpmi_queue_push(struct rpmi_queue *queue, const struct rpmi_event *event)
{
    struct rpmi_event *heap = queue->heap;
    struct rpmi_event rising = *event;
    uint32_t at = queue->count;

    RPM_ASSERT(queue->count < queue->room);
    rising.order = ++queue->order;
    queue->count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;

        if (!earlier(&rising, &heap[parent]))
            break;
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = rising;
}

bool rpmi_queue_pop(struct rpmi_queue *queue, struct rpmi_event *event)
{
    struct rpmi_event *heap = queue->heap;
    struct rpmi_event sinking;
    uint32_t at = 0;

    if (queue->count == 0)
        return false;
    *event = heap[0];
    queue->count--;
    sinking = heap[queue->count];
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && earlier(&heap[child + 1], &heap[child]))
            child++;
        if (!earlier(&heap[child], &sinking))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
    RPM_ASSERT_SLOW(queue->count == 0 || !earlier(&heap[0], event));
    return true;
}
