// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "transport/far.h"
}
#include "support/catch.h"

#include <librpm/error.h>
#include <string>

TEST_CASE("far: each refusal has its own sentence, any other status its name's", "[unit]")
{
    CHECK(std::string(rpmi_far_why(RPM_E_FENCED)) == "a newer writer claimed the log");
    CHECK(std::string(rpmi_far_why(RPM_E_DENIED)) == "the server knows no such key or right");
    CHECK(std::string(rpmi_far_why(RPM_E_RANGE)) == "outside the object");
    CHECK(std::string(rpmi_far_why(RPM_E_IO)) == "the server could not make it durable");
    CHECK(std::string(rpmi_far_why(RPM_E_LOST)) == rpm_strerror(RPM_E_LOST));
}

TEST_CASE("far: ground is the same if all that plans rest on is", "[unit]")
{
    rpm_facts before = rpm_facts_init();
    rpm_facts now = before;

    CHECK(rpmi_far_same_ground(&before, &now));
    for (uint32_t rpm_facts::*field :
         { &rpm_facts::domain, &rpm_facts::methods, &rpm_facts::medium, &rpm_facts::ddio }) {
        now = before;
        now.*field += 1;
        CHECK_FALSE(rpmi_far_same_ground(&before, &now));
    }
    now = before;
    now.port_node = 1;
    CHECK(rpmi_far_same_ground(&before, &now));
}
