/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.h: TATP: the home location register of a telephone network. Subscribers are numbered from
 * 1; all rows of subscriber s are in partition s.
 *
 * Tests: tests/unit/dtx/workload/tatp_test.cpp
 */
#ifndef DTX_WORKLOAD_TATP_SCHEMA_H
#define DTX_WORKLOAD_TATP_SCHEMA_H

#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace dtx::tatp
{

struct Subscriber {
    uint32_t s_id;
    uint32_t msc_location;
    uint32_t vlr_location;
    uint8_t bit[10];
    uint8_t hex[10];
    uint8_t byte2[10];
    char sub_nbr[15];
    char unused[3];
};

/* By the 15 digits of a subscriber's number, as a number. */
struct SubscriberNumber {
    uint32_t s_id;
};

struct AccessInfo {
    uint8_t data1;
    uint8_t data2;
    char data3[3];
    char data4[5];
};

struct SpecialFacility {
    uint8_t is_active;
    uint8_t error_cntrl;
    uint8_t data_a;
    char data_b[5];
};

struct CallForwarding {
    uint8_t end_time;
    char numberx[15];
};

struct Parameters {
    uint32_t subscribers = 100000;
    bool abort_rule = false; /* of UPDATE_SUBSCRIBER_DATA without a special facility */
    bool uniform = false;    /* draw subscribers uniformly, against the specification */
    uint32_t servers = 1;
    uint64_t load_seed = 1;

    /* Throws Error that names the parameter out of range. */
    void verify() const;
    /* The text that a database stores, and its inverse. Throws Error, RPM_E_FOREIGN. */
    std::string load_parameters() const;
    static Parameters of_database(const std::string &text, uint32_t servers);
};

constexpr uint64_t access_info_key(uint32_t s_id, uint32_t ai_type)
{
    return uint64_t{ s_id } << 8 | ai_type;
}
constexpr uint64_t facility_key(uint32_t s_id, uint32_t sf_type)
{
    return uint64_t{ s_id } << 8 | sf_type;
}
constexpr uint64_t forwarding_key(uint32_t s_id, uint32_t sf_type, uint32_t start_time)
{
    return uint64_t{ s_id } << 16 | uint64_t{ sf_type } << 8 | start_time;
}

struct Tables {
    explicit Tables(const Parameters &parameters);

    Schema schema;
    Table<Subscriber> subscriber;
    Table<SubscriberNumber> number;
    Table<AccessInfo> access_info;
    Table<SpecialFacility> facility;
    Table<CallForwarding> forwarding;
};

} // namespace dtx::tatp
#endif
