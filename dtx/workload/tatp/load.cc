/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.cc: generates subscribers and inserts them, in shuffled order.
 */
#include "workload/tatp/load.h"

#include "workload/random.h"
#include "workload/tatp/input.h"

#include <algorithm>

namespace dtx::tatp
{

namespace
{

constexpr uint32_t kBatch = 40;
constexpr uint32_t kPiece = 500; /* subscribers of a piece */
constexpr uint32_t kCoroutines = 4;

template <size_t N> void put_letters(char (&letters)[N], Random &random)
{
    for (char &letter : letters)
        letter = static_cast<char>('A' + random.below(26));
}

uint8_t byte(Random &random)
{
    return static_cast<uint8_t>(random.below(256));
}

Subscriber subscriber_of(uint32_t s_id, Random &random)
{
    Subscriber row{};

    row.s_id = s_id;
    put_digits(row.sub_nbr, s_id);
    for (int i = 0; i < 10; i++) {
        row.bit[i] = static_cast<uint8_t>(random.below(2));
        row.hex[i] = static_cast<uint8_t>(random.below(16));
        row.byte2[i] = byte(random);
    }
    row.msc_location = random.between(1, UINT32_MAX);
    row.vlr_location = random.between(1, UINT32_MAX);
    return row;
}

/* 1 to 4 different types of 1 to 4, or 0 to 3 of 0 to 2. */
std::vector<uint32_t> choose(Random &random, uint32_t count, uint32_t first, uint32_t last)
{
    std::vector<uint32_t> all;

    for (uint32_t i = first; i <= last; i++)
        all.push_back(i);
    random.shuffle(all.data(), all.size());
    all.resize(count);
    return all;
}

void add_forwarding(Opening &opening, uint32_t sf_type, Random &random)
{
    for (uint32_t third : choose(random, random.between(0, 3), 0, 2)) {
        CallForwarding row{};

        row.end_time = static_cast<uint8_t>(third * 8 + random.between(1, 8));
        put_digits(row.numberx, random.below(1000000000000000ull));
        opening.forwarding.emplace_back(forwarding_key(opening.subscriber.s_id, sf_type, third * 8),
                                        row);
    }
}

Task<void> load_subscribers(Session &session, const Parameters &parameters, const Tables &tables,
                            std::vector<uint32_t> ids)
{
    Loader<Subscriber> subscribers(session, tables.subscriber, kBatch);
    Loader<SubscriberNumber> numbers(session, tables.number, kBatch);
    Loader<AccessInfo> access_info(session, tables.access_info, kBatch);
    Loader<SpecialFacility> facility(session, tables.facility, kBatch);
    Loader<CallForwarding> forwarding(session, tables.forwarding, kBatch);

    for (uint32_t s_id : ids) {
        Opening opening = opening_of(parameters, s_id);

        co_await subscribers.add(s_id, opening.subscriber);
        co_await numbers.add(s_id, SubscriberNumber{ s_id });
        for (const auto &[key, row] : opening.access_info)
            co_await access_info.add(key, row);
        for (const auto &[key, row] : opening.facility)
            co_await facility.add(key, row);
        for (const auto &[key, row] : opening.forwarding)
            co_await forwarding.add(key, row);
    }
    co_await subscribers.flush();
    co_await numbers.flush();
    co_await access_info.flush();
    co_await facility.flush();
    co_await forwarding.flush();
}

} // namespace

Opening opening_of(const Parameters &parameters, uint32_t s_id)
{
    Random random(seed_of(parameters.load_seed, s_id));
    Opening opening;

    opening.subscriber = subscriber_of(s_id, random);
    for (uint32_t ai_type : choose(random, random.between(1, 4), 1, 4)) {
        AccessInfo row{ byte(random), byte(random), {}, {} };

        put_letters(row.data3, random);
        put_letters(row.data4, random);
        opening.access_info.emplace_back(access_info_key(s_id, ai_type), row);
    }
    for (uint32_t sf_type : choose(random, random.between(1, 4), 1, 4)) {
        SpecialFacility row{};

        row.is_active = random.chance(8500) ? 1 : 0;
        row.error_cntrl = byte(random);
        row.data_a = byte(random);
        put_letters(row.data_b, random);
        opening.facility.emplace_back(facility_key(s_id, sf_type), row);
        add_forwarding(opening, sf_type, random);
    }
    return opening;
}

void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share)
{
    std::vector<uint32_t> ids;
    std::vector<Piece> pieces;
    Random random(seed_of(parameters.load_seed, 0));

    for (uint32_t s_id = 1; s_id <= parameters.subscribers; s_id++)
        ids.push_back(s_id);
    random.shuffle(ids.data(), ids.size());
    for (size_t first = size_t{ kPiece } * share.part; first < ids.size();
         first += size_t{ kPiece } * share.parts) {
        size_t end = std::min(first + kPiece, ids.size());
        std::vector<uint32_t> some(ids.begin() + static_cast<ptrdiff_t>(first),
                                   ids.begin() + static_cast<ptrdiff_t>(end));

        pieces.push_back([&session, &parameters, &tables, some] {
            return load_subscribers(session, parameters, tables, some);
        });
    }
    load_pieces(session, pieces, kCoroutines, share);
}

} // namespace dtx::tatp
