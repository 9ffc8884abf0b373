/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * experiment.h: an experiment: a question, the expected result and its reason, the points to
 * measure and the figures that show them.
 */
#ifndef RPM_HINTS_EXPERIMENT_H
#define RPM_HINTS_EXPERIMENT_H

#include "point.h"

#include <vector>

namespace hints
{

/* Columns by name, see report.cc. The figure "h1_cores" shows the points "h1/cores/...", unless
 * labels is set. */
struct Figure {
    const char *id;
    const char *title;
    const char *see;  /* a sentence: what the figure should show */
    const char *kind; /* "line" or "bar" */
    const char *x;
    const char *y;
    const char *xlabel;
    const char *ylabel;
    bool xlog;
    bool ylog;
    const char *labels = nullptr; /* shows points whose labels begin with this */
};

struct Experiment {
    const char *run;
    const char *hint; /* "H1"; "": no single hint */
    const char *file;
    const char *title;
    const char *question;
    const char *expect;
    const char *why;
    std::vector<Figure> figures;

    /* The points to measure with a set of hints; @reduced: fewer points, with the same labels. The
     * hints decide their fields of the load, unless the experiment varies these fields. */
    std::vector<Point> (*points)(const rpm_facts &facts, uint32_t hints, bool reduced);
};

/* All experiments, in order. */
const std::vector<const Experiment *> &experiments();
const Experiment *find_experiment(const std::string &run);

extern const Experiment kNuma, kSpread, kDdio, kCopy, kXpline, kWordNic, kWordCpu, kLock, kChain;
extern const Experiment kAblate, kPoints, kOctopus;

/* The number of operations for a steady result: fewer of large operations. */
uint64_t ops_for(uint64_t bytes, bool reduced);

/* Clients as in the published runs: 3 machines of 10 threads, with 8 operations outstanding
 * each. */
Point clients(uint32_t op, uint64_t bytes);

/* Cores of the server that work on its own memory. */
Point cores(uint32_t op, uint64_t bytes, uint32_t threads);

/* Clients that send calls to 10 server cores. */
Point callers(uint32_t op, uint64_t bytes);

/* The same set of hints with Hk on, or off. */
uint32_t with(uint32_t hints, int k, bool on);

} // namespace hints

#endif
