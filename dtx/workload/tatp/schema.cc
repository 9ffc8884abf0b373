/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.cc: the tables of TATP.
 */
#include "workload/tatp/schema.h"

#include "workload/load_parameters.h"
#include "workload/room.h"
#include <dtx/address.h>
#include <dtx/error.h>

namespace dtx::tatp
{

namespace
{

constexpr uint32_t kVersion = 1;
constexpr uint32_t kSubscribersMax = 1u << 30;

uint32_t by_subscriber(uint64_t key)
{
    return static_cast<uint32_t>(key);
}
uint32_t by_type(uint64_t key)
{
    return static_cast<uint32_t>(key >> 8);
}
uint32_t by_start(uint64_t key)
{
    return static_cast<uint32_t>(key >> 16);
}

/* Rows are compared and checksummed as bytes, so they must not have padding. */
static_assert(std::has_unique_object_representations_v<Subscriber>);
static_assert(std::has_unique_object_representations_v<SubscriberNumber>);
static_assert(std::has_unique_object_representations_v<AccessInfo>);
static_assert(std::has_unique_object_representations_v<SpecialFacility>);
static_assert(std::has_unique_object_representations_v<CallForwarding>);

} // namespace

void Parameters::verify() const
{
    const auto expect = ranges_of("tatp");

    expect("subscribers", subscribers, 1, kSubscribersMax);
    expect("servers", servers, 1, kShardsMax);
}

std::string Parameters::load_parameters() const
{
    return write_load_parameters({ { "subscribers", subscribers }, { "load_seed", load_seed } });
}

Parameters Parameters::of_database(const std::string &text, uint32_t servers)
{
    LoadParameters kept("tatp", text);
    Parameters found;

    found.subscribers = kept.number("subscribers");
    found.load_seed = kept.value("load_seed");
    found.servers = servers;
    return found;
}

Tables::Tables(const Parameters &parameters) : schema("tatp", kVersion)
{
    uint64_t each = 0;

    parameters.verify();
    schema.set_comment(parameters.load_parameters());
    each = (parameters.subscribers + parameters.servers - 1) / parameters.servers;
    subscriber = schema.hash_table<Subscriber>("subscriber", room_for(each), by_subscriber);
    number =
        schema.hash_table<SubscriberNumber>("subscriber_number", room_for(each), by_subscriber);
    access_info = schema.hash_table<AccessInfo>("access_info", room_for(4 * each), by_type);
    facility = schema.hash_table<SpecialFacility>("special_facility", room_for(4 * each), by_type);
    /* Four facilities with three start times each, the maximum. */
    forwarding =
        schema.hash_table<CallForwarding>("call_forwarding", room_for(12 * each), by_start);
}

} // namespace dtx::tatp
