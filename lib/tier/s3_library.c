/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3_library.c: load librpm-s3 when the first s3: URL is opened. It is never unloaded, because
 * stores point into it. A static librpm cannot load it, because that would load a second librpm; a
 * program with a static librpm must be linked with librpm-s3.
 *
 * Tests: tests/unit/tier/s3_library_test.cpp, tests/tools/object_store_test
 */
#include "tier/s3_library.h"

#include "base/err.h"

#include <dlfcn.h>
#include <librpm/version.h>

typedef int s3_open(const char *url, struct rpmi_store **store);

#ifdef RPMI_S3_SONAME

static int find(s3_open **open)
{
    void *library = dlopen(RPMI_S3_SONAME, RTLD_NOW | RTLD_LOCAL);
    const char *why;

    *open = library == NULL ? NULL : (s3_open *)dlsym(library, "rpmi_s3_open");
    if (*open != NULL)
        return 0;
    why = dlerror();
    return rpmi_fail(RPM_E_NOCAP, "s3: needs %s: install librpm-s3 %s (%s)", RPMI_S3_SONAME,
                     rpm_version(), why != NULL ? why : "no reason given");
}

#else

extern s3_open rpmi_s3_open __attribute__((weak));

static int find(s3_open **open)
{
    *open = rpmi_s3_open;
    if (*open != NULL)
        return 0;
    return rpmi_fail(RPM_E_NOCAP, "s3: this program was linked with a static librpm and without "
                                  "librpm-s3: link it with librpm::s3 (pkg-config librpm-s3)");
}

#endif

int rpmi_s3_library_open(const char *url, struct rpmi_store **store)
{
    s3_open *open;
    int err = find(&open);

    return err != 0 ? err : open(url, store);
}
