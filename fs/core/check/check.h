/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: is a volume whole?
 *
 * Rules
 *   rows        each row was written whole
 *   volume      the volume has its own row and a root directory
 *   inodes      an inode has a type, and what belongs to that type alone
 *   names       a name leads to an inode of its type, is in a directory, and has its hash's key
 *   long names  the second row of a name exists exactly if the name is that long
 *   links       a file has as many names as it counts; one without names is an orphan
 *   directories a directory counts its names and its directories, and has one name, in its parent
 *   reachable   the root directory leads to each directory
 *   maps        a row of a map belongs to a regular file, and a file counts its blocks
 *   pointers    a pointer leads to a block of the volume, and lies before the file's end or its
 *               block is unwritten
 *   blocks      each block in use has one pointer, and each pointer a block in use
 *   blobs       a symbolic link has all of its target, and no other file has a part of one
 *   xattrs      a file has all bytes of extended attributes that it counts, and they are whole
 *   locks       a lock is of a file and of a client that has the volume open, and no other lock
 *               excludes it
 *   data        each block has its checksum on each copy
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#ifndef FS_CORE_CHECK_CHECK_H
#define FS_CORE_CHECK_CHECK_H

#include "core/client/volume.h"
#include <dtx/findings.h>
#include <dtx/session.h>

namespace rfs
{

/* Reads all tables of the volume, as copy @copy of each shard has them (0: the primary). Keeps 76
 * bytes in memory for each file and 136 for each slab of 512 blocks, the ends of long names, and
 * attributes until it has all of a file. Throws dtx::Error: a server does not answer. */
dtx::Findings check_tables(const OpenVolume &open, uint32_t copy = 0);

struct LiveFindings {
    dtx::Findings findings;
    uint64_t undecided; /* that looked wrong, and changed each time that they were read */
};

/* As check_tables(), while clients write the volume. Reads all tables up to eight times while
 * something looks wrong. Joins the database as a session. Throws dtx::Error. */
LiveFindings check_live(const OpenVolume &open);

/* The clients that have the volume open and live, after finishing what others have begun that have
 * died. Joins the database as a session. Throws dtx::Error. */
ClientSet living_clients(const OpenVolume &open);

/* Compares all blocks of all files, on each copy, with their checksums: rule "data". The servers
 * compute them, so that few bytes are received; if one is too old for that, this reads the blocks.
 * Clients may write the volume meanwhile. Joins the database as a session. @counters: out, of that
 * session, if not nullptr. Throws dtx::Error. */
dtx::Findings check_data(const OpenVolume &open, dtx::Counters *counters = nullptr);

} // namespace rfs
#endif
