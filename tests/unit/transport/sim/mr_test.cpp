// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"
#include "support/death.h"

TEST_CASE("sim mr: staging memory is bounded by what the link was opened with", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    void *half = link->ops->stage(link, 32 << 10);
    void *rest = link->ops->stage(link, 32 << 10);

    REQUIRE(half != nullptr);
    REQUIRE(rest != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(half) % 64 == 0);
    REQUIRE(link->ops->stage(link, 1) == nullptr);
    link->ops->unstage(link, half);
    half = link->ops->stage(link, 32 << 10);
    REQUIRE(half != nullptr);
    REQUIRE(link->ops->stage(link, UINT64_MAX) == nullptr);
}

TEST_CASE("sim mr: odd sizes add up to no more than the bound, and all come back", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    std::vector<void *> all;

    for (int lap = 0; lap < 3; lap++) {
        for (void *ptr; (ptr = link->ops->stage(link, 1000)) != nullptr;)
            all.push_back(ptr);
        REQUIRE(all.size() == 64); // 64 KiB in pieces of 1024
        for (void *ptr : all)
            link->ops->unstage(link, ptr);
        all.clear();
    }
}

TEST_CASE("sim mr: returning memory that was not staged is an assertion", "[unit]")
{
    REQUIRE(death_of([] {
                Context context;
                rpmi_link *link = context.connect();
                char mine[8];

                link->ops->unstage(link, mine);
            }) != "");
}
