/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.cc: memory for coroutine frames: lists of what was given back, by size, for each thread.
 *
 * Tests: tests/unit/dtx/engine/task_test.cpp
 */
#include "engine/task.h"

#include <array>
#include <new>
#include <vector>

namespace dtx
{

static constexpr size_t kStep = 64;
static constexpr size_t kClasses = 32; /* frames up to 2 KiB; larger ones are rare */

namespace
{

class Frames
{
  public:
    ~Frames()
    {
        for (auto &list : free_)
            for (void *frame : list)
                ::operator delete(frame);
    }
    std::vector<void *> &list(size_t bytes)
    {
        return free_[(bytes - 1) / kStep];
    }

  private:
    std::array<std::vector<void *>, kClasses> free_;
};

thread_local Frames frames;

} // namespace

void *frame_take(size_t bytes)
{
    if (bytes > kStep * kClasses)
        return ::operator new(bytes);

    std::vector<void *> &list = frames.list(bytes);

    if (list.empty())
        return ::operator new((bytes + kStep - 1) / kStep * kStep);
    void *frame = list.back();

    list.pop_back();
    return frame;
}

void frame_give(void *frame, size_t bytes)
{
    if (bytes > kStep * kClasses)
        ::operator delete(frame);
    else
        frames.list(bytes).push_back(frame);
}

} // namespace dtx
