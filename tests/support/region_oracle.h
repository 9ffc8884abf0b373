// SPDX-License-Identifier: BSD-3-Clause
// region_oracle.h: the values that each word of a region may have: the last acknowledged one and
// every later one that was submitted. RegionUser writes to the region and reports each write to the
// oracle.
#ifndef TESTS_SUPPORT_REGION_ORACLE_H
#define TESTS_SUPPORT_REGION_ORACLE_H

#include "support/cuts.h"

#include <deque>

namespace cuts
{

// A part of a write, like one struct rpm_patch.
struct Piece {
    uint64_t offset;
    size_t len;
    bool after; // RPM_PATCH_AFTER
};

class RegionOracle : public Oracle
{
  public:
    RegionOracle(std::string name, uint64_t bytes, uint32_t slot_bytes = 0);
    ~RegionOracle() override;
    void verify(Run &run) override;
    void use_again(Run &run) override;
    void close_handles() override;

    // Registers a write as submitted. Returns its number; bytes_of() gives the bytes of one piece
    // of it.
    uint32_t submit(const std::vector<Piece> &pieces);
    std::string bytes_of(uint32_t write, const Piece &piece) const;
    // The write is acknowledged: its words no longer have older values.
    void acked(uint32_t write);
    // The write failed before anything was sent.
    void refused(uint32_t write);
    // Everything up to the newest write is acknowledged at the level.
    void persisted();

    // creating(), removing(): from now on the region may exist or not after a fault. created(),
    // removed(): it does, or does not, whatever fault follows.
    void creating();
    void created();
    void removing();
    void removed();

    // Compare the visible bytes. @settle: they are durable as well, and become the expected state.
    void compare(Run &run, const std::string &seen, bool settle);
    // @seen is durable: later versions may follow, earlier ones must not.
    void keep(const std::string &seen);

    const std::string name;
    const uint64_t bytes;
    const uint32_t slot_bytes;

  private:
    struct Version {
        uint32_t write;
        uint64_t value;
        bool passing; // one of two packets with bytes of the word has arrived; until acked()
    };
    struct Write {
        std::vector<Piece> pieces;
        bool open; // neither acknowledged nor settled
    };
    struct Word {
        std::deque<Version> versions; // oldest first; the last one is the newest that was submitted
    };

    void put(uint32_t write, const Piece &piece);
    void add(uint32_t write, uint64_t index, uint64_t value, bool passing = false);
    uint64_t padded_end(const Piece &piece) const;
    const Version *match(uint64_t index, uint64_t value) const;
    void check_order(const Write &write, uint32_t number, const std::string &seen) const;
    void check_existence(int err);
    void look(Run &run, rpm_region *region);
    void reset();

    Existence existence_ = Existence::no;
    std::vector<Word> words_;
    std::vector<Write> writes_;
    std::unique_ptr<class RegionUser> user_;
};

// A region that a client has opened.
class RegionUser
{
  public:
    RegionUser(Run &run, unsigned who, RegionOracle &oracle, uint32_t level = RPM_LEVEL_DEFAULT);
    ~RegionUser();
    RegionUser(const RegionUser &) = delete;
    RegionUser &operator=(const RegionUser &) = delete;

    void write(uint64_t offset, size_t len);
    void writev(const std::vector<Piece> &pieces);
    void async(uint64_t offset, size_t len);
    // The server CPU writes the pieces one after another. @async: submits only; poll() waits.
    void steps(const std::vector<Piece> &pieces, bool async);
    // Reports acknowledged writes to the oracle. @all: waits until none is outstanding.
    void poll(bool all);
    void persist();
    // After a loss: take the present bytes as the expected state.
    void settle();

    rpm_region *region()
    {
        return region_;
    }

  private:
    bool promises() const;

    Run &run_;
    RegionOracle &oracle_;
    const uint32_t level_;
    rpm_region *region_ = nullptr;
    std::deque<uint32_t> flying_;             // numbers of outstanding writes
    std::deque<std::vector<rpm_step>> lists_; // outstanding, or finished
};

} // namespace cuts

#endif
