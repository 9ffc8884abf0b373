// SPDX-License-Identifier: BSD-3-Clause
// fake.h: a fake link that records its calls, with a clock of its own, for tests of wrappers.
#ifndef TESTS_UNIT_TRANSPORT_FAKE_H
#define TESTS_UNIT_TRANSPORT_FAKE_H

extern "C" {
#include "base/mem.h"
#include "transport/wrap/wrap.h"
}
#include "support/catch.h"

#include <librpm/diag.h>

#include <deque>
#include <string>
#include <vector>

struct Fake {
    rpmi_link link; // first: a link is all that wrappers see
    std::vector<rpmi_op> posted;
    std::deque<rpmi_done> done;
    uint64_t now_ns = 1000;
    uint32_t outstanding = 0;
    uint32_t take_most = UINT32_MAX; // ops taken by one post
    int post_result = 0;             // negative: the result of post
    int late = 0;                    // polls that return no completion yet
    int calls = 0;
    std::vector<rpmi_call> called;
    int call_status = 0; // in the replies
    int reconnects = 0;
    int waits = 0;
    int watched = -1; // the epoll set
    int arms = 0;
    int closed = 0;
    unsigned char stage[64];

    explicit Fake(uint32_t flags = 0);
    std::vector<uint64_t> ids() const
    {
        std::vector<uint64_t> ids;

        for (const rpmi_op &op : posted)
            ids.push_back(op.id);
        return ids;
    }
};

inline Fake *fake_of(rpmi_link *link)
{
    return reinterpret_cast<Fake *>(link);
}

inline int fake_post(rpmi_link *link, const rpmi_op *ops, uint32_t n)
{
    Fake *fake = fake_of(link);
    bool synchronous = (link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0;
    uint32_t taken = 0;

    if (link->lost != 0)
        return link->lost;
    if (fake->post_result < 0)
        return fake->post_result;
    while (taken < n && taken < fake->take_most && fake->outstanding < link->depth) {
        fake->posted.push_back(ops[taken]);
        if (!synchronous && (ops[taken].flags & RPMI_OP_SIGNALED) != 0) {
            fake->outstanding++;
            fake->done.push_back({ ops[taken].id, 0 });
        }
        taken++;
    }
    fake->now_ns += 10 * taken;
    return static_cast<int>(taken);
}

inline int fake_poll(rpmi_link *link, rpmi_done *done, uint32_t n)
{
    Fake *fake = fake_of(link);
    uint32_t count = 0;

    fake->now_ns++;
    if (fake->late > 0) {
        fake->late--;
        return 0;
    }
    while (count < n && !fake->done.empty()) {
        done[count++] = fake->done.front();
        fake->done.pop_front();
        fake->outstanding--;
    }
    if (count == 0 && link->lost != 0)
        return RPM_E_LOST;
    return static_cast<int>(count);
}

inline int fake_wait(rpmi_link *link, uint64_t deadline_ns)
{
    Fake *fake = fake_of(link);

    fake->waits++;
    link->stats.sleeps++;
    if (!fake->done.empty() || link->lost != 0)
        return 0;
    fake->now_ns = deadline_ns;
    return RPM_E_TIMEDOUT;
}

inline int fake_call(rpmi_link *link, const rpmi_call *call, rpmi_reply *reply, uint64_t)
{
    Fake *fake = fake_of(link);

    fake->calls++;
    fake->called.push_back(*call);
    fake->now_ns += 100;
    memset(reply, 0, sizeof(*reply));
    reply->status = fake->call_status;
    reply->key = call->key + 1;
    return 0;
}

inline const rpmi_transport_ops *fake_ops()
{
    static rpmi_transport_ops ops = {};

    if (ops.size != 0)
        return &ops;
    ops.size = sizeof(ops);
    ops.scheme = "fake";
    ops.reconnect = [](rpmi_link *link, uint64_t) {
        fake_of(link)->reconnects++;
        fake_of(link)->done.clear();
        fake_of(link)->outstanding = 0;
        link->lost = 0;
        link->client++;
        return 0;
    };
    ops.post = fake_post;
    ops.poll = fake_poll;
    ops.wait = fake_wait;
    ops.watch = [](rpmi_link *link, int epoll_fd) {
        fake_of(link)->watched = epoll_fd;
        return 0;
    };
    ops.arm = [](rpmi_link *link, uint64_t *) {
        fake_of(link)->arms++;
        return fake_of(link)->done.empty() && link->lost == 0 ? 0 : 1;
    };
    ops.call = fake_call;
    ops.stage = [](rpmi_link *link, uint64_t) -> void * { return fake_of(link)->stage; };
    ops.unstage = [](rpmi_link *, void *) {};
    ops.peek = [](rpmi_link *link, uint32_t, uint64_t, uint64_t) -> const void * {
        return fake_of(link)->stage;
    };
    ops.now_ns = [](rpmi_link *link) { return fake_of(link)->now_ns; };
    ops.pause = [](rpmi_link *link, uint64_t ns) { fake_of(link)->now_ns += ns; };
    ops.close = [](rpmi_link *link) { fake_of(link)->closed++; };
    rpmi_transport_complete(&ops);
    return &ops;
}

inline Fake::Fake(uint32_t flags) : link{}
{
    link.ops = fake_ops();
    link.flags = flags;
    link.depth = 8;
    link.client = 1;
    link.server_epoch = 77;
    link.facts = rpm_facts_init();
    link.facts.methods = 2;
}

// Wrappers on a fake link, closed at the end of a test.
struct Wrapped {
    Fake fake;
    rpmi_link *link;

    explicit Wrapped(const std::string &options, uint32_t flags = 0) : fake(flags), link(&fake.link)
    {
        rpmi_url url;

        REQUIRE(rpmi_url_parse(("fake:x," + options).c_str(), &url) == 0);
        REQUIRE(rpmi_link_wrap(&url, &link) == 0);
        REQUIRE(link != &fake.link);
        rpmi_mem_freeze();
    }
    Wrapped(const Wrapped &) = delete;
    ~Wrapped()
    {
        rpmi_mem_thaw();
        link->ops->close(link);
        CHECK(fake.closed == 1);
    }
    int post(const std::vector<rpmi_op> &ops)
    {
        return link->ops->post(link, ops.data(), static_cast<uint32_t>(ops.size()));
    }
    int post(uint64_t id, uint8_t flags = RPMI_OP_SIGNALED)
    {
        return post({ op(id, flags) });
    }
    // Polls at most so many times until a completion comes.
    std::vector<rpmi_done> poll(uint32_t n = 16)
    {
        std::vector<rpmi_done> done(n);
        int count = link->ops->poll(link, done.data(), n);

        last = count;
        done.resize(count > 0 ? static_cast<size_t>(count) : 0);
        return done;
    }
    static rpmi_op op(uint64_t id, uint8_t flags = RPMI_OP_SIGNALED, uint8_t kind = RPMI_OP_WRITE)
    {
        rpmi_op op = {};

        op.kind = kind;
        op.flags = flags;
        op.len = 64;
        op.id = id;
        return op;
    }
    int last = 0;
};

// Collects the diagnostics of the library.
struct Diag {
    std::vector<std::string> lines;

    explicit Diag(rpm_diag_level threshold)
    {
        rpm_diag_sink([](void *context, rpm_diag_level,
                         const char *text) { static_cast<Diag *>(context)->lines.push_back(text); },
                      this, threshold);
    }
    Diag(const Diag &) = delete;
    ~Diag()
    {
        rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    }
};

#endif
