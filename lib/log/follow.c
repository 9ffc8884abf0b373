/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.c: wait at the tail for the next record. The reader polls the 64-byte line at the tail,
 * with pauses that grow. After a millisecond, if the server can hold lists of steps, the reader
 * sends it {WATCH a word of that line, READ from the tail on}; the server answers when a writer has
 * changed the word, and the answer has the record, or its first bytes.
 *
 * The reader watches a word of the header that every next frame, also a pad frame, changes
 * (wire/frame.h). If a writer has begun a frame there that is not whole yet, there is no such word,
 * and the reader goes on polling.
 *
 * Invariant: if the server misses a change, the reader loses time, a second at most, and no record.
 * A writer that goes once around the ring may leave the same value in the word, so the reader reads
 * the log's head again after each WATCH that ended without a change.
 *
 * Tests: tests/unit/log/follow_test.cpp, tests/conform/watch_test.cpp
 */
#include "log/reader.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/steps.h"

#define PAUSE_MIN_NS 1000u
#define PAUSE_MAX_NS 1000000u
#define POLLS_BEFORE_PAUSE 64u
#define WATCH_AFTER_NS 1000000u /* of waiting at the same place */
#define WATCH_MIN_NS 1000000u   /* a shorter rest of the wait is not worth a list */
#define READ_MAX 2048u          /* bytes of the READ behind the WATCH */
#define NS_IN_US 1000u

/* Results of watch_if_able(). */
#define UNCHANGED 0 /* the time of the WATCH is over */
#define CHANGED 1
#define POLLS 2 /* the server cannot wait: pause, then read */

static uint64_t now_of(const struct rpm_reader *reader)
{
    struct rpmi_link *link = reader->log->conn->link;

    return link->ops->now_ns(link);
}

/* When a WATCH that is sent now must be over: when the wait is, when the search behind the tail is
 * due, or before the connection would be taken for lost. */
static uint64_t watch_until(const struct rpm_reader *reader, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t most_ns = reader->log->conn->timeout_ns / 2;
    uint64_t due_ns = reader->waiting_since_ns + reader->recheck_ns;
    uint64_t until_ns = due_ns < deadline_ns ? due_ns : deadline_ns;

    if (most_ns > (uint64_t)RPMI_WATCH_US_MAX * NS_IN_US)
        most_ns = (uint64_t)RPMI_WATCH_US_MAX * NS_IN_US;
    return until_ns < now_ns + most_ns ? until_ns : now_ns + most_ns;
}

/* Operations of the connection's other owners would wait behind the list: it is sent only while
 * there are none. */
static bool is_quiet(const struct rpm_conn *conn)
{
    return conn->due_count == 0 && conn->holding == 0;
}

static bool may_watch(const struct rpm_reader *reader, uint64_t now_ns)
{
    const struct rpm_conn *conn = reader->log->conn;
    const unsigned char *line = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);

    return (conn->link->flags & RPMI_LINK_WATCH) != 0 && is_quiet(conn) && reader->cursor == NULL &&
           line != NULL &&
           rpmi_frame_word_to_come(line, reader->next_lsn) < RPMI_FRAME_HEADER_BYTES &&
           reader->waiting_at == reader->next_lsn &&
           now_ns - reader->waiting_since_ns >= WATCH_AFTER_NS;
}

/* As much as the last record took, if that is there. */
static uint32_t read_bytes(const struct rpm_reader *reader)
{
    uint64_t room = reader->log->capacity - reader->next_lsn % reader->log->capacity;
    uint64_t len = RPMI_LINE_BYTES;

    if (reader->has_last)
        len = rpmi_frame_stride(reader->last.len, reader->last.flags);
    if (len > READ_MAX)
        len = READ_MAX;
    RPM_ASSERT(room >= RPMI_LINE_BYTES && reader->buffer_bytes >= READ_MAX);
    return (uint32_t)(len < room ? len : room);
}

/* Have the server wait, at most until @until_ns. UNCHANGED; CHANGED: the bytes at next_lsn are in
 * the buffer; or an error of the connection. */
static int watch(struct rpm_reader *reader, uint64_t now_ns, uint64_t until_ns)
{
    struct rpm_conn *conn = reader->log->conn;
    uint64_t offset = RPMI_LOG_HEADER_BYTES + reader->next_lsn % reader->log->capacity;
    const unsigned char *line = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);
    uint32_t word = rpmi_frame_word_to_come(line, reader->next_lsn);
    struct rpmi_step steps[2] = {
        { .kind = RPMI_STEP_WATCH,
          .key = reader->log->read_key,
          .offset = offset + word,
          .len = sizeof(uint64_t),
          .expect = rpmi_load64(line + word),
          .operand = (until_ns - now_ns + NS_IN_US - 1) / NS_IN_US },
        { .kind = RPMI_STEP_READ,
          .key = reader->log->read_key,
          .offset = offset,
          .len = (uint16_t)read_bytes(reader) },
    };
    uint32_t bytes = rpmi_step_put(conn->bounce, &steps[0]);
    unsigned char *answer = conn->bounce + RPMI_STEPS_BYTES;
    uint32_t front = RPMI_STEPS_ANSWER_HEAD + rpmi_step_result_bytes(&steps[0]);
    struct rpmi_op op = { .kind = RPMI_OP_STEPS, .body = conn->bounce, .into = answer };
    uint32_t done;
    int err;

    RPM_ASSERT(word < RPMI_FRAME_HEADER_BYTES && until_ns > now_ns);
    bytes += rpmi_step_put(conn->bounce + bytes, &steps[1]);
    op.body_bytes = bytes;
    op.len = front + rpmi_step_result_bytes(&steps[1]);
    RPM_ASSERT(op.len <= RPMI_STEPS_BYTES); /* the answer has its own part of the bounce buffer */
    err = rpmi_conn_exec(conn, &op, 1);
    if (err == 0)
        err = rpmi_steps_answer_get(answer, 2, &done);
    if (err != 0 || done == 0)
        return err;
    if (done == 1)
        return rpmi_fail(RPM_E_PROTO, "the server ended a list at a READ without RPM_STEP_MUST");
    memcpy(reader->buffer, answer + front, steps[1].len);
    rpmi_reader_filled(reader, steps[1].len);
    return CHANGED;
}

static int watch_if_able(struct rpm_reader *reader, uint64_t deadline_ns)
{
    uint64_t now_ns = now_of(reader);
    uint64_t until_ns = watch_until(reader, now_ns, deadline_ns);

    if (!may_watch(reader, now_ns) || until_ns < now_ns + WATCH_MIN_NS)
        return POLLS;
    return watch(reader, now_ns, until_ns);
}

int rpm_reader_wait(struct rpm_reader *reader, uint64_t timeout_us, struct rpm_record *record)
{
    rpmi_begin();

    uint64_t pause_ns = PAUSE_MIN_NS;
    uint64_t deadline_ns;
    uint32_t polls = 0;
    int found;

    RPM_ASSERT(reader != NULL);
    found = rpm_reader_next(reader, record);
    if (found != 0 || timeout_us == 0)
        return found;
    if (timeout_us > UINT64_MAX / (2 * NS_IN_US))
        timeout_us = UINT64_MAX / (2 * NS_IN_US);
    deadline_ns = now_of(reader) + timeout_us * NS_IN_US;
    while (now_of(reader) < deadline_ns) {
        int outcome = watch_if_able(reader, deadline_ns);

        if (outcome < 0)
            return outcome;
        if (outcome == UNCHANGED) {
            if (rpmi_reader_refresh(reader) == 0)
                continue;
            reader->idle_reads = RPMI_IDLE_READS_MAX; /* so that rpm_reader_next() reports it */
        } else if (outcome == CHANGED) { /* if the record is not whole yet, it soon will be */
            polls = 0;
            pause_ns = PAUSE_MIN_NS;
        } else if (++polls > POLLS_BEFORE_PAUSE) {
            struct rpmi_link *link = reader->log->conn->link;

            link->ops->pause(link, pause_ns);
            pause_ns = pause_ns * 2 < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
        } else {
            rpmi_cpu_relax();
        }
        found = rpm_reader_next(reader, record);
        if (found != 0)
            return found;
    }
    return 0;
}
