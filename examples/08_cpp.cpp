/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 08_cpp.cpp: the same library from C++: handles that close themselves, errors as exceptions.
 *
 *     08_cpp [URL]      default: the device model, so that it runs anywhere
 */
#include <iostream>
#include <librpm.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace
{

int check(int result, const char *what)
{
    if (result < 0)
        throw std::runtime_error(std::string(what) + ": " + rpm_error_name(result) + ": " +
                                 rpm_last_error());
    return result;
}

/* Each handle has a close function that takes the address of the pointer. */
template <auto Close> struct Closer {
    template <typename Handle> void operator()(Handle *handle) const
    {
        Close(&handle);
    }
};
using Conn = std::unique_ptr<rpm_conn, Closer<rpm_conn_close>>;
using Log = std::unique_ptr<rpm_log, Closer<rpm_log_close>>;
using Reader = std::unique_ptr<rpm_reader, Closer<rpm_reader_close>>;

Conn connect(const std::string &url)
{
    rpm_conn *conn = nullptr;

    check(rpm_conn_open(url.c_str(), nullptr, &conn), "connect");
    return Conn(conn);
}

Log open_log(const Conn &conn, const std::string &name)
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 64 << 10;
    check(rpm_log_open(conn.get(), name.c_str(), &opts, &log), "open");
    return Log(log);
}

void append(const Log &log, std::string_view text)
{
    check(rpm_log_append(log.get(), text.data(), text.size(), nullptr), "append");
}

template <typename Visit> void for_each(const Log &log, Visit visit)
{
    rpm_reader *raw = nullptr;
    rpm_record record;

    check(rpm_reader_open(log.get(), nullptr, &raw), "read");
    Reader reader(raw);
    while (check(rpm_reader_next(reader.get(), &record), "read") > 0)
        visit(std::string_view(static_cast<const char *>(record.data), record.len));
}

} // namespace

int main(int argc, char **argv)
{
    try {
        Conn conn = connect(argc > 1 ? argv[1] : "sim:seed=1,preset=adr-noddio");
        Log log = open_log(conn, "verses"); /* closed before the connection */

        append(log, "roses are durable,");
        append(log, "violets are logged");
        for_each(log, [](std::string_view text) { std::cout << text << "\n"; });
        return 0;
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << "\n";
        return 1;
    }
}
