/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.cc: lines of a history. FORMAT.md describes them.
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

constexpr size_t kFinalObjects = 1000; /* in one line */

void put(std::string &out, uint64_t number)
{
    char digits[20];
    char *end = std::to_chars(digits, digits + sizeof(digits), number).ptr;

    out.append(digits, static_cast<size_t>(end - digits));
}

void put(std::string &out, std::string_view name, uint64_t number)
{
    out += name;
    put(out, number);
}

/* A JSON string. Bytes that are no ASCII text become '?': a workload's name needs none. */
void put_string(std::string &out, std::string_view text)
{
    out += '"';
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c >= ' ' && c <= '~' ? c : '?';
    }
    out += '"';
}

void put_versions(std::string &out, std::span<const Access> list, bool with_writer)
{
    const char *before = "[";

    for (const Access &access : list) {
        put(out, before, access.object);
        put(out, ",", access.version);
        if (with_writer)
            put(out, ",", access.writer);
        out += ']';
        before = ",[";
    }
}

/* Close the line that starts at @start with its checksum. */
void seal(std::string &out, size_t start)
{
    char hex[8];

    put_hex(hex, line_sum(std::string_view(out).substr(start)), sizeof(hex));
    out += ",\"sum\":\"";
    out.append(hex, sizeof(hex));
    out += "\"}\n";
}

void put_entry(std::string &out, const Entry &entry)
{
    size_t start = out.size();

    put(out, "{\"txn\":", entry.txn);
    put(out, ",\"session\":", entry.session);
    put(out, ",\"begin\":", entry.begin_ns);
    put(out, ",\"end\":", entry.end_ns);
    out += ",\"status\":\"";
    out += status_name(entry.status);
    out += "\",\"reads\":[";
    put_versions(out, entry.reads, true);
    out += "],\"writes\":[";
    put_versions(out, entry.writes, false);
    out += ']';
    seal(out, start);
}

void put_header(std::string &out, const Header &header)
{
    out += "{\"dtx\":1,\"what\":\"header\",\"workload\":";
    put_string(out, header.workload);
    put(out, ",\"seed\":", header.seed);
    out += header.fresh ? ",\"fresh\":true" : ",\"fresh\":false";
    seal(out, 0);
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
    /* The line that fills a buffer may stick out of it: one transaction's size, not more. */
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

        line = "{\"what\":\"final\",\"objects\":[";
        put_versions(line, objects.first(count), true);
        line += ']';
        seal(line, 0);
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
    put(line, "{\"what\":\"end\",\"lines\":", lines_);
    line += ",\"checksum\":\"";
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
