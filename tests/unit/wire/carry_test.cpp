// SPDX-License-Identifier: BSD-3-Clause
// The proof of a CARRY: only the writer, and the server that granted its claim, can make it.
#include "support/catch.h"

extern "C" {
#include "wire/carry.h"
}
#include <cstring>
#include <librpm/error.h>
#include <string>
#include <vector>

namespace
{

const uint64_t CARRY_KEY[RPMI_CERTIFICATE_KEY_WORDS] = { 1, ~0ull };

rpmi_step carried_step(const std::string &data)
{
    rpmi_step made = {};

    made.kind = RPMI_STEP_CARRY;
    made.len = static_cast<uint16_t>(data.size());
    made.offset = 1 << 20;
    made.log_id = 5;
    made.epoch = 2;
    made.data = data.data();
    return made;
}

std::vector<unsigned char> proven_bytes(const std::string &data, const uint64_t *key = CARRY_KEY)
{
    rpmi_step step = carried_step(data);
    std::vector<unsigned char> bytes(rpmi_step_bytes(&step), 0xee);
    uint32_t len = 0;

    REQUIRE(rpmi_carry_put(bytes.data(), &step, key, &len) == 0);
    CHECK(len == bytes.size());
    return bytes;
}

// As a server takes it from a list.
int judge_carry(const std::vector<unsigned char> &bytes)
{
    rpmi_steps steps;
    rpmi_step step;

    rpmi_steps_begin(&steps, bytes.data(), static_cast<uint32_t>(bytes.size()));
    if (rpmi_steps_next(&steps, &step) != 1 || step.kind != RPMI_STEP_CARRY)
        return RPM_E_PROTO;
    return rpmi_carry_check(&step, CARRY_KEY);
}

} // namespace

TEST_CASE("carry: what the writer proves, the server accepts", "[unit]")
{
    for (size_t n : { 1, 7, 8, 9, 64, 4000 })
        CHECK(judge_carry(proven_bytes(std::string(n, 'r'))) == 0);
}

TEST_CASE("carry: each bit that is changed on the way is noticed", "[unit]")
{
    std::vector<unsigned char> bytes = proven_bytes("five5");

    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
        CAPTURE(bit);
        CHECK(judge_carry(bytes) < 0);
        bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
    CHECK(judge_carry(bytes) == 0);
}

TEST_CASE("carry: a proof under another key is refused", "[unit]")
{
    const uint64_t other[RPMI_CERTIFICATE_KEY_WORDS] = { 1, ~1ull };

    CHECK(judge_carry(proven_bytes("five5", other)) == RPM_E_DENIED);
}

TEST_CASE("carry: the bytes may be where they are to be already", "[unit]")
{
    const std::string data = "thirteen byte";
    std::vector<unsigned char> bytes(RPMI_CARRY_HEAD_BYTES + 16, 0xee);
    rpmi_step step = carried_step(data);
    uint32_t len = 0;

    memcpy(&bytes[RPMI_CARRY_HEAD_BYTES], data.data(), data.size());
    step.data = &bytes[RPMI_CARRY_HEAD_BYTES];
    REQUIRE(rpmi_carry_put(bytes.data(), &step, CARRY_KEY, &len) == 0);
    CHECK(bytes == proven_bytes(data));
}
