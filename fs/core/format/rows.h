/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h: the rows of a volume's tables. Numbers are little-endian; times are nanoseconds since
 * 1970 began, UTC.
 *
 * Format: fs/FORMAT.md.
 *
 * Invariants
 *   a row's struct has no padding: all its bytes are defined
 *   an inode and its dtx header fill four cache lines, a name and its header two, a lock and its
 *   header one
 *
 * Tests: tests/unit/fs/format/rows_test.cpp, tests/golden/fs_test.cpp
 */
#ifndef FS_CORE_FORMAT_ROWS_H
#define FS_CORE_FORMAT_ROWS_H

#include "core/format/pointer.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace rfs
{

inline constexpr uint32_t kRootIno = 1;
inline constexpr uint32_t kNameMax = 255;        /* bytes of a name, as of ext4 */
inline constexpr uint32_t kLinkTargetMax = 4095; /* bytes: PATH_MAX without the final zero */
inline constexpr uint32_t kLinksMax = 65000;     /* names of one file, as of ext4 */
inline constexpr uint64_t kFileMax = 1ull << 44; /* bytes: map keys have 32 bits for a number */
inline constexpr uint64_t kFileBlocks = kFileMax / kBlockBytes;
inline constexpr uint32_t kInodePointers = 8;   /* of the first blocks of a file */
inline constexpr uint32_t kMapPointers = 32;    /* of each row of the table maps */
inline constexpr uint32_t kShortTarget = 128;   /* a link's target that fits into its inode */
inline constexpr uint32_t kHeadBytes = 90;      /* of a name, in its row of names */
inline constexpr uint32_t kPieceBytes = 480;    /* of each row of blobs */
inline constexpr uint32_t kSlabBlocks = 512;    /* 2 MiB */
inline constexpr uint32_t kLocksMax = 4096;     /* of one file */
inline constexpr uint64_t kLockEnd = INT64_MAX; /* of the range of a lock that has no end */
inline constexpr uint32_t kFirstTargetPiece = 1 << 16; /* pieces before it have xattrs */

/* The table volume has one row, with key 0. */
struct VolumeRow {
    unsigned char uuid[16];
    uint64_t name_seed; /* of the hashes of names */
    int64_t made_ns;
    uint32_t block_bytes;
    uint32_t unused; /* 0 */
};
static_assert(sizeof(VolumeRow) == 40);

struct InodeRow {
    uint32_t mode; /* type and permissions, as st_mode */
    uint32_t uid;
    uint32_t gid;
    uint32_t links;  /* names; of a directory: 2, and one for each directory in it */
    uint64_t size;   /* bytes; of a directory: names in it */
    uint64_t blocks; /* allocated */
    int64_t atime_ns;
    int64_t mtime_ns;
    int64_t ctime_ns;
    int64_t btime_ns;
    uint64_t data_version; /* changes with each change of the contents */
    uint64_t cut;          /* blocks from here on are to be freed; kNoCut: none */
    uint32_t generation;   /* 0 */
    uint32_t parent;       /* of a directory */
    uint32_t device;       /* of a device file: 12 bits major << 20 | 20 bits minor */
    uint32_t xattr_bytes;  /* of all extended attributes, in blobs */
    union {
        std::array<Pointer, kInodePointers> pointers; /* of a regular file */
        char target[kShortTarget];                    /* of a symbolic link */
    };
};
static_assert(sizeof(InodeRow) == 224);
inline constexpr uint64_t kNoCut = UINT64_MAX;

struct NameRow {
    uint32_t ino;
    uint8_t type; /* of the inode: mode >> 12 */
    uint8_t length;
    char head[kHeadBytes]; /* then zeros */
};
static_assert(sizeof(NameRow) == 96);

/* The rest of a name of more than kHeadBytes bytes, with the key of its NameRow. */
struct LongNameRow {
    char tail[kNameMax - kHeadBytes]; /* then zeros */
    char unused[3];                   /* 0 */
};
static_assert(sizeof(LongNameRow) == 168);

/* Pointers of the blocks 32 n to 32 n + 31 of a file. Those of the first kInodePointers blocks are
 * in the inode, and zero here. */
struct MapRow {
    std::array<Pointer, kMapPointers> pointers;
};
static_assert(sizeof(MapRow) == 512);

/* A piece of a symbolic link's target, or of the stream of a file's extended attributes. */
struct BlobRow {
    char bytes[kPieceBytes];
};
static_assert(sizeof(BlobRow) == 480);

/* Which blocks of a slab are in use, and which session may take more of them. */
struct SlabRow {
    uint64_t owner; /* owner_of(); 0: none */
    std::array<uint64_t, kSlabBlocks / 64> used;
};
static_assert(sizeof(SlabRow) == 72);

/* How a slab names its owner: the coordinator number of a session, and a random number for each
 * time that the session joins, of which the lower 48 bits count. */
constexpr uint64_t owner_of(uint32_t coordinator, uint64_t join)
{
    return join << 16 | (coordinator + 1);
}

/* Only of an owner, or of what may be damaged: not of 0. */
constexpr uint32_t coordinator_of(uint64_t owner)
{
    return static_cast<uint32_t>(owner & 0xffff) - 1;
}

inline constexpr uint32_t kClientsMax = 100; /* coordinator numbers of clients, 0 to 99 */

/* A set of clients, by the coordinator numbers of their sessions. */
struct ClientSet {
    std::array<uint64_t, 2> bits;

    bool has(uint32_t coordinator) const
    {
        return (bits[coordinator / 64] >> coordinator % 64 & 1) != 0;
    }
    void add(uint32_t coordinator)
    {
        bits[coordinator / 64] |= 1ull << coordinator % 64;
    }
    void remove(uint32_t coordinator)
    {
        bits[coordinator / 64] &= ~(1ull << coordinator % 64);
    }
    bool empty() const
    {
        return bits[0] == 0 && bits[1] == 0;
    }
};
static_assert(sizeof(ClientSet) == 16 && 8 * sizeof(ClientSet) >= kClientsMax);

/* The table mounts has one row, with key 0: the clients that have the volume open (mounts.h). */
struct MountsRow {
    ClientSet clients;
    uint32_t solo;    /* coordinator number, plus 1, of the solo client; 0: none */
    uint32_t changes; /* of this row */
};
static_assert(sizeof(MountsRow) == 24);

/* A file without names, by shard and number: the clients that may still have it open. */
struct OrphanRow {
    ClientSet clients;
};

enum class LockKind : uint8_t {
    posix = 1, /* of fcntl(): of a process, or of an open file (OFD) */
    flock = 2
};
enum class LockType : uint8_t {
    none = 0, /* in no row: to unlock */
    read = 1,
    write = 2
};

/* A lock of a range of a file. Its owner is a client and the number that the client's kernel has
 * given to a process or to an open file. */
struct LockRow {
    uint64_t start; /* bytes; the range of a flock() is 0 to kLockEnd */
    uint64_t end;   /* its last byte, kLockEnd at most */
    uint64_t owner;
    uint32_t pid;    /* of the process that has set it, on the machine of the client */
    uint16_t client; /* client_number() */
    LockKind kind;
    LockType type;
};
static_assert(sizeof(LockRow) == 32);

/* How a lock names its client, by the coordinator number of its session. */
constexpr uint16_t client_number(uint32_t coordinator)
{
    return static_cast<uint16_t>(coordinator + 1);
}

/* By client and file: a file on which the client may have locks. The row of file 0 is no file's: it
 * is the client's heartbeat, or was written by Client::show_life() to see whether the client was
 * fenced. */
struct LockedFileRow {
    uint64_t beat; /* of file 0: counted up by a mount that lives; 0: by none. Else 0 */
};
inline constexpr uint32_t kBeatFile = 0;

/* Why no client can have written this row, as a clause for an error text; nullptr: its fields are
 * within their bounds. A server may return any bytes, so a call checks each row that it reads. */
const char *fault_of(const InodeRow &row);
const char *fault_of(const NameRow &row);

/* A name to its rows, of which a short one needs only the first, and back. @row: sound. */
void put_name(std::string_view name, NameRow &row, LongNameRow &rest);
std::string name_in(const NameRow &row, const LongNameRow &rest);

/* Can a file have that name? "." and ".." are names of directories alone. */
bool is_name(std::string_view name);

/* Has a mode the type of a file, and no bits that a mode has not? */
bool is_mode(uint32_t mode);

static_assert(std::has_unique_object_representations_v<VolumeRow>);
static_assert(std::has_unique_object_representations_v<NameRow>);
static_assert(std::has_unique_object_representations_v<LongNameRow>);
static_assert(std::has_unique_object_representations_v<MapRow>);
static_assert(std::has_unique_object_representations_v<SlabRow>);
static_assert(std::has_unique_object_representations_v<LockRow>);

} // namespace rfs
#endif
