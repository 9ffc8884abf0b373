/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elle.cc: writes versions as elements of lists, and each attempt as two operations.
 */
#include "history/elle.h"

#include "history/outcomes.h"
#include "history/versions.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace dtx::history
{

namespace
{

constexpr size_t kBufferBytes = 1 << 20;

enum class Op : uint8_t { kInvoke, kComplete };

struct Event {
    uint64_t at_ns;
    Op op;
    uint32_t txn;
};

class Exporter
{
  public:
    Exporter(const History &history, bool partial, const std::string &path)
        : history_(history), outcomes_(history, partial), versions_(history, outcomes_, partial),
          path_(path), out_(fopen(path.c_str(), "we")), process_(history.txns())
    {
        if (!out_)
            fail();
    }

    ElleResult run()
    {
        number_processes();
        for (uint32_t object = 0; object < history_.objects(); object++)
            result_.partial_objects += versions_.base(object) > 0;
        write_absent();
        for (const Event &event : events())
            operation(event);
        flush();
        if (fclose(out_.release()) != 0)
            fail();
        return result_;
    }

  private:
    struct Session {
        uint64_t process;
        uint32_t running; /* a transaction, or kNone */
    };
    struct Close {
        void operator()(FILE *file) const
        {
            fclose(file);
        }
    };

    [[noreturn]] void fail() const
    {
        throw Failure(path_ + ": " + strerror(errno));
    }

    std::vector<Event> events() const
    {
        std::vector<Event> events;

        for (uint32_t txn = 0; txn < history_.txns(); txn++) {
            const Txn &what = history_.txn(txn);
            if (what.outcome == TxnOutcome::kAbsent)
                continue;
            events.push_back({ what.begin_ns, Op::kInvoke, txn });
            events.push_back({ what.end_ns, Op::kComplete, txn });
        }
        /* Operations of one nanosecond may overlap, so begins sort before ends. */
        std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
            return std::tie(a.at_ns, a.op, a.txn) < std::tie(b.at_ns, b.op, b.txn);
        });
        return events;
    }

    /* New processes get numbers above those of all sessions. */
    void number_processes()
    {
        for (uint32_t txn = 0; txn < history_.txns(); txn++)
            next_process_ = std::max<uint64_t>(next_process_, history_.txn(txn).session + 1ull);
    }

    /* A process runs one operation at a time and ends with one of unknown outcome. */
    void choose_process(const Event &event)
    {
        const Txn &txn = history_.txn(event.txn);
        auto [at, first] = sessions_.try_emplace(txn.session, Session{ txn.session, kNone });
        Session &session = at->second;

        if (event.op == Op::kInvoke && session.running != kNone) {
            process_[event.txn] = next_process_++;
        } else if (event.op == Op::kInvoke) {
            process_[event.txn] = session.process;
            session.running = event.txn;
        } else if (session.running == event.txn) {
            session.running = kNone;
            if (txn.outcome == TxnOutcome::kUnknown)
                session.process = next_process_++;
        }
    }

    void operation(const Event &event)
    {
        static const char *const types[] = { "ok", "fail", "info" };
        const Txn &txn = history_.txn(event.txn);
        bool done = event.op == Op::kComplete;

        choose_process(event);
        open_operation(done ? types[static_cast<size_t>(txn.outcome)] : "invoke",
                       process_[event.txn], event.at_ns);
        for (const Item &item : history_.reads(event.txn))
            read(item, done && txn.outcome == TxnOutcome::kCommitted);
        for (const Item &item : history_.writes(event.txn))
            append(item.object, event.txn);
        close_operation();
    }

    /* Writes a transaction of unknown outcome for each writer that is not in the history, and of
     * which only its versions are known: before all other operations, each in a process of its
     * own. */
    void write_absent()
    {
        std::map<uint32_t, std::vector<uint32_t>> made;

        for (uint32_t object = 0; object < history_.objects(); object++)
            for (const Made &item : versions_.of(object))
                if (history_.txn(item.writer).outcome == TxnOutcome::kAbsent)
                    made[item.writer].push_back(object);
        for (const auto &[txn, objects] : made) {
            for (const char *type : { "invoke", "info" }) {
                open_operation(type, next_process_, 0);
                for (uint32_t object : objects)
                    append(object, txn);
                close_operation();
            }
            next_process_++;
        }
        result_.absent_writers = made.size();
    }

    void open_operation(const char *type, uint64_t process, uint64_t at_ns)
    {
        text_ += "{:index " + std::to_string(result_.operations++) + ", :type :" + type +
                 ", :process " + std::to_string(process) + ", :time " + std::to_string(at_ns) +
                 ", :f :txn, :value [";
        first_ = true;
    }

    void close_operation()
    {
        text_ += "]}\n";
        if (text_.size() > kBufferBytes)
            flush();
    }

    void next_step(const char *what, uint32_t object)
    {
        text_ += first_ ? "[:" : " [:";
        text_ += what;
        text_ += ' ' + std::to_string(history_.object_id(object)) + ' ';
        first_ = false;
    }

    void append(uint32_t object, uint32_t writer)
    {
        next_step("append", object);
        text_ += std::to_string(history_.txn_id(writer)) + ']';
    }

    /* All writers up to the version that was read; the last one is the writer that the reader
     * recorded. */
    void read(const Item &item, bool known)
    {
        std::span<const Made> list = versions_.of(item.object);
        size_t count = versions_.place(item.object, item.version);
        bool exact = count < list.size() && list[count].version == item.version;
        bool before =
            item.writer == kLoad || history_.txn(item.writer).outcome == TxnOutcome::kAbsent;
        const char *space = "";

        next_step("r", item.object);
        if (!known) {
            text_ += "nil]";
            return;
        }
        text_ += '[';
        for (size_t i = 0; i < count; i++, space = " ")
            text_ += space + std::to_string(history_.txn_id(list[i].writer));
        if (exact || count > 0 || !before)
            text_ += space + std::to_string(history_.txn_id(item.writer));
        text_ += "]]";
    }

    void flush()
    {
        if (fwrite(text_.data(), 1, text_.size(), out_.get()) != text_.size())
            fail();
        text_.clear();
    }

    const History &history_;
    Outcomes outcomes_;
    Versions versions_;
    std::string path_;
    std::unique_ptr<FILE, Close> out_;
    ElleResult result_;
    std::vector<uint64_t> process_; /* of each transaction */
    std::map<uint32_t, Session> sessions_;
    uint64_t next_process_ = 0;
    std::string text_;
    bool first_ = true; /* step of the operation */
};

} // namespace

ElleResult write_elle(const History &history, bool partial, const std::string &path)
{
    return Exporter(history, partial, path).run();
}

} // namespace dtx::history
