/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_s3.c: a librpm without object stores.
 *
 * Tests: tests/unit/tier/s3_library_test.cpp
 */
#include "tier/s3_library.h"

#include "base/err.h"

int rpmi_s3_library_open(const char *url, struct rpmi_store **store)
{
    (void)url;
    (void)store;
    return rpmi_fail(RPM_E_NOCAP, "s3: this librpm was built without object stores: configure with "
                                  "-DLIBRPM_S3=ON");
}
