// SPDX-License-Identifier: BSD-3-Clause
// settings.h: the environment of tests of object stores, and the error texts of these.
#ifndef TESTS_UNIT_TIER_S3_SETTINGS_H
#define TESTS_UNIT_TIER_S3_SETTINGS_H

#include "unit/tier/tiered.h"

extern "C" {
#include "tier/s3/s3.h"
}

inline void forget_settings()
{
    for (const char *name : { "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
                              "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                              "AWS_CA_BUNDLE", "AWS_SHARED_CREDENTIALS_FILE" })
        unsetenv(name);
    for (const char *name :
         { "http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY" })
        unsetenv(name);
    setenv("HOME", "/nonexistent", 1);
}

inline bool said(const std::string &text)
{
    return std::string(rpm_last_error()).find(text) != std::string::npos;
}

#endif
