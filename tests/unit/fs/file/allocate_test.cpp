// SPDX-License-Identifier: BSD-3-Clause
// Blocks are allocated before they are written, and taken away again.
#include "core/file/allocate.h"

#include "core/file/block_map.h"
#include "unit/fs/file/files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
constexpr int kZero = FALLOC_FL_ZERO_RANGE;
constexpr int kKeep = FALLOC_FL_KEEP_SIZE;
const rfs::Room kNoRoom{};

rfs::Node allocate_at(TestVolume &volume, uint32_t ino, int mode, uint64_t offset, uint64_t length)
{
    return volume.client->finish(
        rfs::allocate_file(*volume.client, volume.root, ino, mode, offset, length));
}

enum class State : uint8_t { hole, unwritten, written };

// What a file is to be: its bytes, and the state of each block, also behind its end.
struct Model {
    std::string bytes;
    std::vector<State> states = std::vector<State>(400, State::hole);

    // The blocks that lie in a part, wholly or in part.
    template <class Act> void each(uint64_t offset, uint64_t length, Act act)
    {
        for (uint64_t block = offset / kBlockBytes; block * kBlockBytes < offset + length; block++)
            act(states[block],
                block * kBlockBytes >= offset && ((block + 1) * kBlockBytes <= offset + length ||
                                                  offset + length >= bytes.size()));
    }
    void zero(uint64_t offset, uint64_t length)
    {
        uint64_t end = std::min<uint64_t>(bytes.size(), offset + length);

        if (offset < end)
            std::fill(bytes.begin() + static_cast<ptrdiff_t>(offset),
                      bytes.begin() + static_cast<ptrdiff_t>(end), '\0');
    }
    void grow(uint64_t size)
    {
        bytes.resize(std::max<uint64_t>(bytes.size(), size), '\0');
    }

    void write(uint64_t offset, const std::string &text)
    {
        grow(offset + text.size());
        bytes.replace(offset, text.size(), text);
        each(offset, text.size(), [](State &state, bool) { state = State::written; });
    }
    void resize(uint64_t size)
    {
        if (size <= bytes.size())
            std::fill(states.begin() +
                          static_cast<ptrdiff_t>((size + kBlockBytes - 1) / kBlockBytes),
                      states.end(), State::hole);
        bytes.resize(size, '\0');
    }
    void allocate(int mode, uint64_t offset, uint64_t length)
    {
        each(offset, length, [mode](State &state, bool whole) {
            if (mode == kPunch && whole)
                state = State::hole;
            else if (mode != kPunch && (state == State::hole || ((mode & kZero) != 0 && whole)))
                state = State::unwritten;
        });
        if (mode == kPunch || (mode & kZero) != 0)
            zero(offset, length);
        if ((mode & kKeep) == 0)
            grow(offset + length);
    }
    uint64_t blocks() const
    {
        return states.size() -
               static_cast<uint64_t>(std::count(states.begin(), states.end(), State::hole));
    }
};

State state_of(const rfs::Pointer &pointer)
{
    return pointer.is_hole() ? State::hole
                             : (pointer.is_unwritten() ? State::unwritten : State::written);
}

// The states of the first @count blocks of a file.
std::vector<State> states_of(TestVolume &volume, uint32_t ino, uint64_t count)
{
    std::vector<State> states;

    volume.as_root([&](Call &call) -> dtx::Task<> {
        rfs::Node node = co_await rfs::held_inode(call, ino);
        rfs::BlockMap map(call, node);

        states.clear();
        for (uint64_t block = 0; block < count; block++) {
            co_await map.turn_to(block);
            states.push_back(state_of(map.get(block)));
        }
    });
    return states;
}

void check_against(TestVolume &volume, uint32_t ino, const Model &model)
{
    rfs::InodeRow row = inode_of(volume, ino);

    CHECK(row.size == model.bytes.size());
    CHECK(row.blocks == model.blocks());
    CHECK(used_blocks(*volume.open) == model.blocks());
    CHECK((read_at(volume, ino, 0, 1 << 20) == model.bytes.substr(0, 1 << 20)));
    CHECK((states_of(volume, ino, model.states.size()) == model.states));
}

} // namespace

TEST_CASE("fs: a file is allocated, punched and zeroed as its model is", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t ino = make_file(volume, kRootIno, "f");
    Model model;
    dtx::SplitMix64 rng(GENERATE(1, 2, 3));

    for (uint32_t i = 0; i < 150; i++) {
        static const int modes[] = { 0, kKeep, kPunch, kPunch, kZero, kZero | kKeep };
        // Around the end of the inode's pointers and of rows of maps, and in whole blocks as well.
        uint64_t offset =
            rng.below(3) == 0 ? rng.below(300) * kBlockBytes : rng.below(45 * kBlockBytes);
        uint64_t length = 1 + rng.below(rng.below(3) == 0 ? 90 * kBlockBytes : 9000);
        int mode = modes[rng.below(std::size(modes))];

        if (rng.below(4) == 0)
            length = (length + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
        CAPTURE(i, mode, offset, length);
        switch (rng.below(5)) {
        case 0:
            model.write(offset, text_of(length, i));
            (void)write_at(volume, ino, offset, text_of(length, i));
            break;
        case 1:
            offset = rng.below(8) == 0 ? model.bytes.size() : offset;
            model.resize(offset);
            CHECK(resize_to(volume, ino, offset).row.size == offset);
            break;
        default:
            model.allocate(mode, offset, length);
            CHECK(allocate_at(volume, ino, mode, offset, length).row.size == model.bytes.size());
        }
        check_against(volume, ino, model);
    }
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: blocks behind the end are kept until the file is cut", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t ino = make_file(volume, kRootIno, "f");

    (void)write_at(volume, ino, 0, "text");
    CHECK(allocate_at(volume, ino, kKeep, 0, 50 * kBlockBytes).row.size == 4);
    CHECK(inode_of(volume, ino).blocks == 50);
    for (uint32_t copy : { 0, 1 })
        CHECK(rfs::check_tables(*volume.open, copy).texts().empty());
    (void)resize_to(volume, ino, 5); // it grows
    CHECK(inode_of(volume, ino).blocks == 50);
    CHECK(read_at(volume, ino, 0, 100) == std::string("text\0", 5));
    (void)resize_to(volume, ino, 5);
    CHECK(inode_of(volume, ino).blocks == 1);
    CHECK(used_blocks(*volume.open) == 1);

    // A file that is freed frees them too.
    (void)allocate_at(volume, ino, kKeep, 0, 50 * kBlockBytes);
    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "f"); });
    volume.client->finish(rfs::free_file(*volume.client, ino));
    CHECK(used_blocks(*volume.open) == 0);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: a large range is changed in steps, and each leaves a whole file", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 12 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    constexpr uint64_t kStepBytes = rfs::kAllocateBlocks * kBlockBytes;
    std::vector<uint64_t> ends;
    uint64_t rows = rfs::kCutRows + 1;
    auto step = [&](uint64_t offset, uint64_t end, auto body) {
        rfs::Step done = volume.as_root([&](Call &call) {
            return body(call, rfs::Range{ offset, end });
        });

        CHECK(rfs::check_tables(*volume.open).texts().empty());
        return done.next;
    };

    // What is allocated already needs no room; else the step says how much.
    (void)allocate_at(volume, ino, 0, 10, 3 * kStepBytes);
    CHECK(inode_of(volume, ino).size == 3 * kStepBytes + 10);
    CHECK(inode_of(volume, ino).blocks == 3 * rfs::kAllocateBlocks + 1);
    for (uint64_t at = 10; at < 3 * kStepBytes; at = ends.back())
        ends.push_back(step(at, 3 * kStepBytes, [&](Call &call, rfs::Range range) {
            return rfs::zero_range(call, ino, range, false, kNoRoom);
        }));
    CHECK(ends == std::vector<uint64_t>{ kStepBytes, 2 * kStepBytes, 3 * kStepBytes });
    try {
        (void)step(5 * kStepBytes + 7 * kBlockBytes, 9 * kStepBytes,
                   [&](Call &call, rfs::Range range) {
                       return rfs::allocate(call, ino, range, false, kNoRoom);
                   });
        FAIL("there was no room");
    } catch (const rfs::Shortage &shortage) {
        CHECK(shortage.blocks == rfs::kAllocateBlocks - 7);
    }

    // A hole over more rows than one step takes, from block 1 of the file on.
    (void)resize_to(volume, ino, 0);
    for (uint64_t row = 0; row < rows; row++)
        (void)write_at(volume, ino, (row * 32 + 9) * kBlockBytes, "x");
    CHECK(step(kBlockBytes, rfs::kFileMax, [&](Call &call, rfs::Range range) {
              return rfs::punch(call, ino, range, kNoRoom);
          }) == (rows - 1) * 32 * kBlockBytes);
    CHECK(used_blocks(*volume.open) == 1);
    CHECK(allocate_at(volume, ino, kPunch, 0, rfs::kFileMax).row.blocks == 0);
    CHECK(inode_of(volume, ino).size == ((rows - 1) * 32 + 9) * kBlockBytes + 1);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: a file whose cut is not finished is cut before blocks are allocated", "[unit]")
{
    int mode = GENERATE(0, kKeep, kPunch, kZero);
    TestVolume volume(1, 1, "", { 400, 12 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    uint64_t end = (rfs::kCutRows + 1) * 32 * kBlockBytes;

    for (uint64_t row = 0; row <= rfs::kCutRows; row++)
        (void)write_at(volume, ino, (row * 32 + 9) * kBlockBytes, "x");
    volume.as_root([&](Call &call) { return rfs::resize(call, ino, 0, kNoRoom); });
    CHECK(inode_of(volume, ino).cut != rfs::kNoCut);

    rfs::Node node = allocate_at(volume, ino, mode, end - kBlockBytes, kBlockBytes);

    CHECK(node.row.cut == rfs::kNoCut);
    CHECK(node.row.blocks == (mode == kPunch ? 0 : 1));
    CHECK(node.row.size == ((mode & kKeep) != 0 ? 0 : end));
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: a hole is punched in a full volume", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 2 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    constexpr uint64_t kBlocks = 2 * (rfs::kSlabBlocks - rfs::kReserveBlocks);
    constexpr uint64_t kAtOnce = kBlocks / 8;

    for (uint64_t at = 0; at < kBlocks; at += kAtOnce)
        (void)write_at(volume, ino, at * kBlockBytes, text_of(kAtOnce * kBlockBytes, 1));
    CHECK(used_blocks(*volume.open) == kBlocks);
    CHECK(error_of([&] { (void)allocate_at(volume, ino, 0, kBlocks * kBlockBytes, 1); }) == ENOSPC);
    CHECK(allocate_at(volume, ino, kPunch, 5, 10).row.blocks == kBlocks); // by the reserve
    CHECK(error_of([&] { (void)allocate_at(volume, ino, 0, 0, kBlocks * kBlockBytes); }) == 0);
    CHECK(allocate_at(volume, ino, kZero, 0, 8 * kBlockBytes).row.blocks == kBlocks);
    CHECK(allocate_at(volume, ino, kPunch, 10 * kBlockBytes + 5, 5 * kBlockBytes).row.blocks ==
          kBlocks - 4);
    CHECK(read_at(volume, ino, 10 * kBlockBytes, 6 * kBlockBytes) ==
          text_of(kAtOnce * kBlockBytes, 1).substr(10 * kBlockBytes, 5) +
              std::string(5 * kBlockBytes, '\0') +
              text_of(kAtOnce * kBlockBytes, 1).substr(15 * kBlockBytes + 5, kBlockBytes - 5));
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: parts that no file has are not allocated", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");
    uint32_t fifo = make(volume, volume.root, kRootIno, "p", S_IFIFO | 0644);
    auto error = [&](uint32_t of, int mode, uint64_t offset, uint64_t length) {
        return error_of([&] { (void)allocate_at(volume, of, mode, offset, length); });
    };

    for (int mode : { 0, kKeep, kPunch, kZero }) {
        CAPTURE(mode);
        CHECK(error(ino, mode, 0, 0) == EINVAL);
        CHECK(error(ino, mode, 0, UINT64_MAX) == EINVAL);
        CHECK(error(ino, mode, UINT64_MAX, 1) == EINVAL);
        CHECK(error(ino, mode, rfs::kFileMax, 1) == EFBIG);
        CHECK(error(ino, mode, 1, rfs::kFileMax) == EFBIG);
        CHECK(error(ino, mode, INT64_MAX, INT64_MAX) == EFBIG);
        CHECK(error(kRootIno, mode, 0, 1) == EISDIR);
        CHECK(error(fifo, mode, 0, 1) == ENODEV);
        CHECK(error(ino + 100000, mode, 0, 1) == ESTALE);
    }
    for (int mode : { int{ FALLOC_FL_PUNCH_HOLE }, kPunch | kZero, FALLOC_FL_COLLAPSE_RANGE,
                      FALLOC_FL_INSERT_RANGE, FALLOC_FL_UNSHARE_RANGE, 0x100 })
        CHECK(error(ino, mode, 0, 4096) == EOPNOTSUPP);
    CHECK(error(ino, kKeep, rfs::kFileMax - 1, 1) == 0);
    CHECK(error(ino, 0, rfs::kFileMax - 1, 1) == 0);
    CHECK(inode_of(volume, ino).size == rfs::kFileMax);
    CHECK(inode_of(volume, ino).blocks == 1);
}

TEST_CASE("fs: the set-ID bits go when blocks are allocated", "[unit]")
{
    TestVolume volume;
    rfs::Credentials user{ 10, 20 };
    uint32_t ino = make(volume, volume.root, kRootIno, "f", S_IFREG | 06777);

    for (int mode : { 0, kKeep, kPunch, kZero }) {
        rfs::InodeRow before = inode_of(volume, ino);
        auto as = [&](const rfs::Credentials &who) {
            return volume.client->finish(rfs::allocate_file(*volume.client, who, ino, mode, 0, 100))
                .row;
        };
        rfs::InodeRow after = as(volume.root);

        CAPTURE(mode);
        CHECK((after.mode & 06000) == 06000);
        CHECK(after.mtime_ns > before.mtime_ns);
        CHECK(after.ctime_ns > before.ctime_ns);
        CHECK(after.data_version != before.data_version);
        CHECK((as(user).mode & 06000) == 0);
        volume.as_root([&](Call &call) -> dtx::Task<> {
            rfs::Node node = co_await rfs::held_inode(call, ino);

            node.row.mode |= 06000;
            co_await rfs::put(call, node);
        });
    }
}
