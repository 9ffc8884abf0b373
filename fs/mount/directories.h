/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directories.h: the directories that the kernel knows: by which numbers, and at which places.
 *
 * The kernel has one entry for each directory that it knows, at one place: a name in a directory.
 * Working directories and open directories refer to it. When a lookup finds the directory at
 * another place, because another mount has moved it, the kernel moves its entry there
 * (d_splice_alias()). It cannot do so within rename(2), and not always beside one: it only tries
 * to get the locks of the two places, without waiting. If it fails, it drops the reply, makes all
 * lookups of the call once more, and if that happens again the call fails: ESTALE.
 *
 * A lookup that tells a thread of a directory at a new place is therefore unproven until that
 * thread makes a request on the directory, as calls do that have got hold of it. If the thread
 * looks up the same place again before, the reply has another number for the same directory. The
 * kernel takes it for a directory that it does not know, and makes an entry for it: the call goes
 * on. Programs see the number of the inode, which is the same. What works in the directory, or has
 * it open, keeps the earlier number and goes on, too; its getcwd(2) and its ".." are those of the
 * old place.
 *
 * If the kernel had moved its entry all the same, as for a thread that only asks twice whether a
 * name is taken, then it refuses the other number, forgets it, and looks the name up once more.
 *
 * To tell the kernel of each move beforehand (fuse_lowlevel_notify_inval_entry()) would not do:
 * the old parent may be locked by the call that waits for the reply, and an entry that is in use
 * stays.
 *
 * The first number of a directory is that of its inode, as for all files; further ones have the
 * inode in their lower 32 bits.
 *
 * Source: d_splice_alias(), __d_unalias() and retry_estale() of Linux.
 * Tests: tests/unit/fs/mount/directories_test.cpp, tests/fs/two_mounts
 */
#ifndef FS_MOUNT_DIRECTORIES_H
#define FS_MOUNT_DIRECTORIES_H

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace rfs
{

class Directories
{
  public:
    using Number = uint64_t; /* fuse_ino_t */

    static constexpr uint64_t kFirstFurther = 2;     /* upper 32 bits; 1 has statistics.h */
    static constexpr uint64_t kAgainNs = 5000000000; /* the kernel looks up again within that */

    struct Place {
        Number directory;
        std::string_view name;
    };

    /* The number for the reply to a lookup, by which @thread has found directory @ino. */
    Number looked_up(uint32_t ino, Place place, pid_t thread, uint64_t now_ns);
    /* The number for a list of names, of which the kernel drops what it cannot use. */
    Number listed(uint32_t ino, Place place) const;
    /* The kernel was told of it at a place, once more. True: it did not know the directory. */
    bool known(Number number, Place place);
    /* It forgets it so many times. True: it does not know the directory any more. Ignores numbers
     * that it was not told. */
    bool forgotten(Number number, uint64_t times);
    /* A thread has made a request on a directory. */
    void used(Number number, pid_t thread);
    /* The kernel moves its entries, because a rename(2) of its own has succeeded. */
    void moved(Place from, Place to);
    void exchanged(Place one, Place other);

    size_t size() const
    {
        return by_ino_.size();
    }

  private:
    struct Entry {
        Number number;
        uint64_t place = 0;    /* hash_of(); 0: not known */
        uint64_t times = 0;    /* that the kernel was told of it and has not forgotten */
        uint64_t before = 0;   /* unproven: the place where the kernel had it */
        bool unproven = false; /* by a request of @thread, which was told of @place at @told_ns */
        pid_t thread = 0;
        uint64_t told_ns = 0;
        Number instead_of = 0; /* unproven, and a further number: the one that it stands in for */
    };
    using Entries = std::vector<Entry>; /* of one directory: mostly one */

    static uint64_t hash_of(Place place);
    static void prove(Entry &entry);
    Entry *find(Number number);
    void put(Entry &entry, uint64_t place);
    Number further(Entries &entries, size_t at, pid_t thread, uint64_t now_ns);
    void refused(const Entry &further);

    std::unordered_map<uint32_t, Entries> by_ino_;
    std::unordered_map<uint64_t, Number> at_; /* by place: what the kernel has there */
};

} // namespace rfs
#endif
