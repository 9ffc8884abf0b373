// SPDX-License-Identifier: BSD-3-Clause
// worker.h: appends a list of records over a link that fails, resumes, appends absent records
// again, and records which were acknowledged. In the end each must be in the log exactly once.
#ifndef TESTS_UNIT_LOG_WORKER_H
#define TESTS_UNIT_LOG_WORKER_H

#include "unit/log/kinds.h"

#include <set>

enum class Way { Async, More, Blocking, Batch, Reserve };

struct Worker {
    loop::Server &server;
    loop::Conn &conn;
    loop::Log &log;
    Way way;
    std::vector<std::string> data;
    std::deque<size_t> todo;
    std::set<size_t> done;
    std::vector<size_t> batch; // the outstanding blocking call
    uint32_t resumes = 0;
    uint32_t fenced = 0;
    uint32_t lost_track = 0;
    bool stop = false;
    bool settles = false; // settles and claims, instead of resuming

    Worker(loop::Server &remote, loop::Conn &link, loop::Log &opened, Way how, size_t n)
        : server(remote), conn(link), log(opened), way(how)
    {
        for (size_t i = 0; i < n; i++) {
            data.push_back("#" + std::to_string(i) + "#" + loop::payload(i, 1 + (i * 97) % 700));
            todo.push_back(i);
        }
    }

    bool lost() const
    {
        return rpmi_conn_link(conn)->lost != 0;
    }

    void finish(size_t i)
    {
        CHECK(done.insert(i).second); // each completes once
    }

    void poll()
    {
        rpm_completion came[8];
        int n = rpm_log_poll(log, came, 8);

        REQUIRE(n >= 0);
        for (int k = 0; k < n; k++)
            if (came[k].status == 0)
                finish(reinterpret_cast<uintptr_t>(came[k].context) - 1);
    }

    // Each append has one outcome; those of blocking calls are counted, because a prefix of them is
    // present.
    void settle(const std::vector<rpm_outcome> &outcomes)
    {
        std::set<size_t> told;
        size_t prefix = 0;

        for (const rpm_outcome &outcome : outcomes) {
            size_t i = reinterpret_cast<uintptr_t>(outcome.context) - 1;

            if (outcome.context == nullptr) {
                prefix += outcome.present == 1;
                continue;
            }
            CHECK(told.insert(i).second);
            if (outcome.present == 1)
                finish(i);
            else
                todo.push_back(i);
        }
        REQUIRE(prefix <= batch.size());
        for (size_t k = 0; k < batch.size(); k++) {
            if (k < prefix)
                finish(batch[k]);
            else
                todo.push_back(batch[k]);
        }
        batch.clear();
    }

    // Reconnects and resumes until it succeeds; every attempt may fail at any point. Or settles and
    // claims: once it has settled, it only repeats the claim.
    void resume()
    {
        std::vector<rpm_outcome> outcomes(300);
        uint32_t count = 0;
        bool settled = false;

        for (uint32_t tries = 0; tries < 50; tries++) {
            int err = lost() ? rpm_conn_reconnect(conn) : 0;

            if (err == 0 && settles && !settled) {
                err = rpm_log_settle(log, outcomes.data(), 300, &count);
                settled = err == 0;
            }
            if (err == 0)
                err = settles ? rpm_log_claim(log, RPM_LOG_TAKEOVER)
                              : rpm_log_resume(log, outcomes.data(), 300, &count);
            resumes++;
            if (err == 0 || err == RPM_E_FENCED || err == RPM_E_TRIMMED) {
                fenced += err == RPM_E_FENCED;
                lost_track += err == RPM_E_TRIMMED;
                outcomes.resize(count);
                settle(outcomes);
                stop = err != 0;
                return;
            }
            CAPTURE(err, rpm_last_error());
            REQUIRE((err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED));
        }
        FAIL("resume never worked");
    }

    int send_batch()
    {
        std::vector<rpm_slice> slices;
        int err;

        while (batch.size() < 5 && !todo.empty()) {
            batch.push_back(todo.front());
            todo.pop_front();
            slices.push_back({ data[batch.back()].data(), data[batch.back()].size() });
        }
        err =
            rpm_log_append_batch(log, slices.data(), static_cast<uint32_t>(slices.size()), nullptr);
        if (err == 0) {
            for (size_t i : batch)
                finish(i);
            batch.clear();
        }
        return err;
    }

    int send_blocking()
    {
        int err;

        batch.push_back(todo.front());
        todo.pop_front();
        err = rpm_log_append(log, data[batch[0]].data(), data[batch[0]].size(), nullptr);
        if (err == 0) {
            finish(batch[0]);
            batch.clear();
        }
        return err;
    }

    int send_async()
    {
        size_t i = todo.front();
        uint32_t flags = way == Way::More && todo.size() > 1 && i % 4 != 0 ? RPM_MORE : 0;
        void *room = nullptr;
        int err;

        if (way == Way::Reserve) {
            err = rpm_log_reserve(log, data[i].size(), &room);
            if (err != 0)
                return err;
            memcpy(room, data[i].data(), data[i].size());
            err = rpm_log_commit(log, data[i].size(), 0, reinterpret_cast<void *>(i + 1), nullptr);
        } else {
            err = loop::append_async(log, data[i], i + 1, flags);
        }
        if (err == 0)
            todo.pop_front();
        return err;
    }

    void run()
    {
        for (uint32_t turn = 0; turn < 5000 && done.size() < data.size() && !stop; turn++) {
            int err = 0;

            if (!todo.empty())
                err = way == Way::Batch      ? send_batch()
                      : way == Way::Blocking ? send_blocking()
                                             : send_async();
            else if (way == Way::More || turn % 50 == 49)
                err = rpm_log_persist(log);
            if (err == RPM_E_BUSY || err == 0)
                poll();
            if (err == RPM_E_BUSY && !batch.empty())
                settle({}); // refused: no byte of it is in the log
            if (lost() || (err != 0 && err != RPM_E_BUSY))
                resume();
        }
        CHECK((done.size() == data.size() || stop));
    }

    // Checks the content of the log: every record that was acknowledged or reported present, each
    // once, and no other.
    void check(rpm_log *reader, uint64_t others = 0)
    {
        std::map<std::string, uint32_t> seen;
        uint64_t strange = 0;

        conn.link->faults = loop::Faults();
        if (lost())
            resume();
        for (const loop::Record &record : loop::read_all(reader))
            seen[record.data]++;
        for (size_t i = 0; i < data.size(); i++) {
            CAPTURE(i);
            CHECK(seen[data[i]] == done.count(i));
            seen.erase(data[i]);
        }
        for (const auto &record : seen)
            strange += record.second;
        CHECK(strange == others);
    }
};

#endif
