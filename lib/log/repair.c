/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.c: write a new head for a log from the records in its ring. The ring is read twice: once
 * to report what a repair would keep, and again after the claim, when no writer can change it any
 * more.
 *
 * chain.c chooses the records that are the log; pool/claim.c writes the head, at the server.
 *
 * Tests: tests/unit/log/repair_test.cpp, tests/conform/repair_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/opts.h"

#include <librpm/repair.h>

#include <inttypes.h>
#include <stdio.h>

#define FLAGS_ALL (RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD | RPM_REPAIR_TAKEOVER | RPM_REPAIR_FROM)
#define HEADER_READS_MAX 8u /* a slot that seems damaged may be one that the server is writing */
#define HEADER_BYTES (RPMI_GUARD_OFFSET + sizeof(uint64_t)) /* the slots and the claim word */

_Static_assert(RPM_REPAIR_SLOTS == RPMI_HEAD_SLOTS, "every slot is reported");
_Static_assert((int)RPM_REPAIR_KEPT == (int)RPMI_FATE_KEPT, "one numbering");
_Static_assert((int)RPM_REPAIR_LOST == (int)RPMI_FATE_LOST, "one numbering");

/* One examination of a log: too large for the stack. */
struct examination {
    struct rpm_log *log;
    const struct rpm_repair_opts *opts;
    unsigned char header[HEADER_BYTES];
    struct rpmi_head_found slot[RPMI_HEAD_SLOTS];
    struct rpmi_chains chains;
    struct rpmi_known known;
    struct rpmi_start start;
    struct rpmi_chain kept;
    bool opens;  /* with its present head, and the records that this head promises are there */
    bool walked; /* a whole frame is at start.walk_lsn */
    struct rpm_repair_report report;
};

/* The slots, the claim word, and what they say about the head: the report's state and reason. */
static int read_header(struct examination *exam)
{
    struct rpm_log *log = exam->log;
    struct rpmi_head head;
    uint32_t lacking = 0;
    int err = 0;

    for (uint32_t i = 0; i < HEADER_READS_MAX; i++) {
        err = rpmi_conn_read(log->conn, log->read_key, 0, exam->header, sizeof(exam->header));
        if (err != 0)
            return err;
        err = rpmi_head_pick(exam->header, &head, &lacking);
        if (err == 0 && lacking == 0)
            break;
    }
    exam->report.state = RPM_REPAIR_SOUND;
    exam->report.why[0] = '\0';
    if (err != 0 || lacking != 0) {
        exam->report.state = err != 0 ? RPM_REPAIR_NEEDED : RPM_REPAIR_SURVIVED;
        (void)snprintf(exam->report.why, sizeof(exam->report.why), "%s",
                       err != 0
                           ? rpm_last_error()
                           : "one copy of the newest head is damaged, or was torn by a power cut");
    }
    return 0;
}

static void judge_header(struct examination *exam)
{
    struct rpm_log *log = exam->log;
    uint32_t best = rpmi_head_judge(exam->header, log->log_id, log->capacity, exam->slot);

    exam->known = (struct rpmi_known){ .has_head = best < RPMI_HEAD_SLOTS };
    if (exam->known.has_head)
        exam->known.head = exam->slot[best].head;
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++) {
        const struct rpmi_head *head = &exam->slot[i].head;
        struct rpm_repair_slot *slot = &exam->report.slots[i];

        *slot = (struct rpm_repair_slot){ .wrong = exam->slot[i].wrong };
        if (slot->wrong != NULL)
            continue;
        slot->turn = head->turn;
        slot->head_lsn = head->trim_lsn;
        slot->base_lsn = head->base_lsn;
        slot->epoch = head->epoch;
        if (head->trim_lsn > exam->known.trim_lsn)
            exam->known.trim_lsn = head->trim_lsn;
    }
    exam->known.has_from = (exam->opts->flags & RPM_REPAIR_FROM) != 0;
    exam->known.from_lsn = exam->opts->from_lsn;
    exam->report.claim = rpmi_load64(exam->header + RPMI_GUARD_OFFSET);
}

static void set_needed(struct examination *exam, const char *why)
{
    if (exam->report.state == RPM_REPAIR_NEEDED)
        return;
    exam->report.state = RPM_REPAIR_NEEDED;
    (void)snprintf(exam->report.why, sizeof(exam->report.why), "%s", why);
}

/* Does the log open, and are the records there that its head promises? */
static int check_opens(struct examination *exam)
{
    struct rpmi_scan_report report;
    int err = 0;

    exam->opens = false;
    if (exam->report.state == RPM_REPAIR_NEEDED)
        return 0;
    err = rpmi_log_head(exam->log);
    if (err == 0)
        err = rpmi_log_scan(exam->log, exam->log->head.trim_lsn, NULL, NULL, &report);
    if (err != 0 && err != RPM_E_CORRUPT)
        return err;
    exam->opens = err == 0;
    if (err == 0)
        exam->known.claim = exam->report.claim;
    else
        set_needed(exam, rpm_last_error());
    if (exam->report.claim >= UINT32_MAX)
        set_needed(exam, "the claim word is damaged: it is larger than any epoch");
    if (exam->known.has_from)
        set_needed(exam, "the caller gives another beginning (RPM_REPAIR_FROM)");
    return 0;
}

static bool keep_frame(void *context, const struct rpmi_frame *frame)
{
    uint64_t end = rpmi_frame_end(frame);
    struct examination *exam = context;
    struct rpmi_chain *kept = &exam->kept;
    bool first = kept->first_lsn == RPM_LSN_NONE;

    exam->walked = true;
    if (frame->lsn < exam->start.least_lsn) {
        kept->epoch_last = frame->epoch;
        return true;
    }
    if (!rpmi_known_allows(&exam->known, frame, kept->epoch_last) ||
        end - (first ? frame->lsn : kept->first_lsn) > exam->log->capacity)
        return false;
    if (first) {
        kept->first_lsn = frame->lsn;
        kept->epoch_first = frame->epoch;
    }
    kept->end_lsn = end;
    kept->epoch_last = frame->epoch;
    if ((frame->flags & RPMI_FRAME_PAD) == 0) {
        kept->records++;
        kept->bytes += frame->len;
    }
    return true;
}

/* Follow the frames of the log from its chosen beginning to its end, and count them in kept. */
static int walk(struct examination *exam)
{
    int err = rpmi_chains_choose(&exam->chains, &exam->known, &exam->start);

    if (err != 0)
        return err;
    exam->kept = (struct rpmi_chain){ .first_lsn = RPM_LSN_NONE };
    exam->walked = false;
    err = rpmi_log_walk(exam->log, exam->start.walk_lsn, keep_frame, exam);
    if (exam->kept.first_lsn == RPM_LSN_NONE) {
        exam->kept.first_lsn = exam->start.least_lsn;
        exam->kept.end_lsn = exam->start.least_lsn;
    }
    return err;
}

static int find_log(struct examination *exam)
{
    int err = walk(exam);

    if (err == 0 && !exam->walked && exam->known.has_from)
        return rpmi_fail(RPM_E_RANGE,
                         "no whole record of log '%s' starts at %" PRIu64
                         "; name another first record, or none",
                         exam->log->name, exam->known.from_lsn);
    if (err != 0 || exam->walked || exam->opens)
        return err;
    /* No whole frame begins where the slots say that the log begins: choose among all chains. */
    exam->known.lacks_start = true;
    return walk(exam);
}

static void report_chain(struct examination *exam, const struct rpmi_chain *chain)
{
    struct rpm_repair_report *report = &exam->report;
    enum rpmi_fate fate = rpmi_chain_fate(chain, &exam->known, &exam->start, &exam->kept);
    uint32_t at = report->chains_reported;

    if (fate == RPMI_FATE_LOST)
        report->lost += chain->records;
    else if (fate == RPMI_FATE_KEPT && exam->known.has_from)
        report->lost += chain->records - exam->kept.records;
    if (at == RPM_REPAIR_CHAINS && chain->end_lsn < report->chain[at - 1].end_lsn)
        at--;
    else if (at < RPM_REPAIR_CHAINS)
        report->chains_reported++;
    else
        return;
    RPM_ASSERT(at < RPM_REPAIR_CHAINS); /* the report is the caller's memory */
    for (; at > 0 && report->chain[at - 1].first_lsn > chain->first_lsn; at--)
        report->chain[at] = report->chain[at - 1];
    report->chain[at] = (struct rpm_repair_chain){
        .first_lsn = chain->first_lsn,
        .end_lsn = chain->end_lsn,
        .records = chain->records,
        .bytes = chain->bytes,
        .epoch_first = chain->epoch_first,
        .epoch_last = chain->epoch_last,
        .fate = (uint32_t)fate,
    };
}

static void report_all(struct examination *exam)
{
    struct rpm_repair_report *report = &exam->report;

    report->lost = exam->chains.dropped_records;
    report->chains = exam->chains.count;
    report->chains_reported = 0;
    for (uint32_t i = 0; i < exam->chains.count; i++)
        report_chain(exam, &exam->chains.chain[i]);
    report->head_lsn = exam->kept.first_lsn;
    report->tail_lsn = exam->kept.end_lsn;
    report->records = exam->kept.records;
    report->bytes = exam->kept.bytes;
    report->epoch = exam->chains.epoch;
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (report->slots[i].wrong == NULL && report->slots[i].epoch > report->epoch)
            report->epoch = report->slots[i].epoch;
    if (report->claim < UINT32_MAX && report->claim > report->epoch)
        report->epoch = (uint32_t)report->claim;
    if (report->epoch < UINT32_MAX)
        report->epoch++;
}

static int examine(struct examination *exam)
{
    int err = read_header(exam);

    if (err != 0)
        return err;
    judge_header(exam);
    err = check_opens(exam);
    if (err == 0)
        err = rpmi_log_survey(exam->log, &exam->known, &exam->chains);
    if (err == 0)
        err = find_log(exam);
    if (err == 0)
        report_all(exam);
    return err;
}

/* May a head for the records found be written? */
static int permit(const struct examination *exam)
{
    if (exam->report.lost == 0 || (exam->opts->flags & RPM_REPAIR_DISCARD) != 0)
        return 0;
    return rpmi_fail(RPM_E_CORRUPT,
                     "log '%s' is not repaired: %" PRIu64
                     " whole records would be lost; RPM_REPAIR_DISCARD permits that",
                     exam->log->name, exam->report.lost);
}

static int claim(struct examination *exam)
{
    struct rpm_log *log = exam->log;
    struct rpmi_call call = {
        .kind = RPMI_CALL_CLAIM,
        .key = log->read_key,
        .flags = RPMI_CALL_REPAIR |
                 ((exam->opts->flags & RPM_REPAIR_TAKEOVER) != 0 ? RPMI_CALL_TAKEOVER : 0),
        .bytes = exam->chains.epoch,
    };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(log->write_key == 0);                         /* one claim at a time */
    RPM_ASSERT((exam->opts->flags & RPM_REPAIR_WRITE) != 0); /* a report fences no writer */
    err = rpmi_conn_call(log->conn, &call, &reply);
    return err != 0 ? err : rpmi_log_take_claim(log, &reply);
}

/* Examine the log again, now that no writer can change it, and write its head. */
static int write_head(struct examination *exam)
{
    struct rpm_log *log = exam->log;
    struct rpmi_call call = { .kind = RPMI_CALL_SEAL,
                              .key = log->write_key,
                              .flags = RPMI_CALL_REPAIR };
    struct rpm_repair_report found = exam->report; /* before the claim changed it */
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(log->write_key != 0); /* no writer appends between the examination and the head */
    err = examine(exam);
    exam->report.state = found.state;
    memcpy(exam->report.why, found.why, sizeof(found.why));
    exam->report.claim = found.claim;
    if (err == 0)
        err = permit(exam);
    if (err == 0 && exam->chains.epoch >= log->epoch)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "log '%s' has a record of epoch %" PRIu32 ", expected at most %" PRIu32
                        ": repeat the repair",
                        log->name, exam->chains.epoch, log->epoch - 1);
    if (err != 0)
        return err;
    RPM_ASSERT(exam->kept.first_lsn <= exam->kept.end_lsn &&
               exam->kept.end_lsn - exam->kept.first_lsn <= log->capacity);
    call.bytes = exam->kept.first_lsn;
    call.lsn = exam->kept.end_lsn;
    err = rpmi_conn_call(log->conn, &call, &reply);
    if (err != 0)
        return err;
    exam->report.epoch = log->epoch;
    exam->report.done = 1;
    return 0;
}

static int repair(struct examination *exam)
{
    int err = examine(exam);

    if (err != 0 || (exam->opts->flags & RPM_REPAIR_WRITE) == 0 ||
        exam->report.state == RPM_REPAIR_SOUND)
        return err;
    err = permit(exam);
    if (err == 0)
        err = claim(exam);
    return err != 0 ? err : write_head(exam);
}

static int opts_read(const struct rpm_repair_opts *opts, struct rpm_repair_opts *ours)
{
    int err;

    *ours = rpm_repair_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if ((ours->flags & ~(uint32_t)FLAGS_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL, "repair flags %#x, known are %#x", ours->flags,
                         (unsigned)FLAGS_ALL);
    return 0;
}

int rpm_log_repair(struct rpm_conn *conn, const char *name, const struct rpm_repair_opts *opts,
                   struct rpm_repair_report *report)
{
    rpmi_begin();

    struct rpm_repair_opts ours;
    struct examination *exam;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL && report != NULL);
    err = opts_read(opts, &ours);
    if (err != 0)
        return err;
    exam = rpmi_alloc(sizeof(*exam), RPMI_LINE_BYTES);
    if (exam == NULL)
        return RPM_E_NOMEM;
    exam->opts = &ours;
    exam->report = rpm_repair_report_init();
    err = rpmi_log_open_without_head(conn, name, &exam->log);
    if (err == 0) {
        err = repair(exam);
        rpmi_log_drop_keys(exam->log);
        rpm_log_close(&exam->log);
    }
    if (err == 0 || err == RPM_E_CORRUPT) {
        int out = rpmi_opts_out(report, &exam->report, sizeof(exam->report));

        err = err == 0 ? out : err;
    }
    rpmi_free(exam);
    return err;
}
