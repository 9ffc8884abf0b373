// SPDX-License-Identifier: BSD-3-Clause
// elle_test.cpp: an independent parser reads the export, and an independent checker of lists and
// real-time order agrees with ours.
#include "file.h"
#include "history/elle.h"
#include "support/rounds.h"
#include "world.h"

#include <map>
#include <set>

using namespace story;

namespace
{

struct Step {
    bool append;
    uint64_t key;
    std::vector<uint64_t> list; // what was read, or the one element that is appended
    bool nil = false;
};

struct Operation {
    std::string type;
    uint64_t index = 0;
    uint64_t process = 0;
    uint64_t at_ns = 0;
    std::vector<Step> steps;
};

// One line of EDN; parses only what such a file contains.
class Parser
{
  public:
    explicit Parser(const std::string &text) : in_(text) {}

    Operation operation()
    {
        Operation op;

        expect("{:index");
        op.index = number();
        expect(", :type :");
        std::getline(in_, op.type, ',');
        expect(" :process");
        op.process = number();
        expect(", :time");
        op.at_ns = number();
        expect(", :f :txn, :value [");
        for (char c = next(); c != ']'; c = next()) {
            REQUIRE((c == '[' || c == ' '));
            if (c == ' ')
                expect("[");
            op.steps.push_back(step());
        }
        expect("}");
        REQUIRE(in_.peek() == EOF);
        return op;
    }

  private:
    Step step()
    {
        Step step;
        std::string what;

        in_ >> what;
        REQUIRE((what == ":r" || what == ":append"));
        step.append = what == ":append";
        step.key = number();
        expect(" ");
        if (step.append) {
            step.list.push_back(number());
        } else if (in_.peek() == 'n') {
            expect("nil");
            step.nil = true;
        } else {
            expect("[");
            while (in_.peek() != ']')
                step.list.push_back(number());
            expect("]");
        }
        expect("]");
        return step;
    }

    uint64_t number()
    {
        uint64_t value = 0;

        REQUIRE(static_cast<bool>(in_ >> value));
        return value;
    }

    char next()
    {
        return static_cast<char>(in_.get());
    }

    void expect(const std::string &text)
    {
        for (char c : text)
            REQUIRE(next() == c);
    }

    std::istringstream in_;
};

struct Txn {
    uint64_t begin_ns = 0;
    uint64_t begin = 0; // index
    uint64_t end = UINT64_MAX;
    std::string outcome;
    std::vector<Step> steps;
};

std::vector<Operation> parse(const std::string &text)
{
    std::istringstream in(text);
    std::vector<Operation> operations;

    for (std::string line; std::getline(in, line);) {
        operations.push_back(Parser(line).operation());
        REQUIRE(operations.back().index == operations.size() - 1);
    }
    return operations;
}

// Pairs invocations with results: a process runs one operation at a time, and none after one of
// unknown outcome.
std::vector<Txn> pairs(const std::vector<Operation> &operations)
{
    std::vector<Txn> found;
    std::map<uint64_t, size_t> running;
    std::set<uint64_t> dead;
    uint64_t now = 0;

    for (const Operation &op : operations) {
        REQUIRE(op.at_ns >= now);
        now = op.at_ns;
        if (op.type == "invoke") {
            REQUIRE(running.emplace(op.process, found.size()).second);
            REQUIRE(dead.count(op.process) == 0);
            Txn txn;
            txn.begin = op.index;
            txn.steps = op.steps;
            found.push_back(txn);
            continue;
        }
        REQUIRE(running.count(op.process) == 1);
        Txn &txn = found[running[op.process]];
        running.erase(op.process);
        REQUIRE(op.steps.size() == txn.steps.size());
        txn.outcome = op.type;
        if (op.type == "info")
            dead.insert(op.process);
        if (op.type == "ok") {
            txn.end = op.index;
            txn.steps = op.steps;
        }
    }
    REQUIRE(running.empty());
    return found;
}

bool is_prefix(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b)
{
    return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// A naive checker of strict serialisability of lists: compares all pairs of operations.
class Judge
{
  public:
    explicit Judge(const std::vector<Txn> &txns) : txns_(txns), before_(txns.size())
    {
        for (auto &row : before_)
            row.resize(txns.size());
    }

    bool good()
    {
        for (size_t i = 0; i < txns_.size(); i++)
            for (const Step &step : txns_[i].steps) {
                if (step.append)
                    writer_[{ step.key, step.list[0] }] = i;
                if (!step.append && !step.nil && step.list.size() > longest_[step.key].size())
                    longest_[step.key] = step.list;
            }
        for (const auto &[key, list] : longest_)
            for (uint64_t element : list)
                if (writer_.count({ key, element }) == 0 ||
                    txns_[writer_[{ key, element }]].outcome == "fail")
                    return false;
        for (size_t i = 0; i < txns_.size(); i++)
            if (!order(i))
                return false;
        return !cyclic();
    }

  private:
    bool order(size_t i)
    {
        for (size_t j = 0; j < txns_.size(); j++)
            if (txns_[i].end < txns_[j].begin)
                before_[i][j] = true;
        for (const Step &step : txns_[i].steps) {
            const std::vector<uint64_t> &all = longest_[step.key];
            size_t at = step.list.size();

            if (step.append || step.nil)
                continue;
            if (!is_prefix(step.list, all))
                return false;
            if (at > 0)
                link(writer_[{ step.key, all[at - 1] }], i);
            if (at < all.size())
                link(i, writer_[{ step.key, all[at] }]);
            for (size_t k = 1; k < all.size(); k++)
                link(writer_[{ step.key, all[k - 1] }], writer_[{ step.key, all[k] }]);
        }
        return true;
    }

    void link(size_t from, size_t to)
    {
        if (from != to)
            before_[from][to] = true;
    }

    bool cyclic()
    {
        size_t n = txns_.size();

        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; before_[i][k] && j < n; j++)
                    before_[i][j] = before_[i][j] || before_[k][j];
        for (size_t i = 0; i < n; i++)
            if (before_[i][i])
                return true;
        return false;
    }

    const std::vector<Txn> &txns_;
    std::vector<std::vector<bool>> before_;
    std::map<std::pair<uint64_t, uint64_t>, size_t> writer_;
    std::map<uint64_t, std::vector<uint64_t>> longest_;
};

std::string exported(const Story &story, bool partial = false)
{
    TempFile file;

    dtx::history::write_elle(story.history(), partial, file.name());
    return file.text();
}

bool judged(const Story &story, bool partial = false)
{
    std::vector<Txn> txns = pairs(parse(exported(story, partial)));

    return Judge(txns).good();
}

} // namespace

TEST_CASE("elle: the text is that of FORMAT.md", "[unit]")
{
    Story story{ { { 1, 100, 180, { { 5, 1, 0 }, { 9, 0, 0 } }, { { 5, 2 }, { 9, 1 } } },
                   { 2, 180, 260, { { 5, 2, 1 } }, { { 5, 3 } }, Status::kUnknown },
                   { 3, 270, 280, { { 5, 3, 2 } }, {}, Status::kAborted },
                   { 4, 290, 300, { { 5, 3, 2 } }, {} } } };

    REQUIRE(exported(story) ==
            "{:index 0, :type :invoke, :process 0, :time 100, :f :txn, :value "
            "[[:r 5 nil] [:r 9 nil] [:append 5 1] [:append 9 1]]}\n"
            "{:index 1, :type :invoke, :process 1, :time 180, :f :txn, :value "
            "[[:r 5 nil] [:append 5 2]]}\n"
            "{:index 2, :type :ok, :process 0, :time 180, :f :txn, :value "
            "[[:r 5 []] [:r 9 []] [:append 5 1] [:append 9 1]]}\n"
            "{:index 3, :type :info, :process 1, :time 260, :f :txn, :value "
            "[[:r 5 nil] [:append 5 2]]}\n"
            "{:index 4, :type :invoke, :process 0, :time 270, :f :txn, :value [[:r 5 nil]]}\n"
            "{:index 5, :type :fail, :process 0, :time 280, :f :txn, :value [[:r 5 nil]]}\n"
            "{:index 6, :type :invoke, :process 0, :time 290, :f :txn, :value [[:r 5 nil]]}\n"
            "{:index 7, :type :ok, :process 0, :time 300, :f :txn, :value [[:r 5 [1 2]]]}\n");
}

TEST_CASE("elle: after an unknown transaction the session is a new process", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, {}, Status::kUnknown }, { 2, 30, 40, {}, {} } } };
    std::vector<Operation> operations = parse(exported(story));

    REQUIRE(operations[1].process == 0);
    REQUIRE(operations[2].process == 1);
}

TEST_CASE("elle: lists begin after the base, and the export counts such objects", "[unit]")
{
    TempFile file;
    Story story{ { { 1, 10, 20, { { 5, 7, 70 } }, { { 5, 8 } } },
                   { 2, 30, 40, { { 5, 8, 1 }, { 6, 3, 71 } }, {} } } };
    auto result = dtx::history::write_elle(story.history(), false, file.name());

    REQUIRE(result.partial_objects == 2);
    REQUIRE(result.absent_writers == 0);
    REQUIRE(result.operations == 4);
    REQUIRE(file.text().find("[[:r 5 [1]] [:r 6 []]]") != std::string::npos);
    REQUIRE(judged(story));
}

TEST_CASE("elle: a writer that a partial history only names has an unknown outcome", "[unit]")
{
    TempFile file;
    Story story{ { { 2, 30, 40, { { 5, 8, 70 }, { 6, 3, 70 } }, {} } } };
    auto result = dtx::history::write_elle(story.history(), true, file.name());
    std::vector<Operation> operations = parse(file.text());

    REQUIRE(result.absent_writers == 1);
    REQUIRE(operations.size() == 4);
    REQUIRE(operations[1].type == "info");
    REQUIRE(operations[1].steps.size() == 2);
    REQUIRE(operations[3].steps[0].list == std::vector<uint64_t>{ 70 });
    REQUIRE(judged(story, true));
}

TEST_CASE("elle: a read has the writer that it recorded, even a wrong one", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, { { 5, 1 } }, Status::kAborted },
                   { 2, 30, 40, { { 5, 1, 1 } }, {} } } };

    REQUIRE(exported(story).find("[[:r 5 [1]]]") != std::string::npos);
    REQUIRE_FALSE(judged(story));
    story.lines[0].status = Status::kCommitted;
    REQUIRE(judged(story));
}

TEST_CASE("elle: a naive checker of lists accepts correct histories", "[unit]")
{
    for (uint64_t seed : seeds(0, rounds(400))) {
        CAPTURE(seed);
        REQUIRE(judged(world::World(seed).history()));
    }
}

TEST_CASE("elle: a naive checker of lists finds the same cycles", "[unit]")
{
    const Story skew{ { { 1, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 5, 2 } } },
                        { 2, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 6, 2 } } },
                        { 3, 60, 70, { { 5, 2, 1 }, { 6, 2, 2 } }, {} } } };
    const Story stale{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                         { 2, 30, 40, { { 5, 1, 0 } }, {} },
                         { 3, 30, 40, { { 5, 2, 1 } }, {} } } };

    REQUIRE_FALSE(judged(skew));
    REQUIRE_FALSE(judged(stale));
}
