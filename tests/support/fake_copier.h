// SPDX-License-Identifier: BSD-3-Clause
// fake_copier.h: a copy engine for tests, which takes its bytes when a copy begins and gives them
// when it ends: after a delay, with an error, or never.
#ifndef TESTS_SUPPORT_FAKE_COPIER_H
#define TESTS_SUPPORT_FAKE_COPIER_H

extern "C" {
#include "copy/copier.h"
}
#include "support/catch.h"

#include <cstring>
#include <vector>

struct FakeCopier {
    rpmi_copier copier = {}; // first: the operations get a pointer to this
    rpmi_copier_caps caps = { 8192, true };
    uint32_t delay = 0;     // polls that find a copy under way
    uint32_t fail_each = 0; // each n-th copy ends with RPM_E_IO
    uint32_t busy_each = 0; // each n-th copy is refused with RPM_E_BUSY
    bool stuck = false;     // copies do not end before unmap()
    int map_error = 0;
    uint32_t maps = 0;
    uint32_t unmaps = 0;
    uint32_t copies = 0;
    uint32_t waits = 0;
    bool closed = false;
    bool outstanding = false;
    uint32_t polls = 0;
    int status = 0;
    unsigned char *into = nullptr;
    std::vector<unsigned char> taken;

    explicit FakeCopier(rpm_conn *conn)
    {
        copier.ops = ops();
        copier.conn = conn;
    }
    FakeCopier(const FakeCopier &) = delete;

    static FakeCopier *of(rpmi_copier *copier)
    {
        return reinterpret_cast<FakeCopier *>(copier);
    }
    void end()
    {
        if (status == 0)
            memcpy(into, taken.data(), taken.size());
        outstanding = false;
    }
    static const rpmi_copier_ops *ops()
    {
        static const rpmi_copier_ops table = {
            "fake",
            [](const rpmi_copier *copier, rpmi_copier_caps *caps) {
                *caps = reinterpret_cast<const FakeCopier *>(copier)->caps;
            },
            [](rpmi_copier *copier, uint32_t, uint64_t) {
                CHECK_FALSE(of(copier)->outstanding);
                of(copier)->maps++;
                return of(copier)->map_error;
            },
            begin,
            [](rpmi_copier *copier, int *status) {
                FakeCopier *fake = of(copier);

                REQUIRE(fake->outstanding);
                if (fake->stuck || ++fake->polls <= fake->delay)
                    return 0;
                fake->end();
                *status = fake->status;
                return 1;
            },
            [](rpmi_copier *copier, uint64_t) {
                rpmi_link *link = copier->conn->link;

                of(copier)->waits++;
                link->ops->pause(link, 1000000);
            },
            [](rpmi_copier *copier) {
                if (of(copier)->outstanding)
                    of(copier)->end();
                of(copier)->unmaps++;
                copier->busy = false;
            },
            [](rpmi_copier *copier) { of(copier)->closed = true; },
        };

        return &table;
    }
    static int begin(rpmi_copier *copier, uint64_t offset, void *into, uint64_t len)
    {
        FakeCopier *fake = of(copier);

        CHECK_FALSE(fake->outstanding);
        CHECK(len <= fake->caps.bytes_max);
        fake->copies++;
        if (fake->busy_each != 0 && fake->copies % fake->busy_each == 0)
            return RPM_E_BUSY;
        fake->taken.resize(len);
        int err = rpmi_conn_read(copier->conn, copier->key, offset, fake->taken.data(), len);
        if (err != 0)
            return err;
        fake->status = fake->fail_each != 0 && fake->copies % fake->fail_each == 0 ? RPM_E_IO : 0;
        fake->into = static_cast<unsigned char *>(into);
        fake->polls = 0;
        fake->outstanding = true;
        return 0;
    }
};

#endif
