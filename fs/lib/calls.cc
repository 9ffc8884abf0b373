/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.cc: begin calls, note how they ended, and hand out completions.
 *
 * Tests: tests/unit/fs/lib/async_test.cpp
 */
#include "lib/calls.h"

#include "core/base/assert.h"
#include "lib/handle.h"

#include <algorithm>
#include <utility>

namespace rfs
{

void FileCalls::add(const Job &job)
{
    if (job.order == Order::lock)
        locks_++;
    else
        unended_.push_back(job.number);
    closing_ |= job.order == Order::close;
}

void FileCalls::remove(const Job &job)
{
    if (job.order == Order::lock)
        locks_--;
    else
        unended_.erase(std::find(unended_.begin(), unended_.end(), job.number));
}

void FileCalls::hold(Job &job, dtx::Task<int64_t> body)
{
    held_.push_back({ &job, std::move(body) });
}

std::optional<dtx::Task<int64_t>> FileCalls::next(Job *&job)
{
    std::optional<dtx::Task<int64_t>> body;

    if (held_.empty() || held_.front().job->number != unended_.front() ||
        (held_.front().job->order == Order::close && locks_ > 0))
        return body;
    job = held_.front().job;
    body.emplace(std::move(held_.front().body));
    held_.pop_front();
    return body;
}

Job &Calls::add(rfs_file *file, Order order, void *context)
{
    expect(outstanding() < inflight_max_, EAGAIN);

    Job &job = submitted_.emplace_back();

    job.file = file;
    job.order = order;
    job.context = context;
    job.is_submitted = true;
    return job;
}

void Calls::begin(Job &job, dtx::Task<int64_t> body)
{
    job.number = ++numbers_;
    running_++;
    if (job.file == nullptr) {
        session_.start(follow(job, std::move(body)));
        return;
    }

    FileCalls &calls = job.file->calls;
    bool held = job.order == Order::barrier || job.order == Order::close;
    Job *next = nullptr;

    RFS_ASSERT(!calls.is_closing()); /* the file is not the caller's any more */
    calls.add(job);
    if (!held) {
        session_.start(follow(job, std::move(body)));
        return;
    }
    calls.hold(job, std::move(body));

    auto ready = calls.next(next);

    if (ready)
        session_.start(follow(*next, std::move(*ready)));
}

dtx::Task<> Calls::follow(Job &job, dtx::Task<int64_t> body)
{
    try {
        job.result = co_await std::move(body);
    } catch (...) {
        job.result = error_of_exception(job.text);
    }
    end(job);
}

void Calls::end_in_file(const Job &job)
{
    FileCalls &calls = job.file->calls;
    Job *next = nullptr;

    calls.remove(job);
    if (job.order == Order::close) {
        delete job.file;
        return;
    }

    auto ready = calls.next(next);

    if (ready)
        session_.start(follow(*next, std::move(*ready)));
}

void Calls::end(Job &job)
{
    RFS_ASSERT(running_ > 0 && !job.has_ended);
    running_--;
    job.has_ended = true;
    if (job.file != nullptr)
        end_in_file(job);
    if (!job.is_submitted)
        return;

    auto place = std::find_if(submitted_.begin(), submitted_.end(),
                              [&job](const Job &each) { return &each == &job; });

    RFS_ASSERT(place != submitted_.end());
    ended_.splice(ended_.end(), submitted_, place);
}

void Calls::settle()
{
    while (running_ == 0 && session_.work(UINT64_MAX))
        ;
}

/* Gives the caller the file that a call has opened. */
void Calls::hand_out(Job &job)
{
    if (job.opened != nullptr)
        *job.into = job.opened.release();
}

void Calls::finish(Job &job)
{
    while (!job.has_ended)
        (void)session_.work(UINT64_MAX);
    settle();
    if (job.result < 0)
        last_error() = job.text;
    hand_out(job);
}

void Calls::drain()
{
    while (running_ > 0)
        (void)session_.work(UINT64_MAX);
    settle();
}

size_t Calls::available(bool installing) const
{
    bool keeps_one = running_ == 0 && installing && !ended_.empty();

    return ended_.size() - (keeps_one ? 1 : 0);
}

uint32_t Calls::take(rfs_completion *done, uint32_t n, bool installing)
{
    uint32_t count = static_cast<uint32_t>(std::min<size_t>(n, available(installing)));

    texts_.clear();
    texts_.reserve(count); /* so that they stay where they are */
    for (uint32_t i = 0; i < count; i++) {
        Job &job = ended_.front();

        texts_.push_back(std::move(job.text));
        done[i] = { job.context, job.result, texts_.back().c_str() };
        hand_out(job);
        ended_.pop_front();
    }
    return count;
}

uint32_t Calls::cancel(const void *context)
{
    uint32_t count = 0;

    for (Job &job : submitted_)
        if (job.order == Order::lock && job.context == context) {
            job.is_cancelled = true;
            count++;
        }
    return count;
}

void Calls::cancel_all()
{
    for (Job &job : submitted_)
        job.is_cancelled = true;
}

std::unique_ptr<rfs_file> Calls::untaken()
{
    for (Job &job : ended_)
        if (job.opened != nullptr)
            return std::move(job.opened);
    return nullptr;
}

} // namespace rfs
