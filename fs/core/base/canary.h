/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canary.h: rules of the file system that a test removes, one at a time, to see that the checks of
 * the tests then fail. In the shipped programs none can be removed, and the compiler leaves the
 * code of the canaries out. Further rules are those of the engine (dtx::Canary).
 *
 * Tests: tests/crash/fs/canary_test.cpp, tests/fs/canary_test
 */
#ifndef FS_CORE_BASE_CANARY_H
#define FS_CORE_BASE_CANARY_H

namespace rfs
{

/* What is so without the rule. */
enum class Canary {
    none,
    commit_before_data,   /* pointers to blocks are committed before the blocks are written */
    reuse_early,          /* a block is written again before its free is committed */
    slab_shared,          /* a client takes blocks of slabs that another one owns */
    no_fence,             /* slabs are taken from a client that was not fenced */
    cut_forgets,          /* the inode does not say how far the blocks behind a cut are freed */
    orphan_early,         /* a file without names is freed while one client has not let it go */
    lock_survives,        /* locks of dead clients are not dropped */
    lock_early,           /* locks are dropped of a client that was not fenced */
    solo_no_wait,         /* a client that ends another's time as solo client does not wait */
    mtime_still,          /* a change within one tick of the clock leaves the time of change */
    sum_unseeded,         /* a checksum does not tell blocks of different files apart */
    loop_unchecked,       /* a directory moves below another one whose ancestors are not read */
    timeout_shared,       /* the kernel keeps names for a second although others change them */
    append_kernel_offset, /* bytes are appended where the kernel thinks that the file ends */
};

#ifdef RFS_TESTING
inline Canary canary_now = Canary::none;

inline bool canary(Canary which)
{
    return canary_now == which;
}
#else
constexpr bool canary(Canary)
{
    return false;
}
#endif

} // namespace rfs
#endif
