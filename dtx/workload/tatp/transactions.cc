/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transactions.cc: the seven transactions, as the SQL statements of the specification define them.
 */
#include "workload/tatp/transactions.h"

#include <cstring>

namespace dtx::tatp
{

Task<bool> Transactions::run(Txn &txn, const Input &input, Change &change)
{
    change = Change{};
    switch (input.kind) {
    case kGetSubscriberData:
        return get_subscriber_data(txn, input, change);
    case kGetNewDestination:
        return get_new_destination(txn, input, change);
    case kGetAccessData:
        return get_access_data(txn, input, change);
    case kUpdateSubscriberData:
        return update_subscriber_data(txn, input, change);
    case kUpdateLocation:
        return update_location(txn, input, change);
    case kInsertCallForwarding:
        return insert_call_forwarding(txn, input, change);
    default:
        return delete_call_forwarding(txn, input, change);
    }
}

Task<uint32_t> Transactions::subscriber_by_digits(Txn &txn, const Input &input)
{
    auto found = co_await txn.read(tables_.number, input.s_id);

    co_return need(found, "a subscriber's number is missing").s_id;
}

Task<bool> Transactions::get_subscriber_data(Txn &txn, const Input &input, Change &change)
{
    auto subscriber = co_await txn.read(tables_.subscriber, input.s_id);

    need(subscriber, "a subscriber is missing");
    change.found = 1;
    co_return true;
}

Task<bool> Transactions::get_new_destination(Txn &txn, const Input &input, Change &change)
{
    auto facility = co_await txn.read(tables_.facility, facility_key(input.s_id, input.type));

    if (!facility || facility->is_active == 0)
        co_return true;
    for (uint32_t start = 0; start <= input.start_time; start += 8) {
        uint64_t key = forwarding_key(input.s_id, input.type, start);
        auto forwarding = co_await txn.read(tables_.forwarding, key);

        if (forwarding && input.end_time < forwarding->end_time)
            change.found++;
    }
    co_return true;
}

Task<bool> Transactions::get_access_data(Txn &txn, const Input &input, Change &change)
{
    uint64_t key = access_info_key(input.s_id, input.type);
    auto access_info = co_await txn.read(tables_.access_info, key);

    change.found = access_info ? 1 : 0;
    co_return true;
}

Task<bool> Transactions::update_subscriber_data(Txn &txn, const Input &input, Change &change)
{
    auto found = co_await txn.read(tables_.subscriber, input.s_id);
    Subscriber subscriber = need(found, "a subscriber is missing");

    change.bits = int64_t{ input.bit } - subscriber.bit[0];
    subscriber.bit[0] = input.bit;
    co_await txn.write(tables_.subscriber, input.s_id, subscriber);

    uint64_t key = facility_key(input.s_id, input.type);
    auto parent = co_await txn.read(tables_.facility, key);

    if (!parent)
        co_return !parameters_.abort_rule;
    SpecialFacility facility = *parent;

    change.found = 1;
    change.data_a = int64_t{ input.data_a } - facility.data_a;
    facility.data_a = input.data_a;
    co_return co_await txn.write(tables_.facility, key, facility);
}

Task<bool> Transactions::update_location(Txn &txn, const Input &input, Change &change)
{
    uint32_t s_id = co_await subscriber_by_digits(txn, input);
    auto found = co_await txn.read(tables_.subscriber, s_id);
    Subscriber subscriber = need(found, "a subscriber is missing");

    change.found = 1;
    change.locations = int64_t{ input.location } - subscriber.vlr_location;
    subscriber.vlr_location = input.location;
    co_return co_await txn.write(tables_.subscriber, s_id, subscriber);
}

Task<bool> Transactions::insert_call_forwarding(Txn &txn, const Input &input, Change &change)
{
    uint32_t s_id = co_await subscriber_by_digits(txn, input);
    bool parent = false;

    /* The statement reads the types of all facilities of the subscriber, but inserts the drawn
     * type. */
    for (uint32_t sf_type = 1; sf_type <= 4; sf_type++) {
        auto facility = co_await txn.read(tables_.facility, facility_key(s_id, sf_type));

        parent = parent || (facility && sf_type == input.type);
    }
    if (!parent)
        co_return false;
    CallForwarding row{};

    row.end_time = static_cast<uint8_t>(input.end_time);
    std::memcpy(row.numberx, input.numberx, sizeof(row.numberx));
    change.found = 1;
    change.forwarding = 1;
    co_return co_await txn.insert(tables_.forwarding,
                                  forwarding_key(s_id, input.type, input.start_time), row);
}

Task<bool> Transactions::delete_call_forwarding(Txn &txn, const Input &input, Change &change)
{
    uint32_t s_id = co_await subscriber_by_digits(txn, input);
    bool erased =
        co_await txn.erase(tables_.forwarding, forwarding_key(s_id, input.type, input.start_time));

    change.found = erased ? 1 : 0;
    change.forwarding = erased ? -1 : 0;
    co_return erased;
}

} // namespace dtx::tatp
