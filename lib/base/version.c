/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version.c: the version of the library that is running, as opposed to the one compiled against.
 *
 * Tests: tests/unit/base/version_test.cpp
 */
#include <librpm/version.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *rpm_version(void)
{
    return TEXT(LIBRPM_VERSION_MAJOR) "." TEXT(LIBRPM_VERSION_MINOR) "." TEXT(LIBRPM_VERSION_PATCH);
}
