/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.cc: read records in large pieces. A wait for input ends every 200 ms to check whether the
 * user asked to stop just before it began.
 */
#include "log/input.h"

#include "tool.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>

namespace logtool
{

static constexpr size_t kChunk = 256u << 10;
static constexpr size_t kNone = SIZE_MAX;

Input::Input(const std::string &path, uint64_t record_bytes)
    : fd_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      owned_(path != "-"), record_bytes_(record_bytes), buffer_(kChunk)
{
    if (fd_ < 0)
        throw cli::Failure(path + ": " + strerror(errno));
}

Input::~Input()
{
    if (owned_)
        close(fd_);
}

bool Input::readable(int timeout_ms) const
{
    struct pollfd wait = { fd_, POLLIN, 0 };

    return poll(&wait, 1, timeout_ms) > 0;
}

/* Bytes up to the end of the first record; kNone: it has not arrived whole. */
size_t Input::find_end() const
{
    const char *from = buffer_.data() + begin_;
    size_t have = end_ - begin_;
    const void *newline;

    if (record_bytes_ != 0)
        return have >= record_bytes_ ? record_bytes_ : kNone;
    newline = have == 0 ? nullptr : memchr(from, '\n', have);
    return newline == nullptr ? kNone
                              : static_cast<size_t>(static_cast<const char *>(newline) - from) + 1;
}

/* Read more bytes behind end_. False at the end of the input, or if the user asked to stop. */
bool Input::fill()
{
    ssize_t n;

    if (eof_)
        return false;
    if (begin_ > 0) {
        memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size())
        buffer_.resize(buffer_.size() * 2);
    do {
        while (!cli::stopped() && !readable(200))
            continue;
        if (cli::stopped())
            return false;
        n = read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0)
        throw cli::Failure(std::string("read: ") + strerror(errno));
    eof_ = n == 0;
    end_ += static_cast<size_t>(n);
    return n > 0;
}

bool Input::is_terminal() const
{
    return isatty(fd_) != 0;
}

bool Input::ready()
{
    return eof_ || find_end() != kNone || (readable(0) && fill() && find_end() != kNone) || eof_;
}

bool Input::next(std::string &record, uint64_t max)
{
    size_t len;

    while ((len = find_end()) == kNone && end_ - begin_ <= max && fill())
        continue;
    if (cli::stopped())
        return false;
    if (len == kNone && eof_)
        len = end_ - begin_;
    if (len == 0)
        return false;
    if (len > max)
        throw cli::Failure("record " + std::to_string(index_ + 1) +
                           " of the input has more than the " + std::to_string(max) +
                           " bytes that this log takes (RPM_E_TOOBIG)");
    record.assign(buffer_.data() + begin_, len);
    begin_ += len;
    index_++;
    return true;
}

} // namespace logtool
