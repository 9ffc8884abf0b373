/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.h: read one table of a volume after another, and compare what they say of each file.
 *
 * Clients may write the volume meanwhile: then the scan reads rows at different times, and rows
 * that contradict each other need not be damaged. Each Wrong (a suspected fault) has witnesses:
 * rows of which at least one changes whenever a call makes or removes this fault. They are the
 * inode, which calls change together with all other rows of a file, and the row of a slab, which
 * calls change together with the pointers to its blocks. A scan reads both before the rows that
 * belong to them, so a Wrong that two scans find with unchanged witnesses was there between them.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#ifndef FS_CORE_CHECK_SCAN_H
#define FS_CORE_CHECK_SCAN_H

#include "core/check/seen.h"
#include "core/check/wrong.h"
#include "core/client/volume.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rfs
{

struct ScanOptions {
    uint32_t copy = 0; /* of each shard; 0: the primary */
    uint64_t keep = 3; /* of each rule: what is wrong, beside its number */
    bool live = false; /* clients write meanwhile: read torn rows again */
};

class Scan
{
  public:
    Scan(const OpenVolume &open, const ScanOptions &options);

    /* Once. Throws dtx::Error: a server does not answer. */
    Results run();

  private:
    struct Slab {
        uint64_t writer = 0; /* 0: it has no row */
        std::array<uint64_t, kSlabBlocks / 64> used{};
        std::array<uint64_t, kSlabBlocks / 64> pointed{};
    };
    struct Tail {
        uint64_t key;
        uint64_t writer;
        size_t at; /* its text, in tail_texts_ */
        bool used;
    };
    struct Lock {
        uint32_t ino;
        uint64_t key;
        uint64_t writer;
        LockRow row;
    };

    template <class Row, class Take> void each(dtx::Table<Row> table, Take take);
    const unsigned char *read_again(dtx::Address address, const unsigned char *image,
                                    uint32_t bytes);
    /* Counts a check of a rule; returns @wrong. */
    bool check(bool wrong, Rule rule)
    {
        results_.checked[static_cast<size_t>(rule)]++;
        return wrong;
    }
    void tell(Wrong wrong);
    Witness witness(uint32_t ino);
    Witness slab_witness(const Pointer &pointer) const;
    std::vector<Witness> way_up(Seen *file);

    void read_tables();
    void take_inode(uint64_t key, const InodeRow &row, uint64_t writer);
    void take_pointer(Seen &file, uint64_t number, const Pointer &pointer);
    void take_tail(uint64_t key, const LongNameRow &row, uint64_t writer);
    void take_name(uint64_t key, const NameRow &row, uint64_t writer);
    void check_name(uint64_t key, const NameRow &row, uint64_t writer);
    void take_map(uint64_t key, const MapRow &row, uint64_t writer);
    void take_target(uint64_t key, const BlobRow &row, uint64_t writer);
    void take_xattrs(uint64_t key, const BlobRow &row, uint64_t writer);
    void take_orphan(uint64_t key, const OrphanRow &row, uint64_t writer);
    void take_slab(uint64_t key, const SlabRow &row, uint64_t writer);
    void take_lock(uint64_t key, const LockRow &row, uint64_t writer);
    void check_slabs();
    void check_blocks(uint32_t shard, uint32_t number, const Slab &slab);
    void check_locked();
    void check_locks();
    void check_tails();
    void check_file(const Seen &file);
    void check_links(const Seen &file);
    void check_contents(const Seen &file);
    void check_directory(const Seen &file);
    void reach();

    const OpenVolume &open_;
    ScanOptions options_;
    const Tables &tables_;
    Results results_;
    std::array<uint64_t, kRules> kept_{};
    std::vector<unsigned char> again_; /* a torn row that was read again */
    SeenFiles files_;
    std::vector<Tail> tails_; /* second rows of names, by key */
    std::string tail_texts_;
    std::unordered_map<uint32_t, std::string> xattrs_; /* streams that lack pieces yet, by inode */
    ClientSet mounted_{};
    Witness mounts_{};
    std::vector<std::pair<uint64_t, uint64_t>> locked_; /* keys of locked_files, and writers */
    std::vector<Lock> locks_;
    std::vector<std::vector<Slab>> slabs_; /* by shard and number */
};

} // namespace rfs
#endif
