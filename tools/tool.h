/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool.h: code that all programs share beside their options: exit codes, errors in one line, sizes
 * such as 64M, SIGINT, and handles that close themselves. Separate from cli.h, because the option
 * parser is slow to compile.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage. A failure prints one line on standard error:
 * "program: what: RPM_E_NAME: text". Only these programs use exceptions; none crosses the library.
 */
#ifndef RPM_TOOLS_TOOL_H
#define RPM_TOOLS_TOOL_H

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <librpm.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace cli
{

enum Exit { kDone = 0, kFailed = 1, kUsage = 2 };

/* Ends the program with kFailed and its text. */
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* A library error: keeps its code, so that a caller may act on it. */
struct RpmFailure : Failure {
    RpmFailure(const std::string &what, int err) : RpmFailure(what, err, detail(err)) {}
    RpmFailure(const std::string &what, int err, const std::string &text)
        : Failure(what + ": " + rpm_error_name(err) + ": " + text), err(err)
    {
    }

    int err;

  private:
    static std::string detail(int err)
    {
        std::string text = rpm_last_error();

        return text.empty() ? rpm_strerror(err) : text;
    }
};

/* Results of library calls: a negative one becomes a failure of @what. */
inline int check(const std::string &what, int result)
{
    if (result < 0)
        throw RpmFailure(what, result);
    return result;
}

/* Can the call succeed when the server is reachable again? */
inline bool is_unreachable(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED;
}

struct ConnClose {
    void operator()(rpm_conn *conn) const
    {
        rpm_conn_close(&conn);
    }
};
struct LogClose {
    void operator()(rpm_log *log) const
    {
        rpm_log_close(&log);
    }
};
struct ReaderClose {
    void operator()(rpm_reader *reader) const
    {
        rpm_reader_close(&reader);
    }
};
struct RegionClose {
    void operator()(rpm_region *region) const
    {
        rpm_region_close(&region);
    }
};

struct TierClose {
    void operator()(rpm_tier *tier) const
    {
        rpm_tier_close(&tier);
    }
};

struct LocksClose {
    void operator()(rpm_locks *locks) const
    {
        rpm_locks_close(&locks);
    }
};

/* Declare handles in this order in a struct, so that a dependent object is closed first. */
using Tier = std::unique_ptr<rpm_tier, TierClose>;
using Conn = std::unique_ptr<rpm_conn, ConnClose>;
using Log = std::unique_ptr<rpm_log, LogClose>;
using Reader = std::unique_ptr<rpm_reader, ReaderClose>;
using Region = std::unique_ptr<rpm_region, RegionClose>;
using Locks = std::unique_ptr<rpm_locks, LocksClose>;

/* The first @most bytes of a secret file, which only its owner may be able to read. The open does
 * not block if the file is a pipe or a terminal. */
inline std::string read_private(const std::string &path, size_t most)
{
    std::string bytes(most, '\0');
    struct stat st = {};
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool known = fd >= 0 && fstat(fd, &st) == 0;
    ssize_t len = known && S_ISREG(st.st_mode) ? read(fd, &bytes[0], most) : 0;
    std::string why = !known || len < 0 ? strerror(errno) : "";

    if (fd >= 0)
        close(fd);
    if (!why.empty())
        throw Failure("cannot read the secret file " + path + ": " + why);
    if (!S_ISREG(st.st_mode))
        throw Failure("secret file " + path + " is not a regular file");
    if ((st.st_mode & 0077) != 0)
        throw Failure("secret file " + path + " can be read by others: chmod 600 it");
    bytes.resize(static_cast<size_t>(len));
    return bytes;
}

/* The secret in a file, without the newline at its end. */
inline std::string read_secret(const std::string &path)
{
    const size_t most = 127; /* of rpm_conn_opts.secret and rpm_server_opts.secret */
    const size_t read_max = 4096;
    std::string secret = read_private(path, read_max);
    size_t read = secret.size();

    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r'))
        secret.pop_back();
    if (secret.empty())
        throw Failure("secret file " + path + " is empty");
    if (secret.size() > most)
        throw Failure("secret file " + path + " holds " +
                      (read < read_max ? std::to_string(secret.size()) : "thousands of") +
                      " bytes: a secret has at most " + std::to_string(most));
    if (secret.find('\0') != std::string::npos)
        throw Failure("secret file " + path + " holds a zero byte: a secret is text");
    return secret;
}

/* Path of the secret file for all connections of this program; empty: none. */
inline std::string &secret_file()
{
    static std::string path;

    return path;
}

inline Conn connect(const std::string &url, const rpm_conn_opts *opts = nullptr)
{
    rpm_conn_opts wanted = opts != nullptr ? *opts : rpm_conn_opts_init();
    rpm_conn *conn = nullptr;
    std::string secret;

    if (!secret_file().empty()) {
        secret = read_secret(secret_file());
        wanted.secret = secret.c_str();
    }
    int err = rpm_conn_open(url.c_str(), &wanted, &conn);
    if (err < 0)
        throw RpmFailure(url, err);
    return Conn(conn);
}

/* Set by SIGINT and SIGTERM: the program ends soon; a second SIGINT ends it at once. */
inline volatile std::sig_atomic_t &stop_flag()
{
    static volatile std::sig_atomic_t flag = 0;

    return flag;
}

inline bool stopped()
{
    return stop_flag() != 0;
}

/* Blocking calls return EINTR. @on_stop must be safe in a signal handler. */
inline void catch_stop(void (*on_stop)() = nullptr)
{
    static void (*hook)();
    struct sigaction action = {};

    hook = on_stop;
    action.sa_handler = [](int) {
        stop_flag() = 1;
        if (hook != nullptr)
            hook();
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    action.sa_flags = 0;
    sigaction(SIGTERM, &action, nullptr);
}

/* "4096", "64K", "1M", "2G", also "64KiB" and "64k": powers of 1024. False: not a size. */
inline const char *size_form()
{
    return "expected is a number, or one with K, M, G, T or P behind it";
}

inline bool parse_size(const std::string &text, uint64_t *bytes)
{
    static const std::string units = "KMGTP";
    uint64_t value = 0;
    size_t at = 0;

    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + static_cast<uint64_t>(text[at++] - '0');
    }
    if (at == 0)
        return false;
    if (at < text.size() && text[at] != 'B') {
        size_t unit = units.find(static_cast<char>(text[at] & ~0x20));

        if (unit == std::string::npos)
            return false;
        for (size_t i = 0; i <= unit; i++) {
            if (value > UINT64_MAX / 1024)
                return false;
            value *= 1024;
        }
        at++;
        if (text.compare(at, 2, "iB") == 0)
            at++;
    }
    if (at < text.size() && text[at] == 'B')
        at++;
    if (at != text.size())
        return false;
    *bytes = value;
    return true;
}

/* 1536 -> "1.5 KiB". */
inline std::string size_text(double bytes)
{
    static const char *units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    char text[32];
    int unit = 0;

    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, sizeof(text),
             bytes == static_cast<double>(static_cast<uint64_t>(bytes)) ? "%.0f %s" : "%.1f %s",
             bytes, units[unit]);
    return text;
}

/* 1500 -> "1.50 us". */
inline std::string ns_text(uint64_t ns)
{
    char text[32];
    double value = static_cast<double>(ns);

    if (ns < 1000)
        snprintf(text, sizeof(text), "%.0f ns", value);
    else if (ns < 1000000)
        snprintf(text, sizeof(text), "%.2f us", value / 1e3);
    else if (ns < 1000000000)
        snprintf(text, sizeof(text), "%.2f ms", value / 1e6);
    else
        snprintf(text, sizeof(text), "%.2f s", value / 1e9);
    return text;
}

} // namespace cli
#endif
