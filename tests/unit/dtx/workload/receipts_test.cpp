// SPDX-License-Identifier: BSD-3-Clause
// receipts_test.cpp: receipts are written and read back, and a database is compared with them.
#include "unit/dtx/workload/servers.h"
#include "workload/receipts.h"
#include "workload/tpcc/receipts.h"
#include "workload/tpcc/tpcc.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace dtx;
using namespace dtx::tpcc;

namespace
{

class File
{
  public:
    File()
    {
        int fd = mkstemp(&path[0]);

        REQUIRE(fd >= 0);
        close(fd);
    }
    ~File()
    {
        unlink(path.c_str());
    }
    void put(const std::string &text) const
    {
        std::ofstream(path) << text;
    }

    std::string path = "/tmp/librpm_receipts_XXXXXX";
};

// The error of reading a file with this text; "": none.
std::string refusal(const std::string &text)
{
    File file;

    file.put(text);
    try {
        (void)read_receipts(file.path);
    } catch (const Error &error) {
        return std::string(error.what()).substr(file.path.size());
    }
    return "";
}

Parameters small()
{
    Parameters parameters;

    parameters.warehouses = 2;
    parameters.items = 100;
    parameters.customers = 30;
    parameters.room = 300;
    parameters.servers = 2;
    return parameters;
}

uint64_t broken(const Findings &found, const std::string &rule)
{
    for (const Finding &finding : found.all())
        if (finding.rule == rule && finding.checked != 0)
            return finding.broken;
    return UINT64_MAX;
}

} // namespace

TEST_CASE("receipts: the receipts of several runs are read back")
{
    File file;

    for (int life = 0; life < 2; life++) {
        Receipts receipts(file.path);
        uint64_t first = receipts.begin("order 1");
        uint64_t second = receipts.begin("payment 2 3");

        receipts.end(second, Status::committed, "17");
        (void)receipts.begin("order 4");
        receipts.end(first, Status::unknown, "");
    }
    std::vector<Receipt> all = read_receipts(file.path);

    REQUIRE(all.size() == 6);
    CHECK(all[0].begun == std::vector<std::string>{ "order", "1" });
    CHECK(all[0].ended);
    CHECK(all[0].open());
    CHECK(all[1].status == Status::committed);
    CHECK(all[1].reported == std::vector<std::string>{ "17" });
    CHECK_FALSE(all[1].open());
    CHECK(all[2].open());
    CHECK(all[3].line == 6);
}

TEST_CASE("receipts: a truncated last line is ignored, any other malformed line is refused")
{
    CHECK(refusal("1.1 begin order 1\n1.1 end comm") == "");
    CHECK(refusal("1.1 begin order 1\n1.1 end comm\n") ==
          ":2: 'comm' is not an outcome; expected committed, aborted or unknown");
    CHECK(refusal("1.1 begin order 1\nnonsense\n") == ":2: this line is not a receipt");
    CHECK(refusal("1.1 begin\n") == ":1: this line is not a receipt");
    CHECK(refusal("1.1 begin order 1\n1.1 begin order 2\n") == ":2: transaction 1.1 begins twice");
    CHECK(refusal("1.2 end committed 3\n") ==
          ":1: transaction 1.2 ends without having begun, or twice");
    CHECK(refusal("1.1 begin order 1\n1.1 end aborted 3\n1.1 end committed 3\n") ==
          ":3: transaction 1.1 ends without having begun, or twice");
    CHECK_THROWS_AS(read_receipts("/nowhere/receipts"), Error);
    CHECK_THROWS_AS(Receipts("/nowhere/receipts"), Error);
}

TEST_CASE("receipts: a database that lacks an acknowledged transaction is reported")
{
    support::Servers servers(2, 64 << 20);
    Tpcc workload(small());
    Cluster cluster = servers.cluster(workload, 2);
    const Tables &tables = workload.tables();
    File file;
    Receipts receipts(file.path);
    RunOptions options;

    options.threads = 2;
    options.transactions = 200;
    options.receipts = &receipts;
    cluster.create();
    dtx::load(workload, cluster, 1);
    (void)dtx::run(workload, cluster, options);

    std::vector<Receipt> reported = read_receipts(file.path);
    auto audit = [&](uint32_t copy) { return workload.audit(cluster, copy, reported); };

    REQUIRE(reported.size() > 100);
    for (uint32_t copy = 0; copy < 2; copy++) {
        CHECK(audit(copy).texts() == std::vector<std::string>{});
        CHECK(broken(audit(copy), "acknowledged orders") == 0);
        CHECK(broken(audit(copy), "acknowledged payments") == 0);
    }

    // An unacknowledged order that a terminal had begun is allowed; one that no terminal began is
    // reported.
    auto is_order = [](const Receipt &one) { return one.begun[0] == "order" && !one.open(); };
    auto order = std::find_if(reported.begin(), reported.end(), [&](const Receipt &one) {
        return is_order(one) && one.status == Status::committed;
    });
    Receipt kept = *order;
    District at{ static_cast<uint32_t>(std::stoul(kept.begun[1])),
                 static_cast<uint32_t>(std::stoul(kept.begun[2])) };
    uint32_t o_id = static_cast<uint32_t>(std::stoul(kept.reported.at(0)));

    order->ended = false;
    CHECK(audit(0).texts() == std::vector<std::string>{});
    CHECK(broken(audit(0), "other orders") == 0);
    order->ended = true;
    order->status = Status::aborted;
    CHECK(broken(audit(1), "other orders") == 1);
    *order = kept;

    // Erase a line, then the whole order; then a payment.
    support::erase_row(cluster, tables.order_line, order_line_key(at, o_id, 1));
    CHECK(broken(audit(1), "acknowledged orders") == 1);
    CHECK(broken(audit(1), "other orders") == 1);
    support::erase_row(cluster, tables.order, order_key(at, o_id));
    CHECK(broken(audit(0), "acknowledged orders") == 1);
    CHECK(broken(audit(0), "other orders") == UINT64_MAX);
    reported.push_back(
        { 999, { "payment", "1", "1", "1", "1", "100", "5" }, true, Status::committed, { "3" } });
    CHECK(broken(audit(0), "acknowledged payments") == 1);
    reported.back().begun[0] = "call";
    CHECK_THROWS_AS(audit(0), Error);
}
