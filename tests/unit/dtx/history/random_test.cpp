// SPDX-License-Identifier: BSD-3-Clause
// random_test.cpp: the history of a correct store has no violation, in any order of its lines, and
// one wrong change to it is detected.
#include "support/rounds.h"
#include "world.h"

using namespace world;

namespace
{

constexpr uint64_t kSeeds = rounds(3000);

using Change = bool (*)(World &world, Story &story);

// A line of a committed transaction that @fits; nullptr if there is none.
template <typename Fits> Line *pick(World &world, Story &story, Fits fits)
{
    std::vector<Line *> found;

    for (Line &line : story.lines)
        if (line.status == Status::kCommitted && fits(line))
            found.push_back(&line);
    return found.empty() ? nullptr : found[world.below(found.size())];
}

Line *by_txn(Story &story, uint64_t txn)
{
    for (Line &line : story.lines)
        if (line.txn == txn)
            return &line;
    return nullptr;
}

bool writes(const Line &line, uint64_t object, uint64_t version)
{
    return std::any_of(line.writes.begin(), line.writes.end(), [&](const Access &made) {
        return made.object == object && made.version == version;
    });
}

// Does a transaction of unknown outcome claim this version? It might explain a change.
bool claimed(const Story &story, const Access &made)
{
    return std::any_of(story.lines.begin(), story.lines.end(), [&](const Line &line) {
        return line.status == Status::kUnknown && writes(line, made.object, made.version);
    });
}

// A committed transaction, and its first write that no other transaction can have made.
Line *pick_writer(World &world, Story &story, size_t &which)
{
    auto own = [&story](const Access &made) { return !claimed(story, made); };
    Line *line = pick(world, story, [&own](const Line &writer) {
        return std::any_of(writer.writes.begin(), writer.writes.end(), own);
    });

    if (line)
        which = static_cast<size_t>(std::find_if(line->writes.begin(), line->writes.end(), own) -
                                    line->writes.begin());
    return line;
}

bool drop_write(World &world, Story &story)
{
    size_t which = 0;
    Line *line = pick_writer(world, story, which);

    if (line)
        line->writes.erase(line->writes.begin() + static_cast<long>(which));
    return line;
}

bool drop_transaction(World &world, Story &story)
{
    size_t which = 0;
    Line *line = pick_writer(world, story, which);

    if (line)
        story.lines.erase(story.lines.begin() + (line - story.lines.data()));
    return line;
}

bool abort_transaction(World &world, Story &story)
{
    size_t which = 0;
    Line *line = pick_writer(world, story, which);

    if (line)
        line->status = Status::kAborted;
    return line;
}

// The writers of a version and of the next version exchange their writes.
bool swap_versions(World &world, Story &story)
{
    size_t which = 0;
    Line *first = pick_writer(world, story, which);
    if (!first)
        return false;
    Access &made = first->writes[which];
    for (Line &line : story.lines)
        for (Access &next : line.writes)
            if (line.status == Status::kCommitted && next.object == made.object &&
                next.version == made.version + 1) {
                std::swap(made.version, next.version);
                return true;
            }
    return false;
}

// Reads a version older than one that was acknowledged before the reader began.
bool stale_read(World &world, Story &story)
{
    Line *line = pick(world, story, [&story](const Line &reader) {
        const Line *writer = reader.reads.empty() ? nullptr : by_txn(story, reader.reads[0].writer);
        return writer && writer->status == Status::kCommitted && writer->end_ns < reader.begin_ns;
    });
    if (!line)
        return false;
    Access &seen = line->reads[0];
    seen.version--;
    seen.writer = 0;
    for (const Line &other : story.lines)
        if (other.status != Status::kAborted && writes(other, seen.object, seen.version))
            seen.writer = other.txn; /* or of an unknown one that did not happen: wrong as well */
    return true;
}

// A version that was overwritten before its reader, which then writes the object, began.
bool lost_update(World &world, Story &story)
{
    Line *line = pick(world, story, [&story](const Line &reader) {
        return !reader.reads.empty() && reader.reads[0].version > 1 &&
               by_txn(story, reader.reads[0].writer) &&
               writes(reader, reader.reads[0].object, reader.reads[0].version + 1);
    });
    if (!line)
        return false;
    line->reads[0].version--;
    line->reads[0].writer = 0;
    return true;
}

bool drop_final(World &world, Story &story)
{
    for (size_t tries = 0; tries < 10; tries++) {
        Access &last = story.final_state[world.below(story.final_state.size())];
        const Line *writer = by_txn(story, last.writer);
        if (!writer)
            continue;
        last.version--;
        return true;
    }
    return false;
}

// The same version, with another writer.
bool wrong_writer(World &world, Story &story)
{
    Line *line = pick(world, story, [](const Line &reader) {
        return !reader.reads.empty() && reader.reads[0].writer != 0;
    });
    if (!line)
        return false;
    line->reads[0].writer = line->reads[0].writer == 1 ? 2 : 1;
    return true;
}

// The reader's end is before the begin of a transaction that it read from.
bool too_early(World &world, Story &story)
{
    Line *line = pick(world, story, [&story](const Line &reader) {
        const Line *writer = reader.reads.empty() ? nullptr : by_txn(story, reader.reads[0].writer);
        return writer && writer->begin_ns > 0;
    });
    if (!line)
        return false;
    line->end_ns = by_txn(story, line->reads[0].writer)->begin_ns - 1;
    line->begin_ns = std::min(line->begin_ns, line->end_ns);
    return true;
}

void all_noticed(Change change)
{
    uint64_t changed = 0;

    for (uint64_t seed : seeds(0, kSeeds)) {
        World world(seed);
        Story story = world.history();
        if (!change(world, story))
            continue;
        changed++;
        CAPTURE(seed);
        REQUIRE_FALSE(story.check().good());
    }
    REQUIRE(changed > kSeeds / 4);
}

} // namespace

TEST_CASE("history: a correct store's history has no violation", "[unit]")
{
    uint64_t unknown = 0;
    uint64_t proven = 0;
    uint64_t rw = 0;

    for (uint64_t seed : seeds(0, 2 * kSeeds)) {
        CAPTURE(seed);
        Story story = World(seed).history();
        CheckResult result = story.check();
        require_good(result);
        unknown += result.by_status[2];
        proven += result.proven;
        rw += result.edges[2];
        if (seed % 8 == 0) { /* and neither has a part of it, as a killed run leaves it */
            story.lines.resize(story.lines.size() / 2);
            require_good(story.check(true, true));
        }
    }
    REQUIRE(proven > kSeeds);
    REQUIRE(proven < unknown);
    REQUIRE(rw > kSeeds);
}

TEST_CASE("history: a dropped write is detected", "[unit]")
{
    all_noticed(drop_write);
}

TEST_CASE("history: a dropped transaction is detected", "[unit]")
{
    all_noticed(drop_transaction);
}

TEST_CASE("history: a commit that is recorded as aborted is detected", "[unit]")
{
    all_noticed(abort_transaction);
}

TEST_CASE("history: two exchanged versions are detected", "[unit]")
{
    all_noticed(swap_versions);
}

TEST_CASE("history: a stale read is detected", "[unit]")
{
    all_noticed(stale_read);
}

TEST_CASE("history: an update that overwrites an unread version is detected", "[unit]")
{
    all_noticed(lost_update);
}

TEST_CASE("history: a final state that lacks a version is detected", "[unit]")
{
    all_noticed(drop_final);
}

TEST_CASE("history: a wrong writer is detected", "[unit]")
{
    all_noticed(wrong_writer);
}

TEST_CASE("history: a reader that ended too early is detected", "[unit]")
{
    all_noticed(too_early);
}
