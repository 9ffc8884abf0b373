/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_write_set.h: the objects that a transaction has read or is going to write, with their bytes.
 *
 * The set keeps its memory from one transaction to the next. Pointers to accesses and images are
 * valid until the transaction ends.
 *
 * Tests: tests/unit/dtx/engine/store/read_write_set_test.cpp
 */
#ifndef DTX_READ_WRITE_SET_H
#define DTX_READ_WRITE_SET_H

#include <dtx/address.h>
#include <dtx/object.h>

#include <librpm.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace dtx
{

struct Access {
    Address address;
    unsigned char *image; /* the bytes of the slot: as read, later as they will be written */
    uint32_t bytes;       /* of the slot */
    bool whole;           /* the image is a whole version of the object */
    bool settled;         /* that version was committed and the newest one when it was read */
    bool seen;            /* its contents were used: the commit validates it */
    bool written;         /* the commit logs and installs the image */
    bool locked;          /* this transaction holds its lock */
    bool taken;           /* the message that read the row has locked it */
    bool fresh;           /* a new row's slot, free again if this transaction does not commit */
    bool reused;          /* a fresh slot that this session had read before */
    bool freed;           /* an erased row's slot: this session may reuse it after the commit */
    uint64_t version;     /* as read; 0: never written */
    uint64_t writer;      /* of that version */
    uint64_t word;        /* the lock word that the commit found */
    uint64_t current;     /* the version that the commit found */

    ObjectHeader &header()
    {
        return header_of(image);
    }
    const ObjectHeader &header() const
    {
        return header_of(static_cast<const unsigned char *>(image));
    }
    bool valid() const
    {
        return (header().flags & kObjectValid) != 0;
    }
    template <class T> T &as()
    {
        return *reinterpret_cast<T *>(image + sizeof(ObjectHeader));
    }
};

/* A slot without a row that belongs to a session, to be used for a new row, for as long as the
 * slot has this version: each use and each return of the slot writes it. */
struct Spare {
    Address address;
    uint64_t version;
};
static_assert(sizeof(Spare) == 16);

/* Lists that a commit fills; they keep their memory from one transaction to the next. */
struct CommitSpace {
    std::vector<Access *> writes;
    std::vector<Access *> reads;
    std::vector<Spare> spares; /* slots that belong to the session if the transaction commits */
    std::vector<uint64_t> lsns;
    std::vector<rpm_patch> patches;
};

/* A lock that caused a conflict. */
struct BlockingLock {
    Address object;
    uint64_t attempt = 0; /* number of the attempt that held it; 0: there was no such lock */
};

class ReadWriteSet
{
  public:
    ReadWriteSet();

    /* Removes all accesses; keeps the memory. */
    void clear();

    /* The access to an object, or nullptr. */
    Access *find(Address address)
    {
        uint32_t i = table_[place(address)];

        return i == 0 ? nullptr : &(*this)[i - 1];
    }

    /* Adds the access to an object that has none, with an uninitialised image of @bytes, a multiple
     * of 8. */
    Access *add(Address address, uint32_t bytes);

    uint32_t size() const
    {
        return size_;
    }
    Access &operator[](uint32_t i)
    {
        return (*chunks_[i / kChunk])[i % kChunk];
    }

    const unsigned char *payload(const Access &access) const
    {
        return access.image + sizeof(ObjectHeader);
    }

    /* All accesses, in the order of their addresses. Valid until the next call. */
    const std::vector<Access *> &sorted();

    uint64_t txn = 0;
    uint64_t begin_ns = 0;
    bool begun = false;        /* the transaction has sent requests that lock: it may hold locks */
    bool maybe_logged = false; /* a log may hold the redo record; without logs: a row of it may be
                                  installed */
    bool logged = false;       /* all logs hold it; without logs: all rows are installed. It is
                                  committed, whatever fails now */
    bool queued = false;       /* committed, its rows not installed yet: see InstallQueue */
    BlockingLock blocking_lock;
    std::vector<Spare> handed_out; /* slots that the transaction takes from an allocator head */
    uint64_t joined = 0;           /* Servers::joined() when the attempt began */
    std::vector<unsigned char> record;
    CommitSpace space;
    uint32_t number = 0; /* of this set in its session */
    bool busy = false;

  private:
    static constexpr uint32_t kChunk = 64;
    static constexpr uint32_t kBlockBytes = 64 << 10;

    unsigned char *take(uint32_t bytes);
    void grow_table();
    /* Where the address is in the table, or would be. */
    uint32_t place(Address address) const
    {
        uint32_t mask = static_cast<uint32_t>(table_.size()) - 1;
        uint32_t at = static_cast<uint32_t>(address.word * 0x9e3779b97f4a7c15u >> 32) & mask;

        for (; table_[at] != 0; at = (at + 1) & mask) {
            uint32_t i = table_[at] - 1;

            if ((*chunks_[i / kChunk])[i % kChunk].address == address)
                break;
        }
        return at;
    }

    std::vector<std::unique_ptr<std::array<Access, kChunk>>> chunks_;
    uint32_t size_ = 0;
    std::vector<std::unique_ptr<unsigned char[]>> blocks_;
    std::vector<std::unique_ptr<unsigned char[]>> large_; /* images larger than a block */
    uint32_t block_ = 0;
    uint32_t used_ = 0;
    std::vector<uint32_t> table_; /* by address: index + 1, 0: free */
    std::vector<Access *> sorted_;
};

} // namespace dtx
#endif
