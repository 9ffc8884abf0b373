/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain.cc: describes why one transaction precedes another, and names the anomaly.
 */
#include "history/explain.h"

namespace dtx::history
{

namespace
{

struct Step {
    uint32_t from;
    uint32_t to;
    Dep dep = Dep::kWw;
    uint32_t object = kNone;
    uint64_t before = 0; /* versions, or times */
    uint64_t after = 0;
};

class Explainer
{
  public:
    Explainer(const History &history, const Versions &versions)
        : history_(history), versions_(versions)
    {
    }

    /* The first reason of the kinds in @mask, in the order ww, wr, rw, rt. */
    Step step(uint32_t from, uint32_t to, unsigned mask) const
    {
        Step step{ from, to };

        for (Dep dep : { Dep::kWw, Dep::kWr, Dep::kRw, Dep::kRt }) {
            step.dep = dep;
            if ((mask & mask_of(dep)) && fits(step))
                break;
        }
        return step;
    }

    std::string text(const Step &step) const
    {
        std::string from = name(step.from);
        std::string to = name(step.to);
        std::string before = std::to_string(step.before);
        std::string after = std::to_string(step.after);
        std::string object =
            step.object == kNone ? "" : std::to_string(history_.object_id(step.object));

        switch (step.dep) {
        case Dep::kWw:
            return from + " made version " + before + " of object " + object + ", " + to +
                   " the next, version " + after + " (ww)";
        case Dep::kWr:
            return from + " made version " + before + " of object " + object + ", which " + to +
                   " read (wr)";
        case Dep::kRw:
            return from + " read version " + before + " of object " + object + ", " + to +
                   " made the next, version " + after + " (rw)";
        case Dep::kRt:
            break;
        }
        return from + " ended at " + before + ", before " + to + " began at " + after +
               " (real time)";
    }

  private:
    bool fits(Step &step) const
    {
        switch (step.dep) {
        case Dep::kWw:
            return overwrote(step, history_.writes(step.from));
        case Dep::kWr:
            return saw(step);
        case Dep::kRw:
            return overwrote(step, history_.reads(step.from));
        case Dep::kRt:
            break;
        }
        step.before = history_.txn(step.from).end_ns;
        step.after = history_.txn(step.to).begin_ns;
        return step.before < step.after;
    }

    /* Did the second make the version after one that the first read or made? */
    bool overwrote(Step &step, std::span<const Item> items) const
    {
        for (const Item &item : items) {
            std::span<const Made> list = versions_.of(item.object);
            size_t next = versions_.place(item.object, item.version);

            if (next < list.size() && list[next].version == item.version)
                next++;
            if (next < list.size() && list[next].writer == step.to) {
                step.object = item.object;
                step.before = item.version;
                step.after = list[next].version;
                return true;
            }
        }
        return false;
    }

    bool saw(Step &step) const
    {
        for (const Item &item : history_.reads(step.to)) {
            std::span<const Made> list = versions_.of(item.object);
            size_t at = versions_.place(item.object, item.version);

            if (at < list.size() && list[at].version == item.version &&
                list[at].writer == step.from) {
                step.object = item.object;
                step.before = item.version;
                return true;
            }
        }
        return false;
    }

    std::string name(uint32_t txn) const
    {
        return "transaction " + std::to_string(history_.txn_id(txn)) + " (session " +
               std::to_string(history_.txn(txn).session) + ")";
    }

    const History &history_;
    const Versions &versions_;
};

struct Counts {
    unsigned of[kDeps] = {};

    unsigned operator[](Dep dep) const
    {
        return of[static_cast<size_t>(dep)];
    }
};

/* Adya's names, and the common names of frequent anomalies. */
std::string class_name(const History &history, const std::vector<Step> &steps)
{
    Counts counts;
    bool reader = false;

    for (const Step &step : steps) {
        counts.of[static_cast<size_t>(step.dep)]++;
        reader = reader || history.writes(step.from).empty();
    }
    if (counts[Dep::kRw] == 0)
        return counts[Dep::kWr] == 0 ? "G0" : "G1c";
    if (counts[Dep::kRw] == 1) {
        bool lost =
            steps.size() == 2 && counts[Dep::kWw] == 1 && steps[0].object == steps[1].object;
        return lost ? "G-single, lost update" : "G-single";
    }
    if (counts[Dep::kRt] > 0)
        return "G2-item";
    if (steps.size() == 2)
        return "G2-item, write skew";
    return reader ? "G2-item, read-only anomaly" : "G2-item";
}

} // namespace

Violation explain_cycle(const History &history, const Versions &versions,
                        std::span<const Hop> cycle, uint64_t component)
{
    Explainer explainer(history, versions);
    std::vector<Step> steps;
    Violation violation{ Kind::kCycle, "", {} };

    for (size_t i = 0; i < cycle.size(); i++) {
        uint32_t to = cycle[(i + 1) % cycle.size()].txn;
        steps.push_back(explainer.step(cycle[i].txn, to, cycle[i].mask));
        violation.steps.push_back(explainer.text(steps.back()));
        if (steps.back().dep == Dep::kRt)
            violation.kind = Kind::kRealTimeCycle;
    }
    violation.text = "cycle of " + std::to_string(cycle.size()) + " (" +
                     class_name(history, steps) +
                     (violation.kind == Kind::kCycle ? ")" : ", only with real time)") + " among " +
                     std::to_string(component) + " transactions";
    return violation;
}

} // namespace dtx::history
