// SPDX-License-Identifier: BSD-3-Clause
// finish.h: run coroutines of a client of a volume to their end.
#ifndef TESTS_SUPPORT_FINISH_H
#define TESTS_SUPPORT_FINISH_H

#include "core/client/client.h"

#include <optional>
#include <utility>
#include <vector>

inline void finish(rfs::Client &client, dtx::Task<> task)
{
    std::vector<dtx::Task<>> tasks;

    tasks.push_back(std::move(task));
    client.session().run(std::move(tasks));
}

// Returns the result of the task.
template <class Result> Result finish(rfs::Client &client, dtx::Task<Result> task)
{
    std::optional<Result> result;
    auto keep = [&]() -> dtx::Task<> { result.emplace(co_await std::move(task)); };

    finish(client, keep());
    return std::move(*result);
}

#endif
