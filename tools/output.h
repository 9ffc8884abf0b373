/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h: write results to standard output and files. If one cannot be written completely, the
 * program names it and fails. cli::run() calls open_standard() before and close_standard() after a
 * program's work.
 *
 * Tests: tests/tools/full_test
 */
#ifndef RPM_TOOLS_OUTPUT_H
#define RPM_TOOLS_OUTPUT_H

#include "tool.h"

#include <cstdio>
#include <poll.h>

namespace cli
{

/* Name of a file in an error text; "-" is standard output. */
inline std::string output_name(const std::string &path)
{
    return path == "-" ? "standard output" : path;
}

[[noreturn]] inline void fail_output(const std::string &path, int err)
{
    throw Failure(output_name(path) + ": " +
                  (err != 0 ? strerror(err) : "an earlier write failed"));
}

/* Open /dev/null for each standard stream that is closed: otherwise a connection or a pool could
 * get its number, and output would be printed into it. Reading and writing these streams fails. */
inline void open_standard()
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Has the reader of standard output, such as head, closed the pipe? This is not a failure. */
inline bool output_abandoned()
{
    struct pollfd out = { STDOUT_FILENO, 0, 0 };

    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

/* errno of the first write to standard output by print() that failed. */
inline int &print_error()
{
    static int err;

    return err;
}

/* Write to standard output; close_standard() reports an error. */
inline void print(const std::string &text)
{
    if ((fputs(text.c_str(), stdout) < 0 || fflush(stdout) != 0) && print_error() == 0)
        print_error() = errno;
}

/* The exit code of program @name, whose work ended with @code: kFailed instead of kDone if not all
 * output could be written. A file system may report that as late as in close(). */
inline int close_standard(const std::string &name, int code)
{
    bool lost = ferror(stdout) != 0;
    bool abandoned = output_abandoned();
    int err = print_error();

    if (fflush(stdout) != 0 || (close(STDOUT_FILENO) != 0 && errno != EINTR)) {
        lost = true;
        err = errno;
    }
    if (!lost || abandoned || err == EPIPE)
        return code;
    fprintf(stderr, "%s: standard output: %s\n", name.c_str(),
            err != 0 ? strerror(err) : "not all output could be written");
    return code == kDone ? static_cast<int>(kFailed) : code;
}

/* @text as a field of CSV, in quotes if it needs them. */
inline std::string csv_field(const std::string &text)
{
    std::string quoted = "\"";

    if (text.find_first_of(",\"\n") == std::string::npos)
        return text;
    for (char letter : text)
        quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return quoted + "\"";
}

enum class Mode { kReplace, kAppend };

/* A file to be written, or with "-" standard output. The constructor checks that it can be opened,
 * but the old contents are kept until there are new ones; a new file that stays empty is removed
 * again. */
class OutFile
{
  public:
    explicit OutFile(const std::string &path, Mode mode = Mode::kReplace)
        : path_(path), replaces_(mode == Mode::kReplace)
    {
        created_ = path != "-" && access(path.c_str(), F_OK) != 0;
        file_ = path == "-" ? stdout : fopen(path.c_str(), "ae");
        if (file_ == nullptr)
            fail_output(path_, errno);
    }
    ~OutFile()
    {
        if (file_ != nullptr && file_ != stdout)
            fclose(file_);
        if (created_ && !begun_)
            remove(path_.c_str());
    }
    OutFile(const OutFile &) = delete;
    OutFile &operator=(const OutFile &) = delete;

    /* Writes to the system before it returns, so that an interrupted run leaves whole lines. */
    void write(const std::string &text)
    {
        struct stat found;

        if (!begun_ && replaces_ && file_ != stdout && fstat(fileno(file_), &found) == 0 &&
            S_ISREG(found.st_mode) && ftruncate(fileno(file_), 0) != 0)
            fail_output(path_, errno);
        begun_ = true;
        if (fputs(text.c_str(), file_) < 0 || fflush(file_) != 0)
            fail_output(path_, errno);
    }

    void close()
    {
        FILE *file = file_;

        file_ = nullptr;
        if (file != nullptr && file != stdout && fclose(file) != 0)
            fail_output(path_, errno);
    }

  private:
    std::string path_;
    FILE *file_ = nullptr;
    bool replaces_;
    bool created_ = false;
    bool begun_ = false;
};

} // namespace cli
#endif
