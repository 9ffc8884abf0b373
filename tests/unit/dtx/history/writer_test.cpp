// SPDX-License-Identifier: BSD-3-Clause
#include "file.h"

#include <thread>

using namespace story;
using dtx::history::Failure;
using dtx::history::Recorder;

namespace
{

const Story kStory{ { { 1, 10, 20, { { 5, 1, 0 }, { 6, 0, 0 } }, { { 5, 2 } } },
                      { 2, 30, 40, {}, {}, Status::kUnknown, 3 } },
                    { { 5, 2, 1 } },
                    true };

} // namespace

TEST_CASE("history writer: the bytes are those of FORMAT.md", "[unit]")
{
    TempFile file;

    // Buffered lines come last.
    record(kStory, file.name());
    REQUIRE(
        file.text() ==
        ended(sealed("{\"dtx\":1,\"what\":\"header\",\"workload\":\"a \\\"story\\\"\",\"seed\":7,"
                     "\"fresh\":true") +
              sealed("{\"what\":\"final\",\"objects\":[[5,2,1]]") +
              sealed("{\"txn\":1,\"session\":0,\"begin\":10,\"end\":20,\"status\":\"committed\","
                     "\"reads\":[[5,1,0],[6,0,0]],\"writes\":[[5,2]]") +
              sealed("{\"txn\":2,\"session\":3,\"begin\":30,\"end\":40,\"status\":\"unknown\","
                     "\"reads\":[],\"writes\":[]")));
}

TEST_CASE("history writer: without a buffer each line is written at once", "[unit]")
{
    TempFile file;
    auto recorder = Recorder::open(file.name(), {}, { 4, 0 });

    recorder->record(entry_of(kStory.lines[0]));
    REQUIRE(file.text().find("{\"txn\":1,") != std::string::npos);
    REQUIRE(recorder->lines() == 2);
}

TEST_CASE("history writer: a buffer goes to the file when it is full, in whole lines", "[unit]")
{
    TempFile file;
    auto recorder = Recorder::open(file.name(), {}, { 4, 300 });
    Line line = kStory.lines[0];

    for (; line.txn < 3; line.txn++)
        recorder->record(entry_of(line));
    REQUIRE(recorder->lines() == 1);
    recorder->record(entry_of(line));
    REQUIRE(recorder->lines() == 4);
    REQUIRE(file.text().back() == '\n');
}

TEST_CASE("history writer: sessions record side by side", "[unit]")
{
    TempFile file;
    constexpr uint32_t kThreads = 4;
    constexpr uint64_t kEach = 2000;
    auto recorder = Recorder::open(file.name(), {}, { kThreads, 1000 });
    std::vector<std::thread> threads;

    for (uint32_t session = 0; session < kThreads; session++)
        threads.emplace_back([&recorder, session] {
            Line line = kStory.lines[0];
            line.session = session;
            for (uint64_t i = 0; i < kEach; i++) {
                line.txn = 1 + session * kEach + i;
                recorder->record(entry_of(line));
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    recorder->close();
    History history;
    REQUIRE(dtx::history::read_history(file.name(), false, history).lines == kThreads * kEach + 1);
    REQUIRE(history.txns() == kThreads * kEach + 1);
}

TEST_CASE("history writer: a long final state is cut into lines", "[unit]")
{
    TempFile file;
    Story story;

    for (uint64_t object = 0; object < 2500; object++)
        story.final_state.push_back({ object, 1, 0 });
    record(story, file.name());
    History history;
    REQUIRE(dtx::history::read_history(file.name(), false, history).lines == 4);
    REQUIRE(history.final_items().size() == 2500);
}

TEST_CASE("history writer: without close() the file has no end line", "[unit]")
{
    TempFile file;
    History history;

    Recorder::open(file.name(), {}, { 1, 100 }).reset();
    REQUIRE_THROWS_AS(dtx::history::read_history(file.name(), false, history), Failure);
    REQUIRE_FALSE(dtx::history::read_history(file.name(), true, history).ended);
}

TEST_CASE("history writer: a write error is reported by close()", "[unit]")
{
    REQUIRE_THROWS_AS(Recorder::open("/nowhere/at/all", {}, {}), Failure);
    REQUIRE_THROWS_AS(Recorder::open("/dev/full", {}, {}), Failure);
}
