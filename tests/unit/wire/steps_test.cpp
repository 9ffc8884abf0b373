// SPDX-License-Identifier: BSD-3-Clause
// Lists of steps and their answers: encoded lists are decoded unchanged, invalid ones are refused,
// and the steps are carried out in order, up to the one that ends the list.
#include "support/catch.h"

extern "C" {
#include "wire/certificate.h"
#include "wire/steps.h"
}
#include <cstring>
#include <functional>
#include <librpm/error.h>
#include <string>
#include <vector>

namespace
{

rpmi_step step(uint8_t kind, uint16_t len, uint8_t flags = 0)
{
    rpmi_step made = {};

    made.kind = kind;
    made.flags = flags;
    made.len = len;
    made.key = 0x01020304;
    made.offset = 0x05060708090a0b0c;
    return made;
}

rpmi_step read_of(uint16_t len)
{
    return step(RPMI_STEP_READ, len);
}

rpmi_step must_read(uint64_t expect)
{
    rpmi_step made = step(RPMI_STEP_READ, 8, RPMI_STEP_MUST);

    made.expect = expect;
    return made;
}

rpmi_step write_of(const std::string &data, uint8_t flags = 0)
{
    rpmi_step made = step(RPMI_STEP_WRITE, static_cast<uint16_t>(data.size()), flags);

    made.data = data.data();
    return made;
}

rpmi_step cas_of(uint64_t expect, uint64_t operand, uint8_t flags = 0)
{
    rpmi_step made = step(RPMI_STEP_CAS, 8, flags);

    made.expect = expect;
    made.operand = operand;
    return made;
}

rpmi_step faa_of(uint64_t operand)
{
    rpmi_step made = step(RPMI_STEP_FAA, 8);

    made.operand = operand;
    return made;
}

rpmi_step prove_of(uint32_t epoch)
{
    rpmi_step made = step(RPMI_STEP_PROVE, RPMI_CERTIFICATE_BYTES);

    made.key = 0;
    made.log_id = ~0ull;
    made.end_lsn = 1ull << 62;
    made.epoch = epoch;
    return made;
}

rpmi_step carry_of(const std::string &data)
{
    rpmi_step made = step(RPMI_STEP_CARRY, static_cast<uint16_t>(data.size()));

    made.key = 0;
    made.log_id = ~0ull;
    made.epoch = 3;
    made.data = data.data();
    return made;
}

rpmi_step watch_of(uint64_t expect, uint64_t wait_us = 1000)
{
    rpmi_step made = step(RPMI_STEP_WATCH, 8);

    made.offset = 64;
    made.expect = expect;
    made.operand = wait_us;
    return made;
}

rpmi_step sum_of(uint64_t range, uint64_t seed = 0)
{
    rpmi_step made = step(RPMI_STEP_SUM, 8);

    made.range = range;
    made.operand = seed;
    return made;
}

rpmi_step compare_of(uint64_t range, uint64_t other_offset = 0, uint32_t other_key = 0)
{
    rpmi_step made = step(RPMI_STEP_COMPARE, 8);

    made.range = range;
    made.other_offset = other_offset;
    made.other_key = other_key;
    return made;
}

struct List {
    std::vector<unsigned char> bytes;
    uint32_t answer = RPMI_STEPS_ANSWER_HEAD;

    explicit List(const std::vector<rpmi_step> &steps)
    {
        for (const rpmi_step &one : steps)
            add(one);
    }
    void add(const rpmi_step &one)
    {
        size_t at = bytes.size();

        bytes.resize(at + rpmi_step_bytes(&one), 0xee);
        REQUIRE(rpmi_step_put(&bytes[at], &one) == bytes.size() - at);
        answer += rpmi_step_result_bytes(&one);
    }
    int check() const
    {
        return rpmi_steps_check(bytes.data(), bytes.size(), answer);
    }
};

const std::string FIVE = "12345";

std::vector<rpmi_step> one_of_each()
{
    return { watch_of(9),
             read_of(1),
             read_of(3000),
             must_read(~0ull),
             write_of(FIVE, RPMI_STEP_DURABLE | RPMI_STEP_CACHED),
             cas_of(1, 1ull << 63),
             cas_of(2, 3, RPMI_STEP_MUST),
             faa_of(7),
             prove_of(3),
             carry_of(FIVE),
             sum_of(77, ~0ull),
             compare_of(78, ~0ull, ~0u) };
}

// Records the steps that it is asked to carry out.
struct Stepper {
    std::vector<uint8_t> judged;
    std::vector<uint8_t> done;
    std::function<int(const rpmi_step &)> on_may;
    std::function<int(const rpmi_step &)> on_act;
    uint64_t word = 0;
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper table = { this, room, may, act };

    static int may(void *context, const rpmi_step *step)
    {
        Stepper *ours = static_cast<Stepper *>(context);

        CHECK(ours->done.empty());
        ours->judged.push_back(step->kind);
        return ours->on_may ? ours->on_may(*step) : 0;
    }
    static int act(void *context, const rpmi_step *step, void *result)
    {
        Stepper *ours = static_cast<Stepper *>(context);

        ours->done.push_back(step->kind);
        if (!rpmi_step_is_silent(step) && step->len == 8)
            memcpy(result, &ours->word, 8);
        else if (step->kind == RPMI_STEP_READ)
            memset(result, 'r', step->len);
        return ours->on_act ? ours->on_act(*step) : 0;
    }
};

} // namespace

TEST_CASE("steps: the steps of an encoded list are walked unchanged", "[unit]")
{
    List list(one_of_each());
    std::vector<rpmi_step> all = one_of_each();
    rpmi_steps steps;
    rpmi_step got;
    uint32_t result = RPMI_STEPS_ANSWER_HEAD;

    CHECK(list.check() == 0);
    rpmi_steps_begin(&steps, list.bytes.data(), static_cast<uint32_t>(list.bytes.size()));
    for (const rpmi_step &sent : all) {
        REQUIRE(rpmi_steps_next(&steps, &got) == 1);
        CHECK(got.kind == sent.kind);
        CHECK(got.flags == sent.flags);
        CHECK(got.len == sent.len);
        CHECK(got.key == sent.key);
        CHECK(got.offset == sent.offset);
        CHECK(got.expect == sent.expect);
        CHECK(got.operand == sent.operand);
        CHECK(got.range == sent.range);
        CHECK(got.log_id == sent.log_id);
        CHECK(got.end_lsn == sent.end_lsn);
        CHECK(got.epoch == sent.epoch);
        CHECK(steps.result == result);
        result += rpmi_step_result_bytes(&sent);
        if (sent.kind == RPMI_STEP_WRITE)
            CHECK(memcmp(got.data, FIVE.data(), 5) == 0);
    }
    CHECK(rpmi_steps_next(&steps, &got) == 0);
    CHECK(steps.taken == all.size());
    CHECK(steps.result_to == list.answer);
    CHECK(list.bytes.size() % 8 == 0);
}

TEST_CASE("steps: a list cut anywhere but between two steps is refused", "[unit]")
{
    List list(one_of_each());
    std::vector<size_t> ends;
    size_t at = 0;

    for (const rpmi_step &one : one_of_each())
        ends.push_back(at += rpmi_step_bytes(&one));
    for (size_t len = 0; len < list.bytes.size(); len++) {
        std::vector<unsigned char> cut(list.bytes.begin(), list.bytes.begin() + len);
        bool between = std::find(ends.begin(), ends.end(), len) != ends.end();
        rpmi_steps steps;
        rpmi_step got;
        int more;

        rpmi_steps_begin(&steps, cut.data(), static_cast<uint32_t>(len));
        while ((more = rpmi_steps_next(&steps, &got)) > 0)
            ;
        CAPTURE(len);
        CHECK(more == (between || len == 0 ? 0 : RPM_E_PROTO));
        CHECK(rpmi_steps_check(cut.data(), len, list.answer) == RPM_E_PROTO); // the answer differs
    }
}

namespace
{

// A sound step, of which one byte is changed.
struct Malformed {
    const char *what;
    rpmi_step sound;
    size_t at;
    unsigned char byte;
};

void check_refused(const Malformed &row)
{
    List list({ row.sound });

    CAPTURE(row.what);
    CHECK(list.check() == 0);
    list.bytes[row.at] = row.byte;
    CHECK(list.check() == RPM_E_PROTO);
    rpmi_steps steps;
    rpmi_step got;
    rpmi_steps_begin(&steps, list.bytes.data(), static_cast<uint32_t>(list.bytes.size()));
    CHECK(rpmi_steps_next(&steps, &got) == RPM_E_PROTO);
}

} // namespace

TEST_CASE("steps: malformed lists are refused", "[unit]")
{
    const std::string data(40, 'd');
    const Malformed rows[] = {
        { "kind 0", read_of(8), 0, 0 },
        { "kind 10", read_of(8), 0, 10 },
        { "kind 255", read_of(8), 0, 255 },
        { "a MUST of 16 bytes", must_read(0), 2, 16 },
        { "a durable READ", read_of(8), 1, RPMI_STEP_DURABLE },
        { "an unknown flag", read_of(8), 1, 2 },
        { "a WRITE that must", write_of(data), 1, RPMI_STEP_MUST },
        { "a FAA that must", faa_of(1), 1, RPMI_STEP_MUST },
        { "a durable CAS", cas_of(0, 1), 1, RPMI_STEP_DURABLE },
        { "a CAS of 4 bytes", cas_of(0, 1), 2, 4 },
        { "a FAA of 264 bytes", faa_of(1), 3, 1 },
        { "a READ of none", read_of(8), 2, 0 },
        { "a WRITE of none", write_of(data), 2, 0 },
        { "a WRITE longer than the list", write_of(data), 2, 41 },
        { "a WRITE much longer", write_of(data), 3, 255 },
        { "a WRITE with bytes behind", write_of(FIVE), 21, 1 },
        { "a PROVE that must", prove_of(1), 1, RPMI_STEP_MUST },
        { "a durable PROVE", prove_of(1), 1, RPMI_STEP_DURABLE },
        { "a PROVE with a result of 8 bytes", prove_of(1), 2, 8 },
        { "a PROVE with a key", prove_of(1), 4, 1 },
        { "a PROVE with bytes behind", prove_of(1), 39, 1 },
        { "a CARRY that must", carry_of(data), 1, RPMI_STEP_MUST },
        { "a durable CARRY", carry_of(data), 1, RPMI_STEP_DURABLE },
        { "a CARRY of none", carry_of(data), 2, 0 },
        { "a CARRY longer than the list", carry_of(data), 2, 41 },
        { "a CARRY with a key", carry_of(data), 4, 1 },
        { "a CARRY with reserved bytes", carry_of(data), 28, 1 },
        { "a CARRY with bytes behind", carry_of(FIVE), 53, 1 },
        { "a WATCH that must", watch_of(1), 1, RPMI_STEP_MUST },
        { "a WATCH of 16 bytes", watch_of(1), 2, 16 },
        { "a WATCH of a word that is not aligned", watch_of(1), 8, 68 },
        { "a WATCH for no time", watch_of(1, 1), 24, 0 },
        { "a WATCH for more than a second", watch_of(1, RPMI_WATCH_US_MAX), 24, 0x41 },
        { "a WATCH for years", watch_of(1), 31, 1 },
    };

    for (const Malformed &row : rows)
        check_refused(row);
}

TEST_CASE("steps: malformed SUMs and COMPAREs are refused", "[unit]")
{
    const Malformed rows[] = {
        { "a SUM that must", sum_of(1), 1, RPMI_STEP_MUST },
        { "a durable SUM", sum_of(1), 1, RPMI_STEP_DURABLE },
        { "a SUM with a result of 4 bytes", sum_of(1), 2, 4 },
        { "a SUM of no bytes", sum_of(1), 16, 0 },
        { "a SUM of more than 1 MiB", sum_of(RPMI_SUM_BYTES_MAX), 16, 1 },
        { "a SUM of 4 GiB and a byte", sum_of(1), 20, 1 },
        { "a COMPARE that must", compare_of(1), 1, RPMI_STEP_MUST },
        { "a durable COMPARE", compare_of(1), 1, RPMI_STEP_DURABLE },
        { "a COMPARE with a result of 4 bytes", compare_of(1), 2, 4 },
        { "a COMPARE of no bytes", compare_of(1), 16, 0 },
        { "a COMPARE of more than 512 KiB", compare_of(RPMI_SUM_BYTES_MAX / 2), 16, 1 },
        { "a COMPARE of 4 GiB and a byte", compare_of(1), 20, 1 },
        { "a COMPARE of 2^63 bytes and one", compare_of(1), 23, 0x80 },
        { "a COMPARE with reserved bytes", compare_of(1), 39, 1 },
    };

    for (const Malformed &row : rows)
        check_refused(row);
}

TEST_CASE("steps: a WATCH is the first step of its list, and the only WATCH", "[unit]")
{
    CHECK(List({ watch_of(1) }).check() == 0);
    CHECK(List({ watch_of(1), read_of(64), faa_of(1) }).check() == 0);
    CHECK(List({ read_of(64), watch_of(1) }).check() == RPM_E_PROTO);
    CHECK(List({ watch_of(1), watch_of(1) }).check() == RPM_E_PROTO);
}

TEST_CASE("steps: the SUMs of a list have 1 MiB at most together", "[unit]")
{
    const uint64_t most = RPMI_SUM_BYTES_MAX;

    CHECK(List({ sum_of(most) }).check() == 0);
    CHECK(List({ sum_of(most - 1), read_of(8), sum_of(1) }).check() == 0);
    CHECK(List({ sum_of(most - 1), read_of(8), sum_of(2) }).check() == RPM_E_PROTO);
    CHECK(List({ sum_of(most), sum_of(1) }).check() == RPM_E_PROTO);
    CHECK(List(std::vector<rpmi_step>(RPMI_STEPS_MAX, sum_of(most / 64))).check() == 0);
    CHECK(List(std::vector<rpmi_step>(RPMI_STEPS_MAX, sum_of(most / 64 + 1))).check() ==
          RPM_E_PROTO);
}

TEST_CASE("steps: both ranges of a COMPARE count towards the 1 MiB", "[unit]")
{
    const uint64_t most = RPMI_SUM_BYTES_MAX;

    CHECK(List({ compare_of(most / 2) }).check() == 0);
    CHECK(List({ compare_of(most / 2), sum_of(1) }).check() == RPM_E_PROTO);
    CHECK(List({ compare_of(most / 2 - 1), sum_of(2) }).check() == 0);
    CHECK(List({ sum_of(most - 2), compare_of(1) }).check() == 0);
    CHECK(List({ sum_of(most - 2), compare_of(2) }).check() == RPM_E_PROTO);
    CHECK(List({ sum_of(most - 1), compare_of(1) }).check() == RPM_E_PROTO);
    CHECK(List(std::vector<rpmi_step>(RPMI_STEPS_MAX, compare_of(most / 128))).check() == 0);
}

TEST_CASE("steps: lists and answers of invalid length are refused", "[unit]")
{
    CHECK(List(std::vector<rpmi_step>(RPMI_STEPS_MAX, read_of(1))).check() == 0);
    CHECK(List(std::vector<rpmi_step>(RPMI_STEPS_MAX + 1, read_of(1))).check() == RPM_E_PROTO);
    CHECK(List({}).check() == RPM_E_PROTO);
    CHECK(List({ read_of(4088) }).check() == 0);
    CHECK(List({ read_of(4089) }).check() == RPM_E_PROTO);
    CHECK(List({ read_of(65535) }).check() == RPM_E_PROTO);
    CHECK(List({ write_of(std::string(4080, 'x')) }).check() == 0);
    CHECK(List({ write_of(std::string(4081, 'x')) }).check() == RPM_E_PROTO);

    List list({ read_of(9), faa_of(1), write_of(FIVE) });
    REQUIRE(list.answer == 8 + 16 + 8);
    for (uint64_t answer : { uint64_t{ 0 }, uint64_t{ 31 }, uint64_t{ 33 }, uint64_t{ 40 },
                             uint64_t{ RPMI_STEPS_BYTES }, UINT64_MAX })
        CHECK(rpmi_steps_check(list.bytes.data(), list.bytes.size(), answer) == RPM_E_PROTO);
    CHECK(rpmi_steps_check(list.bytes.data(), UINT64_MAX, 32) == RPM_E_PROTO);
}

TEST_CASE("steps: an answer has the count of steps done, at most those of the list", "[unit]")
{
    unsigned char bytes[RPMI_STEPS_ANSWER_HEAD];
    uint32_t done = 99;

    rpmi_steps_answer_put(bytes, 5);
    CHECK(rpmi_steps_answer_get(bytes, 5, &done) == 0);
    CHECK(done == 5);
    done = 99;
    CHECK(rpmi_steps_answer_get(bytes, 4, &done) == RPM_E_PROTO);
    bytes[7] = 1;
    CHECK(rpmi_steps_answer_get(bytes, 5, &done) == RPM_E_PROTO);
    CHECK(done == 99);
}

TEST_CASE("steps: all are checked before the first one is carried out", "[unit]")
{
    List list(one_of_each());
    std::vector<unsigned char> answer(list.answer, 0xee);
    Stepper stepper;

    stepper.on_may = [](const rpmi_step &one) {
        return one.kind == RPMI_STEP_FAA ? RPM_E_FENCED : 0;
    };
    CHECK(rpmi_steps_walk(&stepper.table, list.bytes.data(), list.bytes.size(), answer.data(),
                          answer.size()) == RPM_E_FENCED);
    CHECK(stepper.judged.size() == 8);
    CHECK(stepper.done.empty());
    CHECK(answer == std::vector<unsigned char>(list.answer, 0xee));
    list.bytes[0] = 77; // nor is anything judged of a list that cannot be
    stepper.judged.clear();
    CHECK(rpmi_steps_walk(&stepper.table, list.bytes.data(), list.bytes.size(), answer.data(),
                          answer.size()) == RPM_E_PROTO);
    CHECK(stepper.judged.empty());
}

TEST_CASE("steps: a list ends at the first MUST that finds something else, or at a WATCH that "
          "finds the same",
          "[unit]")
{
    struct {
        std::vector<rpmi_step> steps;
        uint64_t word;
        uint32_t done;
        size_t acted;
    } rows[] = {
        { { faa_of(1), cas_of(5, 6), read_of(8) }, 9, 3, 3 },
        { { faa_of(1), cas_of(5, 6, RPMI_STEP_MUST), read_of(8) }, 5, 3, 3 },
        { { faa_of(1), cas_of(5, 6, RPMI_STEP_MUST), read_of(8) }, 6, 1, 2 },
        { { must_read(0), write_of(FIVE) }, 0, 2, 2 },
        { { must_read(0), write_of(FIVE) }, 1, 0, 1 },
        { { read_of(8), must_read(3) }, 2, 1, 2 },
        { { watch_of(5), read_of(8) }, 6, 2, 2 },
        { { watch_of(5), read_of(8) }, 5, 0, 1 }, // the time is over, and nothing has changed
        { { watch_of(5) }, 5, 0, 1 },
    };

    for (const auto &row : rows) {
        List list(row.steps);
        std::vector<unsigned char> answer(list.answer, 0xee);
        Stepper stepper;
        uint32_t done = 99;
        uint64_t found = 0;

        CAPTURE(&row - rows);
        stepper.word = row.word;
        REQUIRE(rpmi_steps_walk(&stepper.table, list.bytes.data(), list.bytes.size(), answer.data(),
                                answer.size()) == 0);
        REQUIRE(rpmi_steps_answer_get(answer.data(), 99, &done) == 0);
        CHECK(done == row.done);
        CHECK(stepper.done.size() == row.acted);
        memcpy(&found, &answer[8], 8);
        CHECK(found == row.word);
        if (row.acted < row.steps.size()) // a result that was not returned is zeros, not old bytes
            CHECK((list.answer == 8 + 8 * row.acted || answer[8 + 8 * row.acted] == 0));
    }
}

TEST_CASE("steps: a step that cannot be carried out ends the list with its reason", "[unit]")
{
    List list({ faa_of(1), read_of(100), faa_of(2) });
    std::vector<unsigned char> answer(list.answer);
    Stepper stepper;

    stepper.on_act = [](const rpmi_step &one) { return one.len == 100 ? RPM_E_IO : 0; };
    CHECK(rpmi_steps_walk(&stepper.table, list.bytes.data(), list.bytes.size(), answer.data(),
                          answer.size()) == RPM_E_IO);
    CHECK(stepper.done.size() == 2);
}
