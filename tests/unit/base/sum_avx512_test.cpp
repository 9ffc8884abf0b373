// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/sum.h"
}
#include "sum_path.h"

TEST_CASE("sum: the AVX-512 path gives the common path's value at every length", "[unit]")
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512f"))
        SKIP("this CPU has no AVX-512");
#endif
    check_sum_path(rpmi_sum_avx512);
    check_seeded_path(rpmi_sum_seeded_avx512);
}
