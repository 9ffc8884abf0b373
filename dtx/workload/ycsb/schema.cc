/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.cc: the table of YCSB, its keys and values.
 */
#include "workload/ycsb/schema.h"

#include "workload/load_parameters.h"
#include "workload/random.h"
#include "workload/room.h"
#include <dtx/error.h>

#include <cmath>
#include <cstring>

namespace dtx::ycsb
{

namespace
{

constexpr uint32_t kVersion = 1;
constexpr uint64_t kKeysMost = 1ull << 32;

/* The finaliser of splitmix64 and its inverse: multipliers are inverses of each other modulo 2^64.
 */
constexpr uint64_t kMultiply[2] = { 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu };
constexpr uint64_t kUndo[2] = { 0x96de1b173f119089u, 0x319642b2d24d8ec3u };
static_assert(kMultiply[0] * kUndo[0] == 1 && kMultiply[1] * kUndo[1] == 1);

/* Solves y = x ^ x >> bits for x. */
constexpr uint64_t undo_shift(uint64_t y, uint32_t bits)
{
    uint64_t x = y;

    for (uint32_t known = bits; known < 64; known += bits)
        x = y ^ x >> bits;
    return x;
}

/* Most rows of a shard: keys fall into partitions at random, so this adds six standard deviations;
 * and some servers have one partition more than others. */
uint64_t rows_of_shard(const Parameters &parameters)
{
    double all = static_cast<double>(parameters.keys + parameters.room);
    uint32_t partitions = (kPartitions + parameters.servers - 1) / parameters.servers;
    double mean = all * partitions / kPartitions;

    return room_for(static_cast<uint64_t>(mean + 6 * std::sqrt(mean)) + 1);
}

} // namespace

void Parameters::verify() const
{
    const auto refuse = refusals_of("ycsb");

    const auto expect = ranges_of("ycsb");

    refuse(workload < 'a' || workload > 'f', "unknown workload; expected a to f");
    refuse(workload == 'e' && !ordered, "workload e scans, which needs --index ordered");
    expect("keys", keys, 2, kKeysMost);
    expect("value (bytes)", value_bytes, kValueLeast, kValueMost);
    expect("theta (ten-thousandths)", theta, 0, 9999);
    expect("room", room, 0, kKeysMost);
    expect("servers", servers, 1, kPartitions);
}

std::string Parameters::load_parameters() const
{
    return write_load_parameters({ { "keys", keys },
                                   { "value_bytes", value_bytes },
                                   { "ordered", ordered },
                                   { "room", room } });
}

Parameters Parameters::of_database(const std::string &text, uint32_t servers)
{
    LoadParameters kept("ycsb", text);
    Parameters found;

    found.keys = kept.value("keys");
    found.value_bytes = kept.number("value_bytes");
    found.ordered = kept.value("ordered") != 0;
    found.room = kept.value("room");
    found.servers = servers;
    return found;
}

Tables::Tables(const Parameters &parameters) : schema("ycsb", kVersion)
{
    uint64_t rows = 0;

    parameters.verify();
    schema.set_comment(parameters.load_parameters());
    rows = rows_of_shard(parameters);
    records = parameters.ordered
                  ? schema.ordered_table("records", parameters.value_bytes, rows, partition_of)
                  : schema.hash_table("records", parameters.value_bytes, rows, partition_of);
}

uint64_t key_of(uint64_t record)
{
    record = (record ^ record >> 30) * kMultiply[0];
    record = (record ^ record >> 27) * kMultiply[1];
    return record ^ record >> 31;
}

uint64_t record_of(uint64_t key)
{
    key = undo_shift(key, 31) * kUndo[1];
    key = undo_shift(key, 27) * kUndo[0];
    return undo_shift(key, 30);
}

uint32_t partition_of(uint64_t key)
{
    return static_cast<uint32_t>(key >> 56);
}

void make_value(uint64_t key, uint64_t count, std::span<unsigned char> value)
{
    uint64_t chance = seed_of(key, count);

    std::memcpy(value.data(), &count, sizeof(count));
    for (size_t at = sizeof(count); at < value.size(); at += sizeof(uint64_t)) {
        uint64_t word = splitmix64(chance);

        std::memcpy(value.data() + at, &word, std::min(sizeof(word), value.size() - at));
    }
}

uint64_t count_of(std::span<const unsigned char> value)
{
    uint64_t count = 0;

    std::memcpy(&count, value.data(), sizeof(count));
    return count;
}

bool is_value_of(uint64_t key, std::span<const unsigned char> value)
{
    uint64_t chance = seed_of(key, count_of(value));

    for (size_t at = sizeof(uint64_t); at < value.size(); at += sizeof(uint64_t)) {
        uint64_t word = splitmix64(chance);

        if (std::memcmp(value.data() + at, &word, std::min(sizeof(word), value.size() - at)) != 0)
            return false;
    }
    return true;
}

} // namespace dtx::ycsb
