// SPDX-License-Identifier: BSD-3-Clause
#include "model/trace.h"

#include "support/catch.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

using namespace dtx::model;

namespace
{

const std::string HEAD =
    R"({"dtx":2,"what":"trace","workload":"smallbank","servers":3,)"
    R"("replicas":2,"durable":true,"seed":1,"tables":["","accounts","accounts.index"]})";
// reads two rows and a bucket, writes one of the rows
const std::string WRITES = R"({"committed":true,"log_bytes":88,"objects":)"
                           R"([[0,8,64,"rs",1,1],[0,224,256,"r",2,2],[2,8,64,"rsw",1,3]]})";
const std::string READS = R"({"committed":true,"log_bytes":0,"objects":[[1,8,64,"rs",1,4]]})";
const std::string SETTLED = R"({"committed":true,"log_bytes":0,"objects":)"
                            R"([[0,224,256,"rl",2,2],[1,8,64,"rls",1,4]]})";
const std::string GIVEN_UP = R"({"committed":false,"log_bytes":0,"objects":[[1,8,64,"rsw",1,4]]})";

std::string end(int attempts, int remote)
{
    return R"({"what":"end","attempts":)" + std::to_string(attempts) +
           R"(,"transactions":1,"remote":)" + std::to_string(remote) + "}";
}

Trace read(const std::vector<std::string> &lines)
{
    char name[] = "/tmp/librpm-trace-XXXXXX";
    int fd = mkstemp(name);
    std::ofstream file(name);

    REQUIRE(fd >= 0);
    close(fd);
    for (const std::string &line : lines)
        file << line << "\n";
    file.close();
    try {
        Trace trace = read_trace(name);

        unlink(name);
        return trace;
    } catch (...) {
        unlink(name);
        throw;
    }
}

std::string wrong(const std::vector<std::string> &lines)
{
    try {
        read(lines);
    } catch (const std::exception &error) {
        return error.what();
    }
    return "";
}

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("trace: the attempts explain the operations that the engine counted", "[unit]")
{
    // 3 read; 2 validated; locked, versions read, 2 logs, 2 copies, unlocked
    Trace trace = read({ HEAD, WRITES, READS, GIVEN_UP, end(3, 12 + 3 + 3) });

    CHECK(trace.workload == "smallbank");
    CHECK(trace.servers == 3);
    CHECK(trace.replicas == 2);
    REQUIRE(trace.attempts.size() == 3);
    CHECK(trace.attempts[0].remote(2, true) == 3 + 2 + 3 + 2 + 2);
    CHECK(trace.attempts[0].remote(2, false) == 3 + 2 + 3 + 2);
    CHECK(trace.attempts[0].remote(1, true) == 3 + 2 + 3 + 1 + 1);
    CHECK(trace.attempts[0].objects[2].shard == 2);
    CHECK(trace.attempts[0].objects[2].number == 3);
    CHECK(trace.objects == 4);
    CHECK(trace.attempts[0].objects[1].payload == 224);
    CHECK(trace.attempts[0].objects[1].slot == 256);
    CHECK(trace.attempts[1].remote(2, true) == 3); // alone: validated like any other
    CHECK(trace.attempts[2].remote(2, true) == 3); // read, and validated before it gives up
    CHECK(trace.attempts[2].writes() == 0);
}

TEST_CASE("trace: a single object that was read with its lock is not validated", "[unit]")
{
    std::string two = SETTLED;
    Trace trace = read({ HEAD, SETTLED, end(1, 4) });

    CHECK(trace.attempts[0].is_lone_read());
    two.replace(two.find("\"rl\""), 4, "\"rls\"");
    trace = read({ HEAD, two, end(1, 4 + 2 * 2) });
    CHECK_FALSE(trace.attempts[0].is_lone_read());
    two.replace(two.find("\"rls\""), 5, "\"rlsx\"");
    CHECK(has(wrong({ HEAD, two, end(1, 4) }), "letters other than r, l, s, w and t"));
}

TEST_CASE("trace: an object that was locked by its read is not validated", "[unit]")
{
    std::string taken = WRITES;

    taken.replace(taken.find("\"rsw\""), 5, "\"rswt\"");
    CHECK(read({ HEAD, taken, end(1, 11) }).attempts[0].objects[2].taken);
    CHECK(has(wrong({ HEAD, taken, end(1, 12) }), "the attempts explain 11"));
    taken.replace(taken.find("\"rswt\""), 6, "\"rst\"");
    CHECK(has(wrong({ HEAD, taken, end(1, 11) }), "not read and written"));
}

TEST_CASE("trace: one table alone can be kept on the servers", "[unit]")
{
    Trace trace = read({ HEAD, WRITES, READS, GIVEN_UP, end(3, 12 + 3 + 3) });
    Trace index = trace;

    CHECK(!trace.keep_only("absent", 8));
    CHECK(trace.attempts[0].objects.size() == 3);
    REQUIRE(trace.keep_only("accounts", 100));
    REQUIRE(trace.attempts.size() == 3);
    REQUIRE(trace.attempts[0].objects.size() == 2);
    CHECK(trace.attempts[0].objects[1].shard == 2);
    CHECK(trace.attempts[0].objects[1].payload == 100);
    CHECK(trace.attempts[0].objects[1].slot == 192);
    CHECK(trace.attempts[0].log_bytes == 16 + 8 + 192);
    CHECK(trace.attempts[1].log_bytes == 0);
    CHECK(trace.attempts[2].log_bytes == 0);
    // Attempts without remote accesses are dropped.
    REQUIRE(index.keep_only("accounts.index", 224));
    REQUIRE(index.attempts.size() == 1);
    CHECK(index.attempts[0].log_bytes == 0);
    CHECK(index.attempts[0].remote(2, true) == 1);
}

TEST_CASE("trace: a trace that explains too few operations is refused", "[unit]")
{
    CHECK(wrong({ HEAD, WRITES, end(1, 12) }) == "");
    CHECK(has(wrong({ HEAD, WRITES, end(1, 13) }), ":3: the engine counted 13"));
    CHECK(has(wrong({ HEAD, WRITES, end(1, 11) }), ":3: the engine counted 11"));
}

TEST_CASE("trace: a file that is cut short or edited is refused with its line", "[unit]")
{
    CHECK(has(wrong({}), "cut short"));
    CHECK(has(wrong({ HEAD, WRITES }), "cut short"));
    CHECK(has(wrong({ HEAD, READS, end(2, 3) }), ":3: says 2 attempts, there are 1"));
    CHECK(has(wrong({ HEAD, end(0, 0) }), ":2: says 0 attempts"));
    CHECK(has(wrong({ HEAD, READS, end(1, 3), READS }), ":4: a line follows the end line"));
    CHECK(has(wrong({ READS, end(1, 3) }), ":1: not a trace"));
    CHECK(has(wrong({ HEAD, "{" }), ":2:"));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":0,"objects":[[3,8,64,"r",1,1]]})" }),
              ":2: found the number 3, expected 0 to "));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":0,"objects":[[0,8,0,"r",1,1]]})" }),
              ":2: found the number 0, expected 1 to "));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":0,"objects":[[0,8,64,"x",1,1]]})" }),
              ":2: an object has letters"));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":0,"objects":[[0,8,64,"r",1,0]]})" }),
              ":2: found the number 0, expected 1 to "));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":0,"objects":[[0,8,64,"r",3,1]]})" }),
              ":2: found the number 3, expected 0 to "));
    CHECK(has(wrong({ HEAD, R"({"committed":true,"log_bytes":99999,"objects":[]})" }),
              ":2: a redo record"));
    CHECK_THROWS(read_trace("/no/such/file"));
}
