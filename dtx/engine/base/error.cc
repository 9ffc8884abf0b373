/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error.cc: throw the exception that belongs to a librpm error code.
 *
 * Tests: tests/unit/dtx/engine/cluster/cluster_test.cpp
 */
#include <dtx/error.h>

#include <librpm.h>

namespace dtx
{

void fail(int code, const std::string &doing)
{
    std::string text = doing + ": " + rpm_last_error();

    if (code == RPM_E_FENCED || code == RPM_E_LOST || code == RPM_E_TIMEDOUT ||
        code == RPM_E_REFUSED)
        throw Fenced(code, text);
    throw Failed(code, text);
}

} // namespace dtx
