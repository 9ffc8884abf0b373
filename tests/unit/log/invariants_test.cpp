// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

#include "support/death.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

struct Spoil {
    const char *what; // part of the text of the assertion that must fail
    void (*how)(rpm_log *log);
};

const Spoil SPOILS[] = {
    { "free_lsn <=", [](rpm_log *log) { log->free_lsn = log->tail_lsn + 64; } },
    { "acked_lsn <= log->sealed_lsn", [](rpm_log *log) { log->acked_lsn = log->sealed_lsn + 64; } },
    { "sealed_lsn <= log->tail_lsn",
      [](rpm_log *log) { log->acked_lsn = log->sealed_lsn = log->tail_lsn + 64; } },
    { "<= log->capacity", [](rpm_log *log) { log->tail_lsn += log->capacity; } },
    { "is_aligned(log->free_lsn", [](rpm_log *log) { log->free_lsn++; } },
    { "log->position ==", [](rpm_log *log) { log->position += 64; } },
    { "reaped <= log->completed", [](rpm_log *log) { log->reaped = log->completed + 1; } },
    { "completed <= log->submitted", [](rpm_log *log) { log->completed = log->submitted + 1; } },
    { "<= log->inflight_max", [](rpm_log *log) { log->inflight_max = 1; } },
    { "unknown_count <=", [](rpm_log *log) { log->unknown_count = log->inflight_max + 1; } },
    { "log->dead == 0", [](rpm_log *log) { log->dead = RPM_E_LOST; } },
    { "entry->lsn >= before",
      [](rpm_log *log) { log->entries[log->completed & log->entries_mask].lsn = 0; } },
    { "before == log->tail_lsn",
      [](rpm_log *log) {
          log->entries[(log->submitted + log->pending - 1) & log->entries_mask].end_lsn -= 64;
      } },
    { "entry->stage_end >=",
      [](rpm_log *log) { log->entries[log->completed & log->entries_mask].stage_end = 0; } },
    { "outbox.head <= log->outbox.tail",
      [](rpm_log *log) { log->outbox.tail = log->outbox.head - 1; } },
    { "pending <= log->ops_count", [](rpm_log *log) { log->ops_count = 0; } },
    { "sealed_lsn < log->tail_lsn", [](rpm_log *log) { log->sealed_lsn = log->tail_lsn; } },
    { "pending_stage <=", [](rpm_log *log) { log->pending_stage = log->outbox.tail + 64; } },
    { "sealed_seq_prior <=", [](rpm_log *log) { log->sealed_seq_prior = log->sealed_seq + 1; } },
    { "sealed_seq <= log->submitted", [](rpm_log *log) { log->sealed_seq = log->submitted + 1; } },
    { "owner.holds ==", [](rpm_log *log) { log->waiting = 0; } },
    { "waiting == 0 ||",
      [](rpm_log *log) {
          log->dead = RPM_E_LOST;
          log->completed = log->submitted += log->pending;
          log->pending = 0;
      } },
    { "reserved_data != NULL",
      [](rpm_log *log) { log->reserved = 8, log->reserved_data = nullptr; } },
    { "record_max <=", [](rpm_log *log) { log->record_max = log->capacity; } },
    { "epoch > 0", [](rpm_log *log) { log->epoch = 0; } },
};

} // namespace

TEST_CASE(
    "invariants: a log with every queue in use passes, and each thing that can be wrong is seen",
    "[unit]")
{
    Server server;
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, 64 << 10);

    append(log, payload(1, 1000));
    conn.link->manual = true;
    for (uintptr_t i = 0; i < 3; i++)
        REQUIRE(append_async(log, payload(i, 1000), i) == 0);
    REQUIRE(log.log->completed > 0);
    REQUIRE(log.log->submitted > log.log->completed);
    REQUIRE(log.log->pending > 0);
    REQUIRE(log.log->owner.holds);
    REQUIRE(rpmi_log_check_invariants(log));
    for (const Spoil &spoil : SPOILS) {
        CAPTURE(spoil.what);
        std::string said = death_of([&] {
            spoil.how(log);
            (void)rpmi_log_check_invariants(log);
        });

        CAPTURE(said);
        CHECK(said.find(spoil.what) != std::string::npos);
    }
    conn.link->manual = false;
}
