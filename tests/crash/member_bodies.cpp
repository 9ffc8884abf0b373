// SPDX-License-Identifier: BSD-3-Clause
// member_bodies.cpp: scenarios of a log that is a member of a set: created with an id, an epoch and
// a first LSN, claimed by epochs and tokens, its commit word lowered by a seal.
#include "crash/bodies.h"

extern "C" {
#include "log/member.h"
#include "wire/guard.h"
}

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <vector>

using namespace cuts;

static const unsigned SECOND = 1;
static const uint64_t FIRST_LSN = 640;
static const uint64_t CAPACITY = 8192;
static const rpmi_member MEMBER = { 0x77, FIRST_LSN, 5, { 3, 2, 1, 99 } };

namespace
{

// What the server has promised of the member, and what it may have done besides.
class MemberOracle : public Oracle
{
  public:
    Existence existence = Existence::no;
    uint32_t asked = 0;   // highest epoch that a claim or the creation asked for
    uint32_t granted = 0; // highest epoch of an answered one
    uint64_t token = 0;   // of that
    uint32_t sealed = 0;  // highest epoch of an answered seal
    // By epoch: the highest commit word that there can be once the head has it.
    std::map<uint32_t, uint64_t> limit;
    std::set<uint64_t> acked;    // LSNs that the log must have
    std::set<uint64_t> given_up; // of these, may be gone: a seal in front of them was asked for
    std::set<uint64_t> copied;   // LSNs that it must have once a seal is answered

    void verify(Run &run) override;
    void use_again(Run &) override {}

  private:
    void check_header(Run &run, rpm_conn *conn, rpm_log *log);
    void check_records(Run &run, rpm_log *log) const;
};

// A client that has the member open.
class Member
{
  public:
    Member(Run &run, unsigned who, MemberOracle &oracle) : run_(run), oracle_(oracle)
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        opts.capacity_bytes = CAPACITY;
        opts.inflight_max = 8;
        opts.staging_bytes = 64 << 10;
        opts.level = run.setup.level;
        conn_ = run.client(who);
        if (oracle.existence == Existence::no)
            oracle.existence = Existence::maybe;
        oracle.asked = std::max(oracle.asked, MEMBER.epoch);
        run.must(rpmi_member_open(conn_, "copy", &opts, &MEMBER, &log_), "open");
        oracle.existence = Existence::yes;
        if (log_->token != 0)
            granted();
    }
    Member(const Member &) = delete;
    ~Member()
    {
        rpm_log_close(&log_);
    }
    void claim(uint32_t epoch)
    {
        oracle_.asked = std::max(oracle_.asked, epoch);
        run_.must(rpmi_member_claim(log_, epoch, RPMI_CALL_TAKEOVER), "claim");
        granted();
    }
    uint64_t scan()
    {
        rpmi_scan_report report = {};

        run_.must(rpmi_log_scan(log_, log_->head.trim_lsn, nullptr, nullptr, &report), "scan");
        return report.end_lsn;
    }
    // Records from @base on are given up.
    void seal(uint64_t base)
    {
        for (uint64_t lsn : oracle_.acked)
            if (lsn >= base)
                oracle_.given_up.insert(lsn);
        oracle_.limit[log_->epoch] = std::max(oracle_.limit[log_->epoch], base);
        run_.must(rpmi_member_seal(log_, base), "seal");
        oracle_.sealed = std::max(oracle_.sealed, log_->epoch);
        for (uint64_t lsn : oracle_.given_up)
            oracle_.acked.erase(lsn);
        oracle_.given_up.clear();
    }
    void append(size_t len)
    {
        std::string data(len, 'x');
        uint64_t lsn = 0;

        run_.must(rpm_log_append(log_, data.data(), data.size(), &lsn), "append");
        oracle_.acked.insert(lsn);
    }
    // Sent, and not flushed.
    void post(size_t len)
    {
        std::string data(len, 'y');

        run_.must(rpm_log_append_async(log_, data.data(), data.size(), RPM_MORE, nullptr, nullptr),
                  "append without a flush");
    }
    // Records in front of @lsn are given up.
    void trim(uint64_t lsn)
    {
        for (uint64_t acked : oracle_.acked)
            if (acked < lsn)
                oracle_.given_up.insert(acked);
        run_.must(rpmi_member_trim(log_, lsn), "trim");
        for (uint64_t acked : oracle_.given_up)
            oracle_.acked.erase(acked);
        oracle_.given_up.clear();
    }
    // Frames that another member has, of epochs between the head's and the claim's: sent, and not
    // flushed. Returns where they end.
    uint64_t copy(uint64_t lsn, uint32_t epoch, std::initializer_list<uint32_t> lens)
    {
        for (uint32_t len : lens) {
            std::vector<unsigned char> data(len, static_cast<unsigned char>(epoch));
            unsigned char *bytes = conn_->bounce;
            rpmi_frame frame = {};
            rpmi_op op = {};

            frame.lsn = lsn;
            frame.len = len;
            frame.epoch = epoch;
            frame.lag = 1;
            memset(bytes, 0, rpmi_frame_stride(len, 0));
            rpmi_frame_put(bytes, &frame, MEMBER.log_id, data.data());
            memcpy(bytes + RPMI_FRAME_HEADER_BYTES, data.data(), len);
            op.kind = RPMI_OP_WRITE;
            op.key = log_->write_key;
            op.offset = RPMI_LOG_HEADER_BYTES + lsn % CAPACITY;
            op.len = rpmi_frame_stride(len, 0);
            op.body = bytes;
            op.body_bytes = op.len;
            run_.must(rpmi_conn_exec(conn_, &op, 1), "copy");
            oracle_.copied.insert(lsn);
            lsn += op.len;
        }
        return lsn;
    }
    // What was copied is in the log now.
    void seal_copied(uint64_t base)
    {
        seal(base);
        oracle_.acked.insert(oracle_.copied.begin(), oracle_.copied.end());
    }
    void commit(uint64_t lsn)
    {
        oracle_.limit[log_->epoch] = std::max(oracle_.limit[log_->epoch], lsn);
        run_.must(rpmi_member_commit(log_, lsn), "commit");
    }

  private:
    void granted()
    {
        oracle_.granted = std::max(oracle_.granted, log_->epoch);
        oracle_.token = log_->token;
    }

    Run &run_;
    MemberOracle &oracle_;
    rpm_conn *conn_ = nullptr;
    rpm_log *log_ = nullptr;
};

void MemberOracle::check_header(Run &run, rpm_conn *conn, rpm_log *log)
{
    unsigned char header[RPMI_LOG_HEADER_BYTES];
    const rpmi_head &head = log->head;

    run.must(rpmi_conn_read(conn, log->read_key, 0, header, sizeof(header)), "read the header");
    uint64_t claim = rpmi_load64(header + RPMI_GUARD_OFFSET);
    uint64_t commit = rpmi_load64(header + RPMI_COMMIT_OFFSET);
    if (claim < granted || claim > asked)
        violate("the claim word is %u, granted was %u and asked for %u",
                static_cast<unsigned>(claim), granted, asked);
    if (head.epoch < sealed || head.epoch > asked)
        violate("the head has epoch %u, sealed was %u", head.epoch, sealed);
    if (!rpmi_membership_is_same(&head.set, &MEMBER.set) || head.log_id != MEMBER.log_id)
        violate("the head has another set or id");
    if (head.epoch != 0 && commit > limit[head.epoch])
        violate("epoch %u, sealed at %u, has the commit word %u, above %u", head.epoch,
                static_cast<unsigned>(head.base_lsn), static_cast<unsigned>(commit),
                static_cast<unsigned>(limit[head.epoch]));
}

void MemberOracle::check_records(Run &run, rpm_log *log) const
{
    std::set<uint64_t> found;
    rpmi_scan_report report = {};
    auto note = [](void *context, const rpmi_frame *frame) {
        static_cast<std::set<uint64_t> *>(context)->insert(frame->lsn);
    };

    run.must(rpmi_log_scan(log, log->head.trim_lsn, note, &found, &report), "scan");
    for (uint64_t lsn : acked)
        if (found.count(lsn) == 0 && given_up.count(lsn) == 0)
            violate("the record at %u is lost", static_cast<unsigned>(lsn));
}

// The token of the last claim claims its epoch again, unless a later claim may have been granted;
// no other client can have that epoch.
void MemberOracle::verify(Run &run)
{
    rpm_conn *conn = run.client(CHECKER);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.flags = RPM_LOG_WRITE;
    opts.inflight_max = 8;
    opts.staging_bytes = 64 << 10;
    opts.level = run.setup.level;
    int err = rpmi_member_open(conn, "copy", &opts, &MEMBER, &log);
    if (err == RPM_E_NOENT && existence != Existence::yes) {
        existence = Existence::no;
        return;
    }
    run.must(err, "open again");
    std::unique_ptr<rpm_log, void (*)(rpm_log *)> closes(log,
                                                         [](rpm_log *one) { rpm_log_close(&one); });
    existence = Existence::yes;
    check_header(run, conn, log);
    check_records(run, log); // before a claim, as a reader sees it
    log->token = 0;
    err = granted != 0 ? rpmi_member_claim(log, granted, RPMI_CALL_TAKEOVER) : RPM_E_FENCED;
    if (err != RPM_E_FENCED && run.must(err, "claim without the token") == 0)
        violate("epoch %u was granted twice", granted);
    log->token = token;
    log->epoch = granted;
    if (granted != 0 && granted == asked) {
        run.must(rpmi_member_claim(log, granted, 0), "claim again");
    } else {
        run.must(rpmi_member_claim(log, ++asked, RPMI_CALL_TAKEOVER), "claim anew");
        granted = asked;
        token = log->token;
    }
    check_records(run, log);
}

} // namespace

static MemberOracle &member_of(Run &run)
{
    return run.add(std::make_unique<MemberOracle>());
}

// A member is created with its claim word, claimed by the token, sealed and written.
static void member_create(Run &run)
{
    MemberOracle &oracle = member_of(run);

    run.client(FIRST);
    run.begin();
    Member member(run, FIRST, oracle);
    member.claim(5);
    member.seal(FIRST_LSN);
    member.append(40);
    member.commit(FIRST_LSN + 64);
    member.append(300);
}

// Another writer gives up records that were committed, as only a forced recovery does: its seal
// lowers the commit word.
static void member_give_up(Run &run)
{
    MemberOracle &oracle = member_of(run);
    Member first(run, FIRST, oracle);

    first.claim(5);
    first.seal(FIRST_LSN);
    for (size_t len : { 40, 40, 40 })
        first.append(len);
    first.commit(FIRST_LSN + 192);
    run.client(SECOND);
    run.begin();
    Member second(run, SECOND, oracle);
    second.claim(6);
    second.seal(FIRST_LSN + 64);
    second.append(300);
    second.commit(FIRST_LSN + 64 + 384);
}

// The writer claims its epoch again, sealed or not, with appends outstanding or none.
static void member_again(Run &run)
{
    MemberOracle &oracle = member_of(run);
    Member member(run, FIRST, oracle);

    member.claim(5);
    run.begin();
    member.claim(5);
    member.seal(FIRST_LSN);
    member.append(40);
    for (int i = 0; i < 2; i++) {
        member.claim(5);
        member.seal(member.scan());
        member.append(100);
    }
    member.claim(6);
    member.seal(member.scan());
    member.append(40);
}

// A writer seals behind records that an earlier one has not flushed.
static void member_found(Run &run)
{
    MemberOracle &oracle = member_of(run);
    Member first(run, FIRST, oracle);

    first.claim(5);
    first.seal(FIRST_LSN);
    first.append(40);
    run.client(SECOND);
    run.begin();
    for (size_t len : { 300, 40 })
        first.post(len);
    Member second(run, SECOND, oracle);
    second.claim(6);
    second.seal(second.scan());
    second.append(100);
}

// A writer copies what other members have, of epochs that this one was not sealed in.
static void member_copy(Run &run)
{
    MemberOracle &oracle = member_of(run);
    Member first(run, FIRST, oracle);

    first.claim(5);
    first.seal(FIRST_LSN);
    for (size_t len : { 40, 300 })
        first.append(len);
    run.client(SECOND);
    run.begin();
    Member second(run, SECOND, oracle);
    second.claim(9);
    uint64_t end = second.copy(second.scan(), 6, { 40, 300, 20 });
    end = second.copy(end, 8, { 100, 500 });
    second.seal_copied(end);
    second.append(100);
}

// The same of a member that is some laps behind: it is trimmed as the others are first.
static void member_behind(Run &run)
{
    MemberOracle &oracle = member_of(run);
    Member first(run, FIRST, oracle);
    const uint64_t begin = FIRST_LSN + 3 * CAPACITY + 192;

    first.claim(5);
    first.seal(FIRST_LSN);
    for (size_t len : { 40, 300, 40, 40 })
        first.append(len);
    run.client(SECOND);
    run.begin();
    Member second(run, SECOND, oracle);
    second.claim(9);
    second.trim(begin);
    second.seal_copied(second.copy(begin, 7, { 40, 300, 20 }));
    second.append(100);
}

const std::vector<Scenario> &member_scenarios()
{
    static const std::vector<Scenario> all = {
        { "member_create", member_create }, { "member_give_up", member_give_up },
        { "member_again", member_again },   { "member_found", member_found },
        { "member_copy", member_copy },     { "member_behind", member_behind },
    };

    return all;
}
