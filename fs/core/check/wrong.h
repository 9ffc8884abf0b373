/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong.h: what a check finds to be wrong, as numbers; its text is made when it is told.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#ifndef FS_CORE_CHECK_WRONG_H
#define FS_CORE_CHECK_WRONG_H

#include <dtx/findings.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rfs
{

enum class Rule : uint8_t {
    rows,
    volume,
    inodes,
    names,
    long_names,
    links,
    directories,
    reachable,
    maps,
    pointers,
    blocks,
    blobs,
    xattrs,
    locks
};
inline constexpr size_t kRules = 14;

enum class Kind : uint8_t {
    torn,
    no_volume,
    bad_inode,
    bad_name,
    homeless_name,   /* in no directory */
    dangling_name,   /* leads to no inode of its type */
    misplaced_name,  /* has not the key of its hash */
    impossible_name, /* of letters that no name has */
    no_tail,         /* a long name without its second row */
    tail_of_short,   /* a second row of a short name */
    tail_of_none,    /* a second row without a first one */
    bad_orphan,      /* has names, or no inode */
    orphan_client,   /* a client that there cannot be */
    not_orphan,      /* a file without names that is no orphan */
    orphan_counts,   /* an orphan that counts names */
    wrong_links,     /* a file counts its names wrongly */
    named_removed,   /* a directory that was removed, and has a name */
    wrong_entries,   /* a directory counts the names in it wrongly */
    wrong_subdirs,   /* a directory counts the directories in it wrongly */
    wrong_parent,    /* a directory has not one name, in its parent */
    unreachable,
    wrong_blocks, /* a file counts its blocks wrongly */
    map_of_none,  /* a map of what is no regular file */
    map_behind,   /* a map of blocks that no file can have */
    empty_map,
    second_pointer, /* in a map, for a block that has one in the inode */
    pointer_behind, /* the file's end */
    bad_pointer,
    shared_block,     /* of two places */
    lost_block,       /* in use, and of no file */
    free_block,       /* of a file, and not in use */
    block_in_no_slab, /* of a file */
    bad_slab,         /* a row of no slab */
    slab_client,      /* a client that there cannot be */
    zero_in_target,
    short_target,
    target_of_none, /* a piece of a target that no link has */
    short_xattrs,
    bad_xattrs,
    xattrs_of_none, /* a piece of attributes that no file has */
    bad_lock,
    lock_of_none, /* of a file that does not exist */
    hidden_lock,  /* not found by its client */
    lock_of_unmounted,
    locks_overlap
};

/* A row, and the transaction that wrote it, as a scan met it; 0: there is no such row. */
struct Witness {
    uint32_t table = 0;
    uint64_t key = 0;
    uint64_t writer = 0;

    bool operator==(const Witness &) const = default;
};

/* Something wrong. While no call changes one of its witnesses, it neither comes nor goes. */
struct Wrong {
    Kind kind;
    uint64_t key = 0; /* a file's number, or the key of a row; of a torn one, its address */
    uint64_t more = 0;
    uint64_t other = 0;
    const char *fault = "";
    std::vector<Witness> witnesses{};

    bool operator==(const Wrong &) const = default;
};

Rule rule_of(Kind kind);
std::string text_of(const Wrong &wrong);

/* The results of a scan, by rule. */
struct Results {
    std::array<uint64_t, kRules> checked{};
    std::array<uint64_t, kRules> broken{};
    std::vector<Wrong> wrongs; /* the first ones of each rule */

    dtx::Findings findings() const;
};

} // namespace rfs
#endif
