/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph.cc: counts the edges of each node, then stores them in one array.
 */
#include "history/graph.h"

#include <algorithm>

namespace dtx::history
{

Graph::Graph(const History &history, const Versions &versions, bool strict) : txns_(history.txns())
{
    if (strict)
        link_times(history, versions);
    start_.resize(txns_ + points_ + 1);
    each(history, versions, [this](uint32_t from, uint32_t, Dep dep) {
        start_[from + 1]++;
        counts_[static_cast<size_t>(dep)]++;
    });
    for (size_t node = 1; node < start_.size(); node++)
        start_[node] += start_[node - 1];
    edges_.resize(start_.back());
    std::vector<uint64_t> next(start_.begin(), start_.end() - 1);
    each(history, versions, [this, &next](uint32_t from, uint32_t to, Dep dep) {
        edges_[next[from]++] = Edge{ to << 2 | static_cast<uint32_t>(dep) };
    });
    times_ = {};
}

/* Adds a point in time where a transaction begins after another has ended. Transactions may overlap
 * if one begins in the nanosecond in which the other ends. A transaction of unknown outcome has no
 * end. / */
void Graph::link_times(const History &history, const Versions &versions)
{
    std::vector<Moment> begins;
    std::vector<Moment> ends;
    auto earlier = [](const Moment &a, const Moment &b) { return a.at_ns < b.at_ns; };

    for (uint32_t txn = 0; txn < txns_; txn++) {
        const Txn &what = history.txn(txn);
        if (!versions.counts(txn) || what.outcome == TxnOutcome::kAbsent)
            continue;
        begins.push_back({ what.begin_ns, txn });
        if (what.outcome == TxnOutcome::kCommitted)
            ends.push_back({ what.end_ns, txn });
    }
    std::sort(begins.begin(), begins.end(), earlier);
    std::sort(ends.begin(), ends.end(), earlier);
    times_.reserve(begins.size() + ends.size());
    size_t ended = 0;
    for (const Moment &begin : begins) {
        size_t first = ended;

        while (ended < ends.size() && ends[ended].at_ns < begin.at_ns)
            times_.push_back({ ends[ended++].txn, txns_ + points_ });
        if (ended > first) {
            if (points_ > 0)
                times_.push_back({ txns_ + points_ - 1, txns_ + points_ });
            points_++;
        }
        if (points_ > 0)
            times_.push_back({ txns_ + points_ - 1, begin.txn });
    }
}

template <typename Take>
void Graph::each(const History &history, const Versions &versions, Take take) const
{
    for (uint32_t object = 0; object < history.objects(); object++) {
        std::span<const Made> list = versions.of(object);
        for (size_t i = 1; i < list.size(); i++)
            if (list[i - 1].writer != list[i].writer)
                take(list[i - 1].writer, list[i].writer, Dep::kWw);
    }
    for (uint32_t txn = 0; txn < txns_; txn++) {
        if (!versions.counts(txn))
            continue;
        for (const Item &item : history.reads(txn)) {
            std::span<const Made> list = versions.of(item.object);
            size_t at = versions.place(item.object, item.version);

            if (at < list.size() && list[at].version == item.version) {
                if (list[at].writer != txn)
                    take(list[at].writer, txn, Dep::kWr);
                at++;
            }
            if (at < list.size() && list[at].writer != txn)
                take(txn, list[at].writer, Dep::kRw);
        }
    }
    for (const Link &link : times_)
        take(link.from, link.to, Dep::kRt);
}

} // namespace dtx::history
