/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version.h: the version of librpm, at compile time and at run time.
 */
#ifndef LIBRPM_VERSION_H
#define LIBRPM_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define LIBRPM_VERSION_MAJOR 0
#define LIBRPM_VERSION_MINOR 1
#define LIBRPM_VERSION_PATCH 0

/**
 * rpm_version: the version of the library that is running, such as "0.1.0".
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_version(void);

#ifdef __cplusplus
}
#endif
#endif
