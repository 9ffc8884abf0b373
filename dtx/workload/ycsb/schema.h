/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.h: the one table of YCSB: records with a key of 64 bits and a value of some bytes.
 *
 * Records are numbered: those of the load 0 to keys - 1, inserted ones from keys on. A record's key
 * is its number with its bits mixed by a bijection: records with neighbouring numbers are far apart
 * in key order and spread over all servers, and a check computes the number from the key.
 *
 * A value is a function of its key and of how often the record was updated, so a check knows each
 * byte of it: the count in the first 8 bytes, then filling that follows from both.
 *
 * Tests: tests/unit/dtx/workload/ycsb_test.cpp
 */
#ifndef DTX_WORKLOAD_YCSB_SCHEMA_H
#define DTX_WORKLOAD_YCSB_SCHEMA_H

#include <dtx/schema.h>

#include <cstdint>
#include <span>
#include <string>

namespace dtx::ycsb
{

inline constexpr uint32_t kScanMax = 100;     /* records of a scan: 1 to 100, equally likely */
inline constexpr uint32_t kPartitions = 256;  /* by the upper 8 bits of the key */
inline constexpr uint32_t kValueLeast = 8;    /* bytes */
inline constexpr uint32_t kValueMost = 16384; /* a redo record of one value fits in any log */

struct Parameters {
    char workload = 'a';      /* a to f, the core workloads */
    uint64_t keys = 100000;   /* records of the load */
    uint32_t value_bytes = 8; /* of a value */
    bool ordered = false;     /* index: a B+tree, or else a hash table */
    uint32_t theta = 9900;    /* skew of the Zipf distribution, in ten-thousandths; 0: uniform */
    uint64_t room = 100000;   /* records that all runs since the load may insert */
    uint32_t servers = 1;

    /* Throws Error, code 0, that names the parameter. */
    void verify() const;
    /* The text that a database stores, and its inverse. Throws Error, RPM_E_FOREIGN. */
    std::string load_parameters() const;
    static Parameters of_database(const std::string &text, uint32_t servers);
};

struct Tables {
    explicit Tables(const Parameters &parameters);

    Schema schema;
    ByteTable records;
};

uint64_t key_of(uint64_t record);
uint64_t record_of(uint64_t key);
/* The partition of a key: a range of keys, so that most scans access one partition. */
uint32_t partition_of(uint64_t key);

/* Fill @value, of kValueLeast bytes at least, as that of a record updated @count times. */
void make_value(uint64_t key, uint64_t count, std::span<unsigned char> value);
/* How often the record was updated. */
uint64_t count_of(std::span<const unsigned char> value);
/* Is it what make_value() made for that key? */
bool is_value_of(uint64_t key, std::span<const unsigned char> value);

} // namespace dtx::ycsb
#endif
