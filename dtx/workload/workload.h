/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.h: what a benchmark is made of: a schema, its load, transactions by kind, and the rules
 * that the rows must keep after any run.
 *
 * A terminal is one user: it makes up its input and runs one transaction after the other in a
 * coroutine of its session. A tally of its thread counts the outcomes and effects of its
 * transactions.
 *
 * Tests: tests/unit/dtx/workload/
 */
#ifndef DTX_WORKLOAD_WORKLOAD_H
#define DTX_WORKLOAD_WORKLOAD_H

#include "workload/findings.h"
#include "workload/ledger.h"
#include "workload/loader.h"
#include "workload/random.h"
#include "workload/receipts.h"
#include <dtx/session.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dtx
{

/* How often transactions of one kind ended how. */
struct KindCounts {
    uint64_t committed = 0;
    uint64_t aborted = 0;   /* by the rules of the business */
    uint64_t conflicts = 0; /* attempts that had to be made again */
    uint64_t unknown = 0;

    uint64_t attempts() const
    {
        return committed + aborted + conflicts + unknown;
    }
    KindCounts &operator+=(const KindCounts &other);
};

/* The results of one thread's transactions. */
struct Tally {
    explicit Tally(size_t kinds) : counts(kinds) {}
    void merge(const Tally &other);

    std::vector<KindCounts> counts; /* by kind */
    Ledger ledger;
    Receipts *receipts = nullptr; /* nullptr: none are kept */
    uint64_t skipped = 0;         /* TPC-C: districts that had nothing to deliver */
};

/* How a transaction as the workload counts them has ended; it may be several of the database. */
struct Ended {
    uint32_t kind;
    Outcome outcome;
};

class Terminal
{
  public:
    virtual ~Terminal() = default;
    /* One transaction of this terminal's mix. Its effects on totals are in the tally afterwards. */
    virtual Task<Ended> next() = 0;
};

/* The place of a terminal in a run: coroutine @coroutine of thread @thread of @threads. */
struct Seat {
    uint32_t thread = 0;
    uint32_t threads = 1;
    uint32_t coroutine = 0;
    uint64_t seed = 1;

    uint64_t own_seed() const
    {
        return seed_of(seed, uint64_t{ thread } << 32 | coroutine);
    }
};

class Workload
{
  public:
    virtual ~Workload() = default;

    virtual const Schema &schema() const = 0;
    /* Names of the kinds of transactions. */
    virtual const std::vector<std::string> &kinds() const = 0;

    /* A share of the load; they may run at the same time, each in its own thread. Throws Error:
     * RPM_E_EXISTS if rows are there, code 0 if it was stopped. */
    virtual void load(Session &session, const Share &share) = 0;

    /* The session, the tally and this workload must outlive it. */
    virtual std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                               const Seat &seat) = 0;

    /* What must hold of copy @copy of all rows, and whether it does. No session uses the
     * database meanwhile. */
    virtual Findings examine(const Cluster &cluster, uint32_t copy) = 0;

    /* Compares the rows with the outcomes that all runs since the load have reported. Throws Error,
     * also of a workload that gives no receipts. */
    virtual Findings audit(const Cluster &cluster, uint32_t copy,
                           const std::vector<Receipt> &receipts);

    /* What is wrong, a sentence each; empty: nothing. */
    std::vector<std::string> check(const Cluster &cluster, uint32_t copy)
    {
        return examine(cluster, copy).texts();
    }

    /* The sums that tallies keep a ledger of; as above. */
    virtual Totals totals(const Cluster &cluster, uint32_t copy) = 0;

    /* What totals() must be after the load. */
    virtual Totals loaded() = 0;

    /* check(), and that the totals have moved from @before by what the ledger says. */
    std::vector<std::string> check_run(const Cluster &cluster, uint32_t copy, const Totals &before,
                                       const Tally &tally);
};

} // namespace dtx
#endif
