/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.cc: parses and checks the lines of a history. A file may have any bytes: each number is
 * checked against its range, each byte against a checksum.
 */
#include "history/reader.h"

#include "history/checksum.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace dtx::history
{

namespace
{

constexpr size_t kBlockBytes = 1 << 20;
constexpr size_t kLineBytesMax = 256 << 20; /* a transaction of millions of accesses */
constexpr size_t kShownBytes = 24;
constexpr uint64_t kFormat = 1;
constexpr std::string_view kSumName = ",\"sum\":\"";
constexpr size_t kSumBytes = kSumName.size() + 8 + 2; /* hex digits, "} */

/* What is wrong with a line; read_history() adds file and line. */
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* A position in one line. Each function either takes what its name says or throws. */
class Cursor
{
  public:
    explicit Cursor(std::string_view line) : line_(line), rest_(line) {}

    bool take_if(std::string_view literal)
    {
        if (!rest_.starts_with(literal))
            return false;
        rest_.remove_prefix(literal.size());
        return true;
    }

    void take(std::string_view literal)
    {
        if (!take_if(literal))
            fail("expected " + std::string(literal));
    }

    uint64_t number(const char *name)
    {
        uint64_t value = 0;
        auto [end, err] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);

        if (err == std::errc::result_out_of_range)
            fail(std::string(name) + " is out of range");
        if (err != std::errc() || (rest_[0] == '0' && end != rest_.data() + 1))
            fail(std::string("expected a number for ") + name);
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return value;
    }

    /* Takes the characters up to the next quote, and the quote. */
    std::string_view word()
    {
        size_t length = rest_.find('"');
        std::string_view text = rest_.substr(0, length);

        if (length == rest_.npos)
            fail("a string without a closing quote");
        rest_.remove_prefix(length + 1);
        return text;
    }

    /* Takes the line's checksum over all that was taken before, and the end of the line. */
    void sum()
    {
        size_t covered = line_.size() - rest_.size();
        char hex[8];

        take(kSumName);
        put_hex(hex, line_sum(line_.substr(0, covered)), sizeof(hex));
        if (word() != std::string_view(hex, sizeof(hex)))
            throw Wrong("its checksum does not match: the line was edited");
        take("}");
        end();
    }

    void end()
    {
        if (!rest_.empty())
            fail("expected the end of the line");
    }

    [[noreturn]] void fail(const std::string &what) const
    {
        std::string shown(rest_.substr(0, kShownBytes));

        for (char &c : shown)
            c = c >= ' ' && c <= '~' ? c : '?';
        throw Wrong(what + " at column " + std::to_string(line_.size() - rest_.size() + 1) +
                    (shown.empty() ? ", not the end of the line" : ", not " + shown));
    }

  private:
    std::string_view line_;
    std::string_view rest_;
};

/* ["[OBJ,VERSION(,WRITER)]",...] behind its opening bracket. */
void take_versions(Cursor &at, bool seen, std::vector<Access> &list)
{
    list.clear();
    if (at.take_if("]"))
        return;
    do {
        Access access;

        at.take("[");
        access.object = at.number("an object");
        at.take(",");
        access.version = at.number("a version");
        if (seen) {
            at.take(",");
            access.writer = at.number("a writer");
        }
        at.take("]");
        if (access.version == 0 && (!seen || access.writer != 0))
            throw Wrong(seen ? "version 0 has a writer" : "version 0 cannot be written");
        list.push_back(access);
    } while (at.take_if(","));
    at.take("]");
}

Status take_status(Cursor &at)
{
    std::string_view word = at.word();

    for (Status status : { Status::kCommitted, Status::kAborted, Status::kUnknown })
        if (word == status_name(status))
            return status;
    throw Wrong("status \"" + std::string(word.substr(0, kShownBytes)) +
                "\", expected committed, aborted or unknown");
}

Header parse_header(std::string_view line)
{
    Header header;

    if (line.size() <= kSumBytes)
        throw Wrong("this is not a history of dtx: expected a header line");
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("dtx") || !json.contains("what") ||
        json["what"] != "header")
        throw Wrong("this is not a history of dtx: expected a header line");
    if (json["dtx"] != kFormat)
        throw Wrong("format " + json["dtx"].dump() + ", but this program reads format 1");
    /* Any other members are covered by the checksum only. */
    Cursor at(line);
    at.take(line.substr(0, line.size() - kSumBytes));
    at.sum();
    if (json.contains("workload") && json["workload"].is_string())
        header.workload = json["workload"];
    if (json.contains("seed") && json["seed"].is_number_unsigned())
        header.seed = json["seed"];
    header.fresh = json.contains("fresh") && json["fresh"] == true;
    return header;
}

/* Reads a file in blocks and returns it line by line. */
class Lines
{
  public:
    explicit Lines(const std::string &path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), buffer_(kBlockBytes)
    {
        if (fd_ < 0)
            throw Failure(path + ": " + strerror(errno));
    }

    ~Lines()
    {
        ::close(fd_);
    }

    Lines(const Lines &) = delete;
    Lines &operator=(const Lines &) = delete;

    /* The next whole line without its newline; false at the end of the file. */
    bool next(std::string_view &line)
    {
        size_t looked = 0;

        for (;;) {
            const char *from = buffer_.data() + start_;
            const void *newline = memchr(from + looked, '\n', stop_ - start_ - looked);

            if (newline) {
                size_t length = static_cast<size_t>(static_cast<const char *>(newline) - from);
                line = std::string_view(from, length);
                start_ += length + 1;
                return true;
            }
            looked = stop_ - start_;
            if (!more())
                return false;
        }
    }

    /* Bytes behind the last newline. */
    size_t left_over() const
    {
        return stop_ - start_;
    }

  private:
    bool more()
    {
        if (stop_ - start_ > kLineBytesMax)
            throw Wrong("a line of more than " + std::to_string(kLineBytesMax) + " bytes");
        memmove(buffer_.data(), buffer_.data() + start_, stop_ - start_);
        stop_ -= start_;
        start_ = 0;
        if (stop_ == buffer_.size())
            buffer_.resize(2 * buffer_.size());
        for (;;) {
            ssize_t got = ::read(fd_, buffer_.data() + stop_, buffer_.size() - stop_);

            if (got > 0)
                stop_ += static_cast<size_t>(got);
            if (got >= 0)
                return got > 0;
            if (errno != EINTR)
                throw Wrong(std::string("cannot be read: ") + strerror(errno));
        }
    }

    int fd_;
    std::vector<char> buffer_;
    size_t start_ = 0;
    size_t stop_ = 0;
};

class Reader
{
  public:
    Reader(const std::string &path, bool partial, Sink &sink)
        : lines_(path), partial_(partial), sink_(sink)
    {
    }

    ReadResult run()
    {
        std::string_view line;

        for (; lines_.next(line); at_line_++) {
            if (result_.ended)
                throw Wrong("a line after the end line");
            take(line);
            if (!result_.ended)
                result_.lines++;
            result_.bytes += line.size() + 1;
        }
        if (lines_.left_over() != 0 && (!partial_ || result_.ended))
            throw Wrong("truncated: the line has no newline");
        if (result_.lines == 0)
            throw Wrong("empty: expected a header line");
        if (!result_.ended && !partial_)
            throw Wrong(
                "truncated: there is no end line; for the history of a killed run, use --partial");
        return result_;
    }

    uint64_t at_line() const
    {
        return at_line_;
    }

  private:
    void take(std::string_view line)
    {
        if (line.starts_with("{\"txn\":") && at_line_ > 1)
            take_entry(line);
        else if (at_line_ == 1)
            sink_.header(parse_header(line));
        else if (line.starts_with("{\"what\":\"final\""))
            take_final(line);
        else if (line.starts_with("{\"what\":\"end\""))
            take_end(line);
        else
            Cursor(line).fail("expected a transaction, a final state or the end");
        sum_.add(line);
        sum_.add("\n");
    }

    void take_entry(std::string_view line)
    {
        Cursor at(line);
        Entry entry;

        at.take("{\"txn\":");
        entry.txn = at.number("txn");
        at.take(",\"session\":");
        uint64_t session = at.number("session");
        at.take(",\"begin\":");
        entry.begin_ns = at.number("begin");
        at.take(",\"end\":");
        entry.end_ns = at.number("end");
        at.take(",\"status\":\"");
        entry.status = take_status(at);
        at.take(",\"reads\":[");
        take_versions(at, true, reads_);
        at.take(",\"writes\":[");
        take_versions(at, false, writes_);
        at.sum();
        if (entry.txn == 0)
            throw Wrong("transaction number 0, expected 1 or more");
        if (session > UINT32_MAX)
            throw Wrong("session is out of range");
        if (entry.end_ns < entry.begin_ns)
            throw Wrong("the end is before the begin");
        entry.session = static_cast<uint32_t>(session);
        entry.reads = reads_;
        entry.writes = writes_;
        check_versions(entry);
        refuse(sink_.entry(entry));
    }

    /* A transaction records reads before its own writes only, and at most one write of each object.
     */
    void check_versions(const Entry &entry)
    {
        auto own = [&entry](const Access &access) { return access.writer == entry.txn; };

        if (std::any_of(entry.reads.begin(), entry.reads.end(), own))
            throw Wrong("the transaction reads a version that it made itself");
        objects_.clear();
        for (const Access &access : entry.writes)
            objects_.push_back(access.object);
        std::sort(objects_.begin(), objects_.end());
        if (std::adjacent_find(objects_.begin(), objects_.end()) != objects_.end())
            throw Wrong("the transaction writes an object twice");
    }

    void take_final(std::string_view line)
    {
        Cursor at(line);

        at.take("{\"what\":\"final\",\"objects\":[");
        take_versions(at, true, reads_);
        at.sum();
        refuse(sink_.final_state(reads_));
    }

    void take_end(std::string_view line)
    {
        Cursor at(line);
        char hex[16];

        at.take("{\"what\":\"end\",\"lines\":");
        uint64_t lines = at.number("lines");
        at.take(",\"checksum\":\"");
        std::string_view sum = at.word();
        at.take("}");
        at.end();
        if (lines != result_.lines)
            throw Wrong(std::to_string(result_.lines) + " lines before the end line, expected " +
                        std::to_string(lines));
        put_hex(hex, sum_.value(), sizeof(hex));
        if (sum != std::string_view(hex, sizeof(hex)))
            throw Wrong("the file's checksum does not match: lines were moved or replaced");
        result_.ended = true;
    }

    static void refuse(const std::string &why)
    {
        if (!why.empty())
            throw Wrong(why);
    }

    Lines lines_;
    bool partial_;
    Sink &sink_;
    ReadResult result_;
    FileSum sum_;
    uint64_t at_line_ = 1;
    std::vector<Access> reads_;
    std::vector<Access> writes_;
    std::vector<uint64_t> objects_;
};

} // namespace

ReadResult read_history(const std::string &path, bool partial, Sink &sink)
{
    Reader reader(path, partial, sink);

    try {
        return reader.run();
    } catch (const Wrong &wrong) {
        throw Failure(path + ":" + std::to_string(reader.at_line()) + ": " + wrong.what());
    }
}

} // namespace dtx::history
