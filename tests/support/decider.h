// SPDX-License-Identifier: BSD-3-Clause
// decider.h: an agent's region of decisions in a world of the device model, where the server's
// machine is the agent's too. The region is gone when the server ends, as an agent's is.
#ifndef TESTS_SUPPORT_DECIDER_H
#define TESTS_SUPPORT_DECIDER_H

#include <librpm.h>

extern "C" {
#include "wire/decision.h"
}

class Decider
{
  public:
    Decider() = default;
    Decider(const Decider &) = delete;
    ~Decider()
    {
        rpm_region_close(&region_);
    }
    int open(rpm_conn *conn)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        rpm_region_close(&region_);
        number_ = 0;
        opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
        opts.bytes = RPMI_DECISIONS_BYTES;
        opts.method = RPM_METHOD_MESSAGE; // the connection's may be for logs alone
        return rpm_region_open(conn, RPMI_DECISIONS_NAME, &opts, &region_);
    }
    void close()
    {
        rpm_region_close(&region_);
    }
    // The line of a decision, with the next number.
    rpmi_decision line(const rpm_decision &wanted)
    {
        return { wanted.epoch,    wanted.log_id,   wanted.head_lsn, wanted.trim_lsn,
                 wanted.last_lsn, wanted.last_sum, ++number_ };
    }
    int write(const rpmi_decision &decision, uint64_t way = 0)
    {
        unsigned char bytes[RPMI_DECISION_BYTES];

        rpmi_decision_put(bytes, &decision);
        return write_bytes(decision.log_id, bytes, way);
    }
    int write_bytes(uint64_t log_id, const void *bytes, uint64_t way = 0)
    {
        return rpm_region_write(region_,
                                rpmi_decision_set(log_id) * RPMI_DECISION_SET_BYTES +
                                    way * RPMI_DECISION_BYTES,
                                bytes, RPMI_DECISION_BYTES);
    }
    // The word by which writers of the log's set ask.
    int asked(uint64_t log_id, uint64_t *word)
    {
        return rpm_region_read(region_,
                               RPMI_DECISION_WORDS_AT + rpmi_decision_set(log_id) * sizeof(*word),
                               word, sizeof(*word));
    }

  private:
    rpm_region *region_ = nullptr;
    uint64_t number_ = 0;
};

#endif
