/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * versions.cc: orders the versions of each object and finds violations of that order.
 */
#include "history/versions.h"

#include <algorithm>
#include <tuple>

namespace dtx::history
{

Versions::Versions(const History &history, const Outcomes &outcomes, bool partial)
    : history_(history), outcomes_(outcomes), partial_(partial), start_(history.objects() + 1),
      bases_(history.objects())
{
    each_made([this](const Item &item, uint32_t) { start_[item.object + 1]++; });
    for (uint32_t object = 0; object < history_.objects(); object++)
        start_[object + 1] += start_[object];
    made_.resize(start_.back());
    std::vector<uint64_t> next(start_.begin(), start_.end() - 1);
    each_made([this, &next](const Item &item, uint32_t writer) {
        made_[next[item.object]++] = { item.version, writer };
    });
    sort_and_unite();
    for (uint32_t txn = 0; txn < history_.txns(); txn++)
        if (counts(txn))
            for (const Item &item : history_.reads(txn))
                note_base(item);
    for (const Item &item : history_.final_items())
        note_base(item);
}

/* Calls @take for each version: recorded by its writer or, if the writer's line is missing, its
 * reader. */
template <typename Take> void Versions::each_made(Take take) const
{
    auto lost = [this, &take](const Item &item) {
        if (item.writer != kLoad && history_.txn(item.writer).outcome == TxnOutcome::kAbsent)
            take(item, item.writer);
    };

    for (uint32_t txn = 0; txn < history_.txns(); txn++) {
        if (!outcomes_.happened(txn))
            continue;
        for (const Item &item : history_.writes(txn))
            take(item, txn);
        if (partial_)
            for (const Item &item : history_.reads(txn))
                lost(item);
    }
    if (partial_)
        for (const Item &item : history_.final_items())
            lost(item);
}

void Versions::sort_and_unite()
{
    uint64_t kept = 0;

    for (uint32_t object = 0; object < history_.objects(); object++) {
        auto from = made_.begin() + static_cast<ptrdiff_t>(start_[object]);
        auto to = made_.begin() + static_cast<ptrdiff_t>(start_[object + 1]);
        uint64_t first = kept;

        std::sort(from, to, [](const Made &a, const Made &b) {
            return std::tie(a.version, a.writer) < std::tie(b.version, b.writer);
        });
        for (; from != to; ++from) {
            const Made &made = *from;
            const Made *last = kept > first ? &made_[kept - 1] : nullptr;
            bool lost = history_.txn(made.writer).outcome == TxnOutcome::kAbsent;

            if (!last || last->version != made.version)
                made_[kept++] = made;
            else if (!lost ||
                     last->writer != made.writer) /* many transactions may read one version */
                twice_.push_back({ object, *last, made.writer });
        }
        start_[object] = first;
    }
    made_.resize(kept);
    start_.back() = kept;
}

size_t Versions::place(uint32_t object, uint64_t version) const
{
    std::span<const Made> list = of(object);

    if (list.empty() || version <= list[0].version)
        return 0;
    /* Without gaps, its number gives its place. */
    uint64_t guess = version - list[0].version;
    if (guess < list.size() && list[guess].version == version)
        return guess;
    auto at = std::lower_bound(list.begin(), list.end(), version,
                               [](const Made &made, uint64_t v) { return made.version < v; });
    return static_cast<size_t>(at - list.begin());
}

uint64_t Versions::base(uint32_t object) const
{
    std::span<const Made> list = of(object);

    if (bases_[object].writer != kNone || list.empty())
        return bases_[object].version;
    uint64_t version = list[0].version - 1;
    while (outcomes_.open(object, version))
        version--;
    return version;
}

/* If the version that was read is older than all versions made, the history began with it. */
void Versions::note_base(const Item &item)
{
    std::span<const Made> list = of(item.object);
    Base &base = bases_[item.object];
    bool before = list.empty() || item.version < list[0].version;

    if (before && base.writer == kNone && before_history(item.writer))
        base = { item.version, item.writer };
}

bool Versions::before_history(uint32_t writer) const
{
    return writer == kLoad || history_.txn(writer).outcome == TxnOutcome::kAbsent;
}

std::string Versions::name(uint32_t txn) const
{
    return txn == kLoad ? "the load" : "transaction " + std::to_string(history_.txn_id(txn));
}

std::string Versions::version_name(uint32_t object, uint64_t version) const
{
    return "version " + std::to_string(version) + " of object " +
           std::to_string(history_.object_id(object));
}

void Versions::check(Violations &out) const
{
    check_twice(out);
    check_gaps(out);
    for (uint32_t txn = 0; txn < history_.txns(); txn++)
        if (outcomes_.happened(txn))
            for (const Item &item : history_.reads(txn)) {
                check_seen(txn, item, out);
                check_skipped(txn, item, out);
            }
    check_final(out);
}

void Versions::check_twice(Violations &out) const
{
    for (const Twice &twice : twice_) {
        uint32_t a = twice.first.writer;
        uint32_t b = twice.second;
        bool torn = history_.txn(a).outcome == TxnOutcome::kUnknown ||
                    history_.txn(b).outcome == TxnOutcome::kUnknown;
        Kind kind = torn ? Kind::kTorn : Kind::kLostUpdate;

        out.add(kind, [&] {
            std::string text = version_name(twice.object, twice.first.version) +
                               " was made twice, by " + name(a) + " and by " + name(b);
            if (torn)
                text += "; of unknown outcome, but seen elsewhere, was " +
                        name(history_.txn(a).outcome == TxnOutcome::kUnknown ? a : b);
            return Violation{ kind, text, {} };
        });
    }
}

/* Gaps between versions that were made, and between the base and the first one made. */
void Versions::check_gaps(Violations &out) const
{
    for (uint32_t object = 0; object < history_.objects(); object++) {
        std::span<const Made> list = of(object);
        bool known = bases_[object].writer != kNone;
        uint64_t last = list.empty() ? 0 : base(object);

        if (history_.fresh() && !partial_ && base(object) > 1)
            out.add(Kind::kGap, [&] {
                return Violation{ Kind::kGap,
                                  "no transaction made " + version_name(object, base(object)) +
                                      ", but a database that was just loaded has none above 1",
                                  {} };
            });
        for (size_t i = 0; i < list.size(); last = list[i++].version) {
            if ((i == 0 && !known) || gap_explained(object, last, list[i].version))
                continue;
            out.add(Kind::kGap, [&] {
                return Violation{ Kind::kGap,
                                  "no transaction made " + version_name(object, last + 1) +
                                      ", but " + name(list[i].writer) + " made version " +
                                      std::to_string(list[i].version),
                                  {} };
            });
        }
    }
}

bool Versions::gap_explained(uint32_t object, uint64_t low, uint64_t high) const
{
    if (partial_)
        return true;
    for (uint64_t version = low + 1; version < high; version++)
        if (!outcomes_.open(object, version))
            return false;
    return true;
}

/* Checks a version that one transaction, or the final state if @who is kNone, read. */
void Versions::check_seen(uint32_t who, const Item &item, Violations &out) const
{
    std::span<const Made> list = of(item.object);
    size_t at = place(item.object, item.version);
    bool made = at < list.size() && list[at].version == item.version;

    if (made && list[at].writer == item.writer)
        return;
    if (made && made_twice(item))
        return;
    if (!made && before_history(item.writer) && is_base(item, at))
        return;
    TxnOutcome outcome = history_.txn(item.writer).outcome;
    Kind kind = outcome == TxnOutcome::kAborted ? Kind::kAbortedRead
                : made || (outcome != TxnOutcome::kAbsent && item.writer != kLoad)
                    ? Kind::kWrongWriter
                    : Kind::kUnwritten;
    out.add(kind, [&] {
        std::string text = (who == kNone ? "the final state has " : name(who) + " read ") +
                           version_name(item.object, item.version) + " by " + name(item.writer);
        if (outcome == TxnOutcome::kAborted)
            text += ", which aborted";
        else if (made)
            text += ", but " + name(list[at].writer) + " made it";
        else if (kind == Kind::kWrongWriter)
            text += ", which did not make it";
        else
            text += ", but the history begins with version " + std::to_string(base(item.object)) +
                    (item.writer == kLoad ? "" : " and that transaction is not in it");
        return Violation{ kind, text, {} };
    });
}

/* A transaction that overwrites what it read makes the next version. If it made a later one,
 * another transaction wrote in between; if that one is known, a cycle reports it. */
void Versions::check_skipped(uint32_t txn, const Item &item, Violations &out) const
{
    std::span<const Made> list = of(item.object);
    size_t next = place(item.object, item.version);

    if (next < list.size() && list[next].version == item.version)
        next++;
    if (next == list.size() || list[next].writer != txn || list[next].version == item.version + 1)
        return;
    out.add(Kind::kLostUpdate, [&] {
        return Violation{ Kind::kLostUpdate,
                          name(txn) + " read " + version_name(item.object, item.version) +
                              " and made version " + std::to_string(list[next].version) +
                              ": the versions between them are lost",
                          {} };
    });
}

/* Is the version already reported as made by two transactions? Then its readers are not reported.
 */
bool Versions::made_twice(const Item &item) const
{
    auto at = std::lower_bound(
        twice_.begin(), twice_.end(), item, [](const Twice &twice, const Item &key) {
            return std::tie(twice.object, twice.first.version) < std::tie(key.object, key.version);
        });

    for (; at != twice_.end() && at->object == item.object && at->first.version == item.version;
         ++at)
        if (at->second == item.writer)
            return true;
    return false;
}

/* Is this the version that the history began with? */
bool Versions::is_base(const Item &item, size_t at) const
{
    const Base &base = bases_[item.object];

    if (at > 0 || base.version != item.version || base.writer != item.writer)
        return false;
    return !history_.fresh() || partial_ || (item.writer == kLoad && item.version <= 1);
}

void Versions::check_final(Violations &out) const
{
    for (const Item &item : history_.final_items()) {
        std::span<const Made> list = of(item.object);

        check_seen(kNone, item, out);
        if (list.empty() || item.version >= list.back().version)
            continue;
        bool torn = history_.txn(list.back().writer).outcome == TxnOutcome::kUnknown;
        Kind kind = torn ? Kind::kTorn : Kind::kDropped;
        out.add(kind, [&] {
            return Violation{ kind,
                              "the final state has " + version_name(item.object, item.version) +
                                  ", but " + name(list.back().writer) +
                                  (torn ? ", of unknown outcome but seen elsewhere," : "") +
                                  " made version " + std::to_string(list.back().version),
                              {} };
        });
    }
}

} // namespace dtx::history
