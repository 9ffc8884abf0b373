/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.cc: formats the lines of a history, as FORMAT.md describes them, and buffers them.
 */
#include "history/writer.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dtx::history
{

namespace
{

constexpr size_t kFinalObjects = 1000;           /* objects in one line of a final state */
constexpr size_t kDigits = 20;                   /* digits of the largest number */
constexpr size_t kAccessBytes = 3 * kDigits + 5; /* [,,], */
constexpr size_t kEntryBytes = 200; /* the rest of a line: names, four numbers, a status */

/* Appends one line to @out. Reserves @bytes_max, the most that the caller appends, at once. */
class Line
{
  public:
    Line(std::string &out, size_t bytes_max) : out_(out), start_(out.size())
    {
        out_.resize(start_ + bytes_max + kSumBytes);
        at_ = out_.data() + start_;
    }

    void add(std::string_view text)
    {
        memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

    void add(std::string_view before, uint64_t number)
    {
        add(before);
        at_ = std::to_chars(at_, at_ + kDigits, number).ptr;
    }

    void add_versions(std::span<const Access> list, bool with_writer)
    {
        std::string_view before = "[";

        for (const Access &access : list) {
            add(before, access.object);
            add(",", access.version);
            if (with_writer)
                add(",", access.writer);
            add("]");
            before = ",[";
        }
    }

    /* Ends the line with its checksum. */
    void seal()
    {
        uint32_t sum =
            line_sum({ out_.data() + start_, static_cast<size_t>(at_ - out_.data()) - start_ });

        add(",\"sum\":\"");
        put_hex(at_, sum, kSumDigits);
        at_ += kSumDigits;
        add("\"}\n");
        out_.resize(static_cast<size_t>(at_ - out_.data()));
    }

  private:
    static constexpr size_t kSumDigits = 8;
    static constexpr size_t kSumBytes = 8 + kSumDigits + 3;

    std::string &out_;
    size_t start_;
    char *at_;
};

void put_entry(std::string &out, const Entry &entry)
{
    Line line(out, kEntryBytes + kAccessBytes * (entry.reads.size() + entry.writes.size()));

    line.add("{\"txn\":", entry.txn);
    line.add(",\"session\":", entry.session);
    line.add(",\"begin\":", entry.begin_ns);
    line.add(",\"end\":", entry.end_ns);
    line.add(",\"status\":\"");
    line.add(status_name(entry.status));
    line.add("\",\"reads\":[");
    line.add_versions(entry.reads, true);
    line.add("],\"writes\":[");
    line.add_versions(entry.writes, false);
    line.add("]");
    line.seal();
}

/* Appends a JSON string. Bytes that are not printable ASCII become '?'. */
std::string json_string(std::string_view text)
{
    std::string out = "\"";

    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c >= ' ' && c <= '~' ? c : '?';
    }
    return out + '"';
}

void put_header(std::string &out, const Header &header)
{
    std::string workload = json_string(header.workload);
    Line line(out, kEntryBytes + workload.size());

    line.add("{\"dtx\":1,\"what\":\"header\",\"workload\":");
    line.add(workload);
    line.add(",\"seed\":", header.seed);
    line.add(header.fresh ? ",\"fresh\":true" : ",\"fresh\":false");
    line.seal();
}

void put_final(std::string &out, std::span<const Access> objects)
{
    Line line(out, kEntryBytes + kAccessBytes * objects.size());

    line.add("{\"what\":\"final\",\"objects\":[");
    line.add_versions(objects, true);
    line.add("]");
    line.seal();
}

} // namespace

std::unique_ptr<Recorder> Recorder::open(const std::string &path, const Header &header,
                                         const Options &options)
{
    std::string line;
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        throw Failure(path + ": " + strerror(errno));
    std::unique_ptr<Recorder> recorder(new Recorder(fd, path, options));
    put_header(line, header);
    recorder->write_out(line, 1);
    if (recorder->error_)
        throw Failure(path + ": " + strerror(recorder->error_));
    return recorder;
}

Recorder::Recorder(int fd, std::string path, const Options &options)
    : fd_(fd), path_(std::move(path)), buffer_bytes_(options.buffer_bytes),
      sessions_(options.sessions)
{
    for (Session &session : sessions_)
        session.buffer.reserve(buffer_bytes_);
}

Recorder::~Recorder()
{
    if (fd_ >= 0)
        ::close(fd_);
}

void Recorder::record(const Entry &entry)
{
    Session &session = sessions_.at(entry.session);

    put_entry(session.buffer, entry);
    session.lines++;
    /* The last line may exceed the buffer by the size of one transaction. */
    if (session.buffer.size() >= buffer_bytes_)
        flush(session);
}

void Recorder::flush(Session &session)
{
    if (session.lines == 0)
        return;
    write_out(session.buffer, session.lines);
    session.buffer.clear();
    session.lines = 0;
}

void Recorder::write_out(std::string_view bytes, uint64_t lines)
{
    std::lock_guard<std::mutex> lock(mutex_);

    sum_.add(bytes);
    lines_ += lines;
    while (!bytes.empty() && error_ == 0) {
        ssize_t done = ::write(fd_, bytes.data(), bytes.size());

        if (done >= 0)
            bytes.remove_prefix(static_cast<size_t>(done));
        else if (errno != EINTR)
            error_ = errno;
    }
}

void Recorder::final_state(std::span<const Access> objects)
{
    std::string line;

    while (!objects.empty()) {
        size_t count = std::min(objects.size(), kFinalObjects);

        line.clear();
        put_final(line, objects.first(count));
        write_out(line, 1);
        objects = objects.subspan(count);
    }
}

void Recorder::close()
{
    std::string line;
    char hex[16];

    if (fd_ < 0)
        return;
    for (Session &session : sessions_)
        flush(session);
    put_hex(hex, sum_.value(), sizeof(hex));
    line = "{\"what\":\"end\",\"lines\":" + std::to_string(lines_) + ",\"checksum\":\"";
    line.append(hex, sizeof(hex));
    line += "\"}\n";
    write_out(line, 1);
    if (::close(fd_) != 0 && error_ == 0)
        error_ = errno;
    fd_ = -1;
    if (error_)
        throw Failure(path_ + ": " + strerror(error_));
}

} // namespace dtx::history
