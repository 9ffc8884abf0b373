/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.h: the interface of a benchmark: a schema, its load, transactions of several kinds, and
 * the rules that the rows must keep after any run.
 *
 * A terminal simulates one user: it draws input and runs one transaction after the other in a
 * coroutine of a session. The tally of its thread counts the outcomes and effects of its
 * transactions.
 *
 * Tests: tests/unit/dtx/workload/
 */
#ifndef DTX_WORKLOAD_WORKLOAD_H
#define DTX_WORKLOAD_WORKLOAD_H

#include "workload/ledger.h"
#include "workload/loader.h"
#include "workload/random.h"
#include "workload/receipts.h"
#include <dtx/findings.h>
#include <dtx/session.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dtx
{

/* Number of transactions of one kind by outcome. */
struct KindCounts {
    uint64_t committed = 0;
    uint64_t aborted = 0;   /* by the rules of the benchmark */
    uint64_t conflicts = 0; /* attempts that were repeated */
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
    Receipts *receipts = nullptr; /* nullptr: none are written */
    uint64_t skipped = 0;         /* TPC-C: districts that had nothing to deliver */
};

/* The outcome of one transaction of the workload, which may be several of the database. */
struct Ended {
    uint32_t kind;
    Outcome outcome;
};

class Terminal
{
  public:
    virtual ~Terminal() = default;
    /* Runs one transaction of the mix, and adds its effects on totals to the tally. */
    virtual Task<Ended> next() = 0;
};

/* The place of a terminal in a run: coroutine @coroutine of thread @thread of @threads. */
struct TerminalPlace {
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

    /* Loads one share; several threads may load theirs at the same time. Throws Error: RPM_E_EXISTS
     * if the database has rows already, code 0 if it was stopped. */
    virtual void load(Session &session, const Share &share) = 0;

    /* A new terminal. The session, the tally and this workload must outlive it. */
    virtual std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                               const TerminalPlace &place) = 0;

    /* Checks the rules on copy @copy of all rows. No session may use the database meanwhile. */
    virtual Findings examine(const Cluster &cluster, uint32_t copy) = 0;

    /* Compares the rows with the outcomes that all runs since the load have reported. Throws Error,
     * also if the workload writes no receipts. */
    virtual Findings audit(const Cluster &cluster, uint32_t copy,
                           const std::vector<Receipt> &receipts);

    /* As examine(), but returns the violations, a sentence each. */
    std::vector<std::string> check(const Cluster &cluster, uint32_t copy)
    {
        return examine(cluster, copy).texts();
    }

    /* The sums of the database whose changes ledgers count. No session may use it meanwhile. */
    virtual Totals totals(const Cluster &cluster, uint32_t copy) = 0;

    /* The value of totals() after the load. */
    virtual Totals loaded() = 0;

    /* check(), and whether the totals have changed since @before as the ledger says. */
    std::vector<std::string> check_run(const Cluster &cluster, uint32_t copy, const Totals &before,
                                       const Tally &tally);
};

/* A workload whose tables are made for given parameters, of which Tables::schema is the schema. */
template <typename Parameters, typename Tables> class WorkloadOn : public Workload
{
  public:
    explicit WorkloadOn(const Parameters &parameters) : parameters_(parameters), tables_(parameters)
    {
    }
    const Schema &schema() const override
    {
        return tables_.schema;
    }
    const Tables &tables() const
    {
        return tables_;
    }

  protected:
    const Parameters parameters_;
    const Tables tables_;
};

} // namespace dtx
#endif
