// SPDX-License-Identifier: BSD-3-Clause
// layout_test.cpp: put, get and the check of reserved bytes, of every format that has a table.
extern "C" {
#include "base/assert.h"
#include "wire/call.h"
#include "wire/handshake.h"
#include "wire/head.h"
#include "wire/hello.h"
#include "wire/layout.h"
#include "wire/message.h"
#include "wire/steps.h"
#include "wire/stream.h"
#include "wire/super.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <cstring>
#include <string>
#include <vector>

namespace
{

const rpmi_layout *const ALL[] = {
    &rpmi_super_layout,     &rpmi_dirent_layout,    &rpmi_head_layout,
    &rpmi_hello_layout,     &rpmi_accept_layout,    &rpmi_auth_layout,
    &rpmi_call_layout,      &rpmi_reply_layout,     &rpmi_grant_layout,
    &rpmi_net_hello_layout, &rpmi_challenge_layout, &rpmi_request_layout,
    &rpmi_answer_layout,    &rpmi_msg_head_layout,  &rpmi_accept_msg_layout,
    &rpmi_rpc_layout,       &rpmi_done_layout,      &rpmi_fenced_layout,
    &rpmi_result_layout,    &rpmi_step_layout,      &rpmi_must_read_layout,
    &rpmi_cas_layout,       &rpmi_faa_layout,       &rpmi_steps_answer_layout,
};

const size_t MEMORY = 1024; // more than any of the structs

// Numbers that differ in each byte, texts that fill half of their field.
std::vector<unsigned char> filled(const rpmi_layout &layout)
{
    std::vector<unsigned char> memory(MEMORY);
    unsigned char next = 1;

    for (uint32_t i = 0; i < layout.fields; i++) {
        const rpmi_field &field = layout.field[i];
        uint32_t bytes = field.kind == RPMI_FIELD_TEXT ? field.bytes / 2 : field.bytes;

        if (field.kind == RPMI_FIELD_OWN)
            continue;
        REQUIRE(field.member + field.bytes <= MEMORY);
        for (uint32_t at = 0; at < bytes; at++)
            memory[field.member + at] = next = static_cast<unsigned char>(next % 255 + 1);
    }
    return memory;
}

std::vector<bool> covered(const rpmi_layout &layout)
{
    std::vector<bool> in_field(layout.bytes);

    for (uint32_t i = 0; i < layout.fields; i++)
        for (uint32_t at = 0; at < layout.field[i].bytes; at++)
            in_field.at(layout.field[i].at + at) = true;
    return in_field;
}

} // namespace

TEST_CASE("layout: fields are in order and lie within their format", "[unit]")
{
    for (const rpmi_layout *layout : ALL) {
        uint32_t end = 0;

        CAPTURE(layout->name);
        for (uint32_t i = 0; i < layout->fields; i++) {
            const rpmi_field &field = layout->field[i];

            CAPTURE(field.name);
            REQUIRE(field.at >= end);
            REQUIRE(field.bytes > 0);
            if (field.kind == RPMI_FIELD_NUMBER) {
                REQUIRE(
                    (field.bytes == 1 || field.bytes == 2 || field.bytes == 4 || field.bytes == 8));
                REQUIRE(field.at % field.bytes == 0);
            }
            end = field.at + field.bytes;
        }
        REQUIRE(end <= layout->bytes);
    }
}

TEST_CASE("layout: every field that is put comes back, at its place, little endian", "[unit]")
{
    for (const rpmi_layout *layout : ALL) {
        std::vector<unsigned char> in = filled(*layout);
        std::vector<unsigned char> out(MEMORY);
        std::vector<unsigned char> bytes(layout->bytes, 0xff);

        CAPTURE(layout->name);
        rpmi_layout_put(layout, bytes.data(), in.data());
        REQUIRE(rpmi_layout_get(layout, bytes.data(), out.data()) == nullptr);
        REQUIRE(out == in);
        for (uint32_t i = 0; i < layout->fields; i++) {
            const rpmi_field &field = layout->field[i];

            CAPTURE(field.name);
            for (uint32_t at = 0; at < field.bytes; at++) // as on the machines that are supported
                REQUIRE(bytes[field.at + at] ==
                        (field.kind == RPMI_FIELD_OWN ? 0 : in[field.member + at]));
        }
    }
}

TEST_CASE("layout: each reserved byte in use is refused, no byte of a number is", "[unit]")
{
    for (const rpmi_layout *layout : ALL) {
        std::vector<unsigned char> in = filled(*layout);
        std::vector<unsigned char> out(MEMORY);
        std::vector<unsigned char> bytes(layout->bytes);
        std::vector<bool> in_field = covered(*layout);

        CAPTURE(layout->name);
        rpmi_layout_put(layout, bytes.data(), in.data());
        for (uint32_t at = 0; at < layout->bytes; at++) {
            CAPTURE(at);
            if (in_field[at])
                continue;
            bytes[at] = 1;
            REQUIRE_FALSE(rpmi_layout_is_clean(layout, bytes.data()));
            REQUIRE(std::string(rpmi_layout_get(layout, bytes.data(), out.data())) ==
                    "reserved bytes in use");
            bytes[at] = 0;
        }
        for (uint32_t i = 0; i < layout->fields; i++) {
            if (layout->field[i].kind == RPMI_FIELD_TEXT)
                continue;
            memset(&bytes[layout->field[i].at], 0xff, layout->field[i].bytes);
            REQUIRE(rpmi_layout_get(layout, bytes.data(), out.data()) == nullptr);
        }
    }
}

TEST_CASE("layout: a text without an end, or with bytes behind it, is refused", "[unit]")
{
    for (const rpmi_layout *layout : ALL) {
        std::vector<unsigned char> in = filled(*layout);
        std::vector<unsigned char> out(MEMORY);
        std::vector<unsigned char> bytes(layout->bytes);

        CAPTURE(layout->name);
        for (uint32_t i = 0; i < layout->fields; i++) {
            const rpmi_field &field = layout->field[i];

            if (field.kind != RPMI_FIELD_TEXT)
                continue;
            for (uint32_t at = field.bytes / 2 + 1; at < field.bytes; at++) {
                rpmi_layout_put(layout, bytes.data(), in.data());
                bytes[field.at + at] = 'x';
                REQUIRE(std::string(rpmi_layout_get(layout, bytes.data(), out.data())) ==
                        "an unterminated text");
            }
            memset(&bytes[field.at], 'x', field.bytes);
            REQUIRE(std::string(rpmi_layout_get(layout, bytes.data(), out.data())) ==
                    "an unterminated text");
            memset(&in[field.member], 'x', field.bytes); // ours: a bug
            REQUIRE(death_of([&] { rpmi_layout_put(layout, bytes.data(), in.data()); }) != "");
            in = filled(*layout);
        }
    }
}
