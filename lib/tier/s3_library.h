/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3_library.h: open an object store. What speaks to it is in a library of its own, librpm-s3, with
 * libcurl and expat: a process that opens no s3: URL loads none of them.
 *
 * Invariant: librpm-s3 uses librpm's functions, by symbols whose version node names the exact
 *   version of librpm: the loader refuses to combine libraries of different versions
 *
 * Tests: tests/unit/tier/s3_library_test.cpp, tests/tools/object_store_test
 */
#ifndef RPMI_S3_LIBRARY_H
#define RPMI_S3_LIBRARY_H

#include "tier/store.h"

#define RPMI_S3_SCHEME "s3:"

/* Open s3://BUCKET/PREFIX. RPM_E_NOCAP: librpm-s3 is not installed, or of another version, or this
 * librpm was built without it; RPM_E_INVAL (the URL, or a setting), RPM_E_DENIED, RPM_E_NOENT (no
 * such bucket), RPM_E_NOMEM, RPM_E_IO. */
int rpmi_s3_library_open(const char *url, struct rpmi_store **store);

#endif
