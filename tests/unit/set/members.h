// SPDX-License-Identifier: BSD-3-Clause
// members.h: servers with one member of a set each, and a client that has some of them open.
#ifndef TESTS_UNIT_SET_MEMBERS_H
#define TESTS_UNIT_SET_MEMBERS_H

#include "support/loop.h"

extern "C" {
#include "set/legs.h"
}

#include <memory>
#include <string>
#include <vector>

namespace members
{

constexpr uint64_t FIRST = 640; // where the log begins
constexpr uint64_t CAPACITY = 8192;
constexpr uint32_t QUEUED = 8;
constexpr uint64_t RING_BYTES = 2048;
constexpr uint64_t SUSPECT_NS = 1000000000;

// Does the error text of the call before have this part?
inline bool text_has(const char *part)
{
    return std::string(rpm_last_error()).find(part) != std::string::npos;
}

// On memory whose domain a probe has found, as persistent memory's.
inline loop::Setup probed(loop::Setup setup)
{
    setup.declared = false;
    setup.medium = RPM_MEDIUM_DEVDAX;
    return setup;
}

struct Shape {
    uint32_t copies = 3;
    uint32_t acks = 2;
    uint32_t level = RPM_DURABLE;
    loop::Setup setup = probed(loop::synchronous());
};

// The servers, each with its member created and not written.
struct Servers {
    explicit Servers(const Shape &of) : shape(of)
    {
        for (uint32_t i = 0; i < shape.copies; i++) {
            all.push_back(std::make_unique<loop::Server>());
            REQUIRE(create(i) == 0);
        }
    }
    rpmi_member member(uint32_t i) const
    {
        return { 0x77,
                 FIRST,
                 1,
                 { static_cast<uint8_t>(shape.copies), static_cast<uint8_t>(shape.acks),
                   static_cast<uint8_t>(i), 99 } };
    }
    rpm_log_opts opts(uint32_t flags) const
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = flags;
        opts.capacity_bytes = CAPACITY;
        opts.level = shape.level;
        opts.inflight_max = QUEUED / 2; // so that a leg is busy while the queue has room
        opts.staging_bytes = 64 << 10;
        return opts;
    }
    int create(uint32_t i)
    {
        loop::Conn conn(*all[i], shape.setup);
        loop::Log log;
        rpm_log_opts creating = opts(loop::WRITER);
        rpmi_member one = member(i);

        return rpmi_member_open(conn, "copy", &creating, &one, &log.log);
    }

    Shape shape;
    std::vector<std::unique_ptr<loop::Server>> all;
};

// A client's handles on the members.
class Writer
{
  public:
    explicit Writer(Servers &servers) : servers_(servers), legs_(servers.shape.copies)
    {
        for (uint32_t i = 0; i < servers.shape.copies; i++) {
            names_.push_back("member " + std::to_string(i));
            conns_.push_back(std::make_unique<loop::Conn>());
        }
        for (uint32_t i = 0; i < servers.shape.copies; i++)
            legs_[i].name = names_[i].c_str();
        REQUIRE(rpmi_legs_open(&legs, QUEUED, RING_BYTES, SUSPECT_NS) == 0);
    }
    Writer(const Writer &) = delete;
    ~Writer()
    {
        for (rpmi_leg &leg : legs_)
            rpm_log_close(&leg.log);
        rpmi_legs_close(&legs);
    }
    // False: the server is down, or did not answer.
    bool open(uint32_t i)
    {
        loop::Conn &conn = *conns_[i];
        rpm_log_opts opts = servers_.opts(RPM_LOG_WRITE);
        rpmi_member member = servers_.member(i);

        if (!servers_.all[i]->up ||
            loop::connect(*servers_.all[i], servers_.shape.setup, nullptr, &conn.conn) != 0)
            return false;
        conn.link = loop::link_of(conn.conn);
        return rpmi_member_open(conn, "copy", &opts, &member, &legs_[i].log) == 0;
    }
    void open_all()
    {
        for (uint32_t i = 0; i < legs_.size(); i++)
            REQUIRE(open(i));
    }
    int round(uint32_t flags = RPMI_CALL_TAKEOVER, uint32_t installed = 0)
    {
        last = {};
        last.legs = legs_.data();
        last.n = static_cast<uint32_t>(legs_.size());
        last.acks = servers_.shape.acks;
        last.level = servers_.shape.level;
        last.flags = flags;
        last.installed = installed;
        int err = rpmi_round_epoch(legs_.data(), last.n, &last.epoch);

        if (err == 0)
            err = rpmi_round_run(&last);
        if (err == 0)
            rpmi_legs_begin(&legs, &last);
        return err;
    }
    // How many members have the record when it is acknowledged; 0: it is not. @lsn: out.
    uint32_t append(const std::string &data, uint64_t *lsn)
    {
        if (rpmi_legs_submit(&legs, data.data(), static_cast<uint32_t>(data.size()), nullptr,
                             lsn) != 0 ||
            rpmi_legs_flush(&legs) != 0)
            return 0;
        uint32_t held = 0;
        rpm_completion done = {};

        while (rpmi_legs_poll(&legs, &done, 1) == 1)
            CHECK(done.status == 0);
        for (uint32_t i = 0; i < legs_.size(); i++)
            held += legs_[i].sealed && legs.of[i].acked == legs.submitted ? 1 : 0;
        return held;
    }
    int rejoin(uint32_t i)
    {
        int err = rpm_conn_reconnect(*conns_[i]);

        return err != 0 ? err : rpmi_legs_rejoin(&legs, i);
    }
    std::vector<std::string> read(uint32_t i)
    {
        std::vector<std::string> all;

        for (const loop::Record &record : loop::read_all(legs_[i].log, legs_[i].log->head.trim_lsn))
            all.push_back(record.data);
        return all;
    }
    rpmi_leg &leg(uint32_t i)
    {
        return legs_[i];
    }
    loop::Link *link(uint32_t i)
    {
        return conns_[i]->link;
    }
    std::vector<rpmi_leg> &all()
    {
        return legs_;
    }

    rpmi_round last = {};
    rpmi_legs legs = {};

  private:
    Servers &servers_;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<loop::Conn>> conns_;
    std::vector<rpmi_leg> legs_;
};

} // namespace members

#endif
