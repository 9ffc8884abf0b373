/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong.cc: rules, and texts of what breaks them.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/wrong.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include "core/format/pointer.h"
#include <dtx/address.h>

#include <utility>

namespace rfs
{

namespace
{

struct RuleText {
    const char *name;
    const char *about;
};

constexpr RuleText kRuleTexts[kRules] = {
    { "rows", "each row was written whole" },
    { "volume", "the volume has its own row and a root directory" },
    { "inodes", "an inode has a type, and what belongs to that type alone" },
    { "names", "a name leads to an inode of its type, is in a directory, and has the key of its "
               "hash" },
    { "long names", "the second row of a name exists exactly if the name is that long" },
    { "links", "a file has as many names as it counts; one without names is an orphan" },
    { "directories", "a directory counts its names and its directories, and has one name, in its "
                     "parent" },
    { "reachable", "the root directory leads to each directory" },
    { "maps", "a row of a map belongs to a regular file, and a file counts its blocks" },
    { "pointers", "a pointer leads to a block of the volume, before the file's end or to an "
                  "unwritten one" },
    { "blocks", "each block in use has one pointer, and each pointer a block in use" },
    { "blobs", "a symbolic link has all of its target, and no other file a part of one" },
    { "xattrs", "a file has all bytes of extended attributes that it counts, and they are whole" },
    { "locks", "a lock is of a file and of a client that has the volume open, and no other lock "
               "excludes it" }
};

/* What the text of a finding begins with. */
enum class Subject : uint8_t { none, object, file, file_block, name, shard_block, slab };

/* @text: #1 and #2 stand for Wrong::more and Wrong::other, #f for Wrong::fault. */
struct KindText {
    Kind kind;
    Rule rule;
    Subject subject;
    const char *text;
};

constexpr KindText kKindTexts[] = {
    { Kind::torn, Rule::rows, Subject::object, " is torn" },
    { Kind::no_volume, Rule::volume, Subject::none,
      "the volume lacks its row, or its root directory" },
    { Kind::bad_inode, Rule::inodes, Subject::file, " has a damaged inode: #f" },
    { Kind::bad_name, Rule::names, Subject::name, ": #f" },
    { Kind::homeless_name, Rule::names, Subject::name, ": there is no such directory" },
    { Kind::dangling_name, Rule::names, Subject::name, " leads to no inode of its type" },
    { Kind::misplaced_name, Rule::names, Subject::name, " has a key that does not match its hash" },
    { Kind::impossible_name, Rule::names, Subject::name, " is one that no file can have" },
    { Kind::no_tail, Rule::long_names, Subject::name, " lacks its second row" },
    { Kind::tail_of_short, Rule::long_names, Subject::name, " has a second row, and is short" },
    { Kind::tail_of_none, Rule::long_names, Subject::name, " has a second row, and no first one" },
    { Kind::bad_orphan, Rule::links, Subject::file,
      " has a row in orphans, but a link count above 0, no inode, or another shard" },
    { Kind::orphan_client, Rule::links, Subject::file,
      " is held by a client whose number is out of range" },
    { Kind::not_orphan, Rule::links, Subject::file,
      " has a link count of 0, but no row in orphans" },
    { Kind::orphan_counts, Rule::links, Subject::file,
      " has a row in orphans, but a link count above 0" },
    { Kind::wrong_links, Rule::links, Subject::file, " has #1 names, but a link count of #2" },
    { Kind::named_removed, Rule::links, Subject::file, " has a link count of 0, but has a name" },
    { Kind::wrong_entries, Rule::directories, Subject::file,
      " is a directory of #1 names, but counts #2" },
    { Kind::wrong_subdirs, Rule::directories, Subject::file,
      " has #1 subdirectories, and a link count of #2: expected 2 more" },
    { Kind::wrong_parent, Rule::directories, Subject::file,
      " has #1 names, or another parent than in its inode: expected one name, in that parent" },
    { Kind::unreachable, Rule::reachable, Subject::file, " is not below the root directory" },
    { Kind::wrong_blocks, Rule::maps, Subject::file, " has #1 blocks, but counts #2" },
    { Kind::map_of_none, Rule::maps, Subject::file, " has a map, and is no regular file" },
    { Kind::map_behind, Rule::maps, Subject::file, " has a map of blocks that no file can have" },
    { Kind::empty_map, Rule::maps, Subject::file, " has a map without pointers" },
    { Kind::second_pointer, Rule::maps, Subject::file, " has two pointers for block #1" },
    { Kind::pointer_behind, Rule::pointers, Subject::file_block, " is behind the file's end" },
    { Kind::bad_pointer, Rule::pointers, Subject::file_block, " has a damaged pointer" },
    { Kind::shared_block, Rule::blocks, Subject::file_block,
      " shares its bytes with another block: two pointers lead to them" },
    { Kind::lost_block, Rule::blocks, Subject::shard_block, " is marked used, but no file has it" },
    { Kind::free_block, Rule::blocks, Subject::shard_block, " is marked free, but a file has it" },
    { Kind::block_in_no_slab, Rule::blocks, Subject::shard_block, " is of a file, and in no slab" },
    { Kind::bad_slab, Rule::blocks, Subject::slab, " is not of this volume" },
    { Kind::slab_client, Rule::blocks, Subject::slab,
      " is owned by a client whose number is out of range" },
    { Kind::zero_in_target, Rule::blobs, Subject::file, " has a zero byte in its target" },
    { Kind::short_target, Rule::blobs, Subject::file, " lacks a part of its target" },
    { Kind::target_of_none, Rule::blobs, Subject::file, " has a piece that is not of its target" },
    { Kind::short_xattrs, Rule::xattrs, Subject::file,
      " lacks a part of its #1 bytes of extended attributes" },
    { Kind::bad_xattrs, Rule::xattrs, Subject::file, " has damaged extended attributes" },
    { Kind::xattrs_of_none, Rule::xattrs, Subject::file,
      " has a piece that is not of its extended attributes" },
    { Kind::bad_lock, Rule::locks, Subject::file, " has a damaged lock" },
    { Kind::lock_of_none, Rule::locks, Subject::file, " has a lock, and does not exist" },
    { Kind::hidden_lock, Rule::locks, Subject::file,
      " has a lock whose client has no row for the file in locked_files" },
    { Kind::lock_of_unmounted, Rule::locks, Subject::file,
      " has locks of client number #1, which has not the volume open" },
    { Kind::locks_overlap, Rule::locks, Subject::file,
      " has two locks that exclude each other, from byte #1 and #2" }
};

} // namespace

static const KindText &kind_text(Kind kind)
{
    const KindText &found = kKindTexts[static_cast<size_t>(kind)];

    RFS_ASSERT(found.kind == kind);
    return found;
}

Rule rule_of(Kind kind)
{
    return kind_text(kind).rule;
}

static std::string subject_of(const Wrong &wrong)
{
    std::string upper = std::to_string(upper_half(wrong.key));
    std::string lower = std::to_string(lower_half(wrong.key));
    dtx::Address address{ wrong.key };

    switch (kind_text(wrong.kind).subject) {
    case Subject::none:
        return "";
    case Subject::object:
        return "slot " + std::to_string(address.slot()) + " of table " +
               std::to_string(address.table()) + " in shard " + std::to_string(address.shard());
    case Subject::file:
        return "file " + lower;
    case Subject::file_block:
        return "block " + std::to_string(wrong.more) + " of file " + lower;
    case Subject::name:
        return "name " + lower + " in directory " + upper;
    case Subject::shard_block:
        return "block " + std::to_string(wrong.more) + " of shard " + upper;
    case Subject::slab:
        return "slab " + lower + " of shard " + upper;
    }
    return "";
}

std::string text_of(const Wrong &wrong)
{
    std::string text = subject_of(wrong) + kind_text(wrong.kind).text;
    const std::pair<const char *, std::string> places[] = {
        { "#1", std::to_string(wrong.more) },
        { "#2", std::to_string(wrong.other) },
        { "#f", wrong.fault },
    };

    for (const auto &[mark, value] : places)
        if (size_t at = text.find(mark); at != text.npos)
            text.replace(at, 2, value);
    return text;
}

dtx::Findings Results::findings() const
{
    dtx::Findings found;
    std::array<uint64_t, kRules> told{};

    for (const RuleText &rule : kRuleTexts)
        found.rule(rule.name, rule.about);
    for (const Wrong &wrong : wrongs) {
        size_t rule = static_cast<size_t>(rule_of(wrong.kind));

        found.add_if(true, kRuleTexts[rule].name, [&] { return text_of(wrong); });
        told[rule]++;
    }
    for (size_t rule = 0; rule < kRules; rule++) {
        RFS_ASSERT(told[rule] <= broken[rule] && broken[rule] <= checked[rule]);
        for (; told[rule] < broken[rule]; told[rule]++)
            found.add_if(true, kRuleTexts[rule].name, [] { return std::string(); });
        found.checked(kRuleTexts[rule].name, checked[rule] - broken[rule]);
    }
    return found;
}

} // namespace rfs
