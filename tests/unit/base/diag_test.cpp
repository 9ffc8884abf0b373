// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/diag.h"
}
#include "support/catch.h"

#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using Heard = std::vector<std::pair<rpm_diag_level, std::string>>;

static void listen(void *context, rpm_diag_level level, const char *text)
{
    static_cast<Heard *>(context)->emplace_back(level, text);
}

// Standard error of a new process with this LIBRPM_DIAG, because a process reads the variable once.
static std::string stderr_of_child(const char *wish)
{
    static const char *const SELF = "/proc/self/exe";
    std::string command = std::string("LIBRPM_DIAG=") + wish + " '";
    char self[4096] = {};
    char chunk[512];
    std::string said;

    if (readlink(SELF, self, sizeof(self) - 1) < 0)
        return "cannot find myself";
    command += std::string(self) + "' 'diag: child' 2>&1 >/dev/null";
    FILE *pipe = popen(command.c_str(), "r");
    while (pipe != nullptr && fgets(chunk, sizeof(chunk), pipe) != nullptr)
        said += chunk;
    if (pipe != nullptr)
        pclose(pipe);
    return said;
}

TEST_CASE("diag: the sink gets the messages at or above the threshold", "[unit]")
{
    Heard heard;

    rpm_diag_sink(listen, &heard, RPM_DIAG_NOTICE);
    rpmi_diag(RPM_DIAG_ERROR, "one %d", 1);
    rpmi_diag(RPM_DIAG_NOTICE, "two");
    rpmi_diag(RPM_DIAG_DEBUG, "three");
    rpmi_diag(RPM_DIAG_NONE, "four");
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);

    REQUIRE(heard == Heard{ { RPM_DIAG_ERROR, "one 1" }, { RPM_DIAG_NOTICE, "two" } });
}

TEST_CASE("diag: a threshold of none silences everything", "[unit]")
{
    Heard heard;

    rpm_diag_sink(listen, &heard, RPM_DIAG_NONE);
    rpmi_diag(RPM_DIAG_ERROR, "error");
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    REQUIRE(heard.empty());
}

TEST_CASE("diag: a message longer than the buffer is cut, not lost", "[unit]")
{
    Heard heard;
    std::string text(5000, 'x');

    rpm_diag_sink(listen, &heard, RPM_DIAG_ERROR);
    rpmi_diag(RPM_DIAG_ERROR, "%s", text.c_str());
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    REQUIRE(heard.size() == 1);
    REQUIRE(heard[0].second == std::string(511, 'x'));
}

TEST_CASE("diag: LIBRPM_DIAG sets the threshold of standard error", "[unit]")
{
    REQUIRE(stderr_of_child("none") == "");
    REQUIRE(stderr_of_child("error") == "librpm: error: an error\n");
    REQUIRE(stderr_of_child("debug") == "librpm: error: an error\nlibrpm: warning: a warning\n"
                                        "librpm: notice: a notice\nlibrpm: debug: detail\n");
    // An unknown value is ignored.
    REQUIRE(stderr_of_child("loud") == "librpm: error: an error\nlibrpm: warning: a warning\n");
}

// Only run by the case above, in a process of its own; its tag hides it otherwise.
TEST_CASE("diag: child", "[.child]")
{
    rpmi_diag(RPM_DIAG_ERROR, "an error");
    rpmi_diag(RPM_DIAG_WARNING, "a warning");
    rpmi_diag(RPM_DIAG_NOTICE, "a notice");
    rpmi_diag(RPM_DIAG_DEBUG, "detail");
}
