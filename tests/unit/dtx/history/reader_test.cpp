// SPDX-License-Identifier: BSD-3-Clause
#include "file.h"

using namespace story;
using dtx::history::Failure;
using dtx::history::read_history;

namespace
{

const char *const kTxn =
    "{\"txn\":1,\"session\":0,\"begin\":10,\"end\":20,\"status\":\"committed\","
    "\"reads\":[[5,1,0]],\"writes\":[[5,2]]";

std::string why_not(const std::string &text, bool partial = false)
{
    TempFile file;
    History history;

    file.write(text);
    try {
        read_history(file.name(), partial, history);
    } catch (const Failure &failure) {
        std::string what = failure.what();
        REQUIRE(what.substr(0, file.name().size()) == file.name());
        return what.substr(file.name().size());
    }
    return "";
}

// @text as the second line, the rest in order.
std::string why_not_line(const std::string &text)
{
    return why_not(ended(header_line() + sealed(text)));
}

std::string changed(std::string text, const std::string &from, const std::string &to)
{
    size_t at = text.find(from);

    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

bool starts(const std::string &text, const std::string &head)
{
    INFO(text);
    CHECK(text.substr(0, head.size()) == head);
    return text.substr(0, head.size()) == head;
}

} // namespace

TEST_CASE("history reader: returns the lines that were recorded", "[unit]")
{
    TempFile file;
    History history;
    uint64_t big = UINT64_MAX;
    Story story{ { { big, 10, big, { { big, big, 9 } }, { { 5, big } }, Status::kAborted, 6 } },
                 { { 7, 1, 0 } } };

    record(story, file.name());
    REQUIRE(read_history(file.name(), false, history).lines == 3);
    uint32_t txn = 1;
    REQUIRE(history.txn_id(txn) == big);
    REQUIRE(history.txn(txn).session == 6);
    REQUIRE(history.txn(txn).begin_ns == 10);
    REQUIRE(history.txn(txn).end_ns == big);
    REQUIRE(history.txn(txn).outcome == dtx::history::TxnOutcome::kAborted);
    REQUIRE(history.reads(txn).size() == 1);
    REQUIRE(history.object_id(history.reads(txn)[0].object) == big);
    REQUIRE(history.reads(txn)[0].version == big);
    REQUIRE(history.txn_id(history.reads(txn)[0].writer) == 9);
    REQUIRE(history.writes(txn).size() == 1);
    REQUIRE(history.writes(txn)[0].version == big);
    REQUIRE(history.object_id(history.final_items()[0].object) == 7);
}

TEST_CASE("history reader: lines may be longer than a block", "[unit]")
{
    TempFile file;
    History history;
    Story story{ { { 1, 10, 20, {}, {} } } };

    for (uint64_t object = 0; object < 200000; object++)
        story.lines[0].reads.push_back({ object, 1, 0 });
    record(story, file.name());
    read_history(file.name(), false, history);
    REQUIRE(history.reads(1).size() == 200000);
}

TEST_CASE("history reader: every changed byte is detected, with its line", "[unit]")
{
    std::string good = ended(header_line() + sealed(kTxn) + sealed(changed(kTxn, ":1,", ":2,")));
    uint64_t line = 1;

    REQUIRE(why_not(good) == "");
    for (size_t i = 0; i < good.size(); i++) {
        std::string bad = good;
        uint64_t told = line;

        bad[i] = static_cast<char>(bad[i] ^ 1);
        if (good[i] == '\n')
            line++;
        CAPTURE(i, bad);
        REQUIRE(starts(why_not(bad), ":" + std::to_string(told) + ": "));
    }
}

TEST_CASE("history reader: truncation at any byte is detected", "[unit]")
{
    std::string good = ended(header_line() + sealed(kTxn));

    for (size_t length = 0; length < good.size(); length++) {
        CAPTURE(length);
        std::string why = why_not(good.substr(0, length));
        REQUIRE((why.find("truncated") != std::string::npos || length == 0));
        REQUIRE(why != "");
    }
    REQUIRE(starts(why_not(header_line() + sealed(kTxn)), ":3: truncated: there is no end line"));
    REQUIRE(starts(why_not(""), ":1: empty"));
}

TEST_CASE("history reader: a partial history may lack its end and nothing else", "[unit]")
{
    std::string lines = header_line() + sealed(kTxn);

    REQUIRE(why_not(lines, true) == "");
    REQUIRE(why_not(lines + "{\"txn\":2,\"sess", true) == "");
    REQUIRE(why_not(ended(lines), true) == "");
    REQUIRE(starts(why_not("", true), ":1: empty"));
    REQUIRE(starts(why_not(header_line().substr(0, 20), true), ":1: empty"));
    REQUIRE(starts(why_not(changed(lines, "10", "11"), true), ":2: its checksum"));
    REQUIRE(starts(why_not(ended(lines) + "x", true), ":4: truncated"));
}

TEST_CASE("history reader: lines that were added, dropped or moved are detected", "[unit]")
{
    std::string other = changed(kTxn, ":1,", ":2,");
    std::string good = ended(header_line() + sealed(kTxn) + sealed(other));
    std::string end = good.substr(good.rfind("{\"what\""));

    REQUIRE(starts(why_not(header_line() + sealed(kTxn) + end),
                   ":3: 2 lines before the end line, expected 3"));
    REQUIRE(starts(why_not(header_line() + sealed(other) + sealed(kTxn) + end),
                   ":4: the file's checksum does not match"));
    REQUIRE(starts(why_not(header_line() + sealed(kTxn) + sealed(kTxn) + end),
                   ":3: transaction 1 occurs twice"));
    REQUIRE(starts(why_not(good + sealed(kTxn)), ":5: a line after the end line"));
    REQUIRE(starts(why_not(sealed(kTxn)), ":1: this is not a history"));
    REQUIRE(starts(why_not(header_line() + header_line()), ":2: expected a transaction"));
    REQUIRE(starts(why_not(header_line() + "\n"), ":2: expected a transaction"));
}

TEST_CASE("history reader: invalid lines are refused", "[unit]")
{
    struct {
        const char *from;
        const char *to;
        const char *why;
    } const cases[] = {
        { "committed", "comitted", ":2: status \"comitted\", expected committed" },
        { "\"txn\":1", "\"txn\":0", ":2: transaction number 0" },
        { "\"txn\":1", "\"txn\":01", ":2: expected a number for txn" },
        { "\"txn\":1", "\"txn\":-1", ":2: expected a number for txn" },
        { "\"txn\":1", "\"txn\":18446744073709551616", ":2: txn is out of range" },
        { "\"session\":0", "\"session\":4294967296", ":2: session is out of range" },
        { "\"begin\":10", "\"begin\":21", ":2: the end is before the begin" },
        { "\"begin\":10", "\"begin\":1e1", ":2: expected ,\"end\": at column" },
        { "\"begin\":10", "\"begin\": 10", ":2: expected a number for begin" },
        { "\"end\":20,", "", ":2: expected ,\"end\": at column" },
        { "[5,1,0]", "[5,1]", ":2: expected , at column" },
        { "[5,1,0]", "[5,1,0],", ":2: expected [ at column" },
        { "[5,1,0]", "[5,0,9]", ":2: version 0 has a writer" },
        { "[5,2]", "[5,0]", ":2: version 0 cannot be written" },
        { "[5,2]", "[5,18446744073709551616]", ":2: a version is out of range" },
        { "\"writes\"", "\"wrote\"", ":2: expected ,\"writes\":[" },
        { "[5,1,0]", "[5,1,1]", ":2: the transaction reads a version that it made itself" },
        { "[5,2]", "[5,2],[6,2],[5,3]", ":2: the transaction writes an object twice" },
    };

    REQUIRE(why_not_line(kTxn) == "");
    for (const auto &item : cases) {
        CAPTURE(item.to);
        CHECK(starts(why_not_line(changed(kTxn, item.from, item.to)), item.why));
    }
}

TEST_CASE("history reader: other versions of the format are refused", "[unit]")
{
    REQUIRE(starts(why_not(ended(sealed("{\"dtx\":2,\"what\":\"header\""))), ":1: format 2"));
    REQUIRE(starts(why_not("{\"dtx\":1}\n"), ":1: this is not a history"));
    REQUIRE(starts(why_not("[]\n"), ":1: this is not a history"));
    REQUIRE(starts(why_not("\x7f"
                           "ELF\n"),
                   ":1: this is not a history"));
    REQUIRE(why_not(ended(sealed("{\"dtx\":1,\"what\":\"header\",\"more\":{\"a\":[1,2]}"))) == "");
}

TEST_CASE("history reader: a path that is not a file is refused", "[unit]")
{
    History history;

    REQUIRE_THROWS_WITH(read_history("/nowhere/at/all", false, history),
                        "/nowhere/at/all: No such file or directory");
    REQUIRE_THROWS_WITH(read_history("/tmp", false, history),
                        "/tmp:1: cannot be read: Is a directory");
}
