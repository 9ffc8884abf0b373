/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h: TATP: the mix of its seven transactions and their parameters.
 */
#ifndef DTX_WORKLOAD_TATP_INPUT_H
#define DTX_WORKLOAD_TATP_INPUT_H

#include "workload/random.h"
#include "workload/tatp/schema.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtx::tatp
{

enum Kind : uint32_t {
    kGetSubscriberData,
    kGetNewDestination,
    kGetAccessData,
    kUpdateSubscriberData,
    kUpdateLocation,
    kInsertCallForwarding,
    kDeleteCallForwarding,
    kKinds
};

const std::vector<std::string> &kind_names();

struct Input {
    Kind kind;
    uint32_t s_id;       /* for sub_nbr, the number in 15 digits */
    uint32_t type;       /* of access info or of special facility: 1 to 4 */
    uint32_t start_time; /* 0, 8 or 16 */
    uint32_t end_time;   /* GET_NEW_DESTINATION: 1 to 24; INSERT: start + 1 to start + 8 */
    uint32_t location;
    uint8_t bit;
    uint8_t data_a;
    char numberx[15];
};

/* The constant A of the skewed draw of subscribers. */
constexpr uint32_t skew_of(uint32_t subscribers)
{
    return subscribers <= 1000000 ? 65535 : subscribers <= 10000000 ? 1048575 : 2097151;
}

class Inputs
{
  public:
    Inputs(const Parameters &parameters, uint64_t seed) : parameters_(parameters), random_(seed) {}
    Input next();

  private:
    Kind kind();
    uint32_t subscriber();

    Parameters parameters_;
    Random random_;
};

/* A subscriber's number as 15 digits. */
void put_digits(char (&digits)[15], uint64_t number);

} // namespace dtx::tatp
#endif
