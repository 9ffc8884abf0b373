/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.cc: memory for coroutine frames: each thread keeps lists of free frames by size.
 *
 * Tests: tests/unit/dtx/engine/base/task_test.cpp
 */
#include <dtx/task.h>

#include "engine/base/assert.h"

#include <array>
#include <new>
#include <utility>

namespace dtx
{

static constexpr size_t kStep = 128;
static constexpr size_t kClasses = 32; /* frames up to 4 KiB; larger ones are rare */

namespace
{

/* A free frame, and the next free one of its size. */
struct Free {
    Free *next;
};

/* Initial-exec: else a shared library calls the linker for each frame. The lists take 256 bytes of
 * the room that the C library keeps for libraries which a program opens at run time. */
constinit thread_local std::array<Free *, kClasses> lists
    __attribute__((tls_model("initial-exec"))){};

/* Frees the lists at the thread's end. */
struct Cleaner {
    bool needed = false;

    ~Cleaner()
    {
        for (Free *&list : lists)
            while (list != nullptr)
                ::operator delete(std::exchange(list, list->next));
    }
};

thread_local Cleaner cleaner;

} // namespace

static Free *&list_of(size_t bytes)
{
    DTX_ASSERT(bytes > 0 && bytes <= kStep * kClasses);
    return lists[(bytes - 1) / kStep];
}

static void *new_frame(size_t bytes)
{
    cleaner.needed = true; /* the first access to a thread_local object registers its destructor */
    return ::operator new((bytes + kStep - 1) / kStep * kStep);
}

void *allocate_frame(size_t bytes)
{
    if (bytes > kStep * kClasses)
        return ::operator new(bytes);

    Free *&list = list_of(bytes);

    if (list == nullptr)
        return new_frame(bytes);
    return std::exchange(list, list->next);
}

void free_frame(void *frame, size_t bytes)
{
    if (bytes > kStep * kClasses) {
        ::operator delete(frame);
        return;
    }
    Free *&list = list_of(bytes);

    list = new (frame) Free{ list };
}

} // namespace dtx
