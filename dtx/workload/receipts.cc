/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receipts.cc: writes receipts to a file and reads them.
 *
 * Tests: tests/unit/dtx/workload/receipts_test.cpp
 */
#include "workload/receipts.h"

#include <dtx/error.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>
#include <unordered_map>

namespace dtx
{

namespace
{

constexpr const char *kStatuses[] = { "committed", "aborted", "unknown" };

[[noreturn]] void fail_file(const std::string &path)
{
    throw Error(0, path + ": " + strerror(errno));
}

/* Runs that add to one file begin at different times. */
uint64_t run_number()
{
    timespec now{};

    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

class ReceiptReader
{
  public:
    explicit ReceiptReader(const std::string &path) : path_(path), file_(path)
    {
        if (!file_)
            fail_file(path);
    }
    std::vector<Receipt> read()
    {
        for (std::string text; std::getline(file_, text);) {
            line_++;
            if (file_.eof())
                break; /* without its newline */
            take(text);
        }
        return std::move(all_);
    }

  private:
    [[noreturn]] void refuse(const std::string &what) const
    {
        throw Error(0, path_ + ":" + std::to_string(line_) + ": " + what);
    }
    void take(const std::string &text)
    {
        std::istringstream stream(text);
        std::vector<std::string> words;
        std::string id;
        std::string verb;

        stream >> id >> verb;
        for (std::string word; stream >> word;)
            words.push_back(word);
        if (verb == "begin" && !words.empty())
            begin(id, words);
        else if (verb == "end" && !words.empty())
            end(id, words);
        else
            refuse("this line is not a receipt");
    }
    void begin(const std::string &id, const std::vector<std::string> &words)
    {
        if (!known_.emplace(id, all_.size()).second)
            refuse("transaction " + id + " begins twice");
        all_.push_back({ line_, words, false, Status::unknown, {} });
    }
    void end(const std::string &id, std::vector<std::string> words)
    {
        auto at = known_.find(id);
        int status = 0;

        if (at == known_.end() || all_[at->second].ended)
            refuse("transaction " + id + " ends without having begun, or twice");
        while (status < 3 && words[0] != kStatuses[status])
            status++;
        if (status == 3)
            refuse("'" + words[0] + "' is not an outcome; expected committed, aborted or unknown");
        words.erase(words.begin());
        all_[at->second].ended = true;
        all_[at->second].status = static_cast<Status>(status);
        all_[at->second].reported = std::move(words);
    }

    std::string path_;
    std::ifstream file_;
    uint64_t line_ = 0;
    std::vector<Receipt> all_;
    std::unordered_map<std::string, size_t> known_;
};

} // namespace

Receipts::Receipts(const std::string &path)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)),
      run_(run_number())
{
    if (fd_ < 0)
        fail_file(path);
}

Receipts::~Receipts()
{
    close(fd_);
}

void Receipts::put(const std::string &line)
{
    ssize_t written = write(fd_, line.data(), line.size());

    if (written < 0)
        fail_file(path_);
    if (static_cast<size_t>(written) != line.size())
        throw Error(0, path_ + ": a line was written only in part");
}

uint64_t Receipts::begin(const std::string &what)
{
    uint64_t number = next_++;

    put(std::to_string(run_) + "." + std::to_string(number) + " begin " + what + "\n");
    return number;
}

void Receipts::end(uint64_t number, Status status, const std::string &what)
{
    put(std::to_string(run_) + "." + std::to_string(number) + " end " +
        kStatuses[static_cast<int>(status)] + (what.empty() ? "" : " ") + what + "\n");
}

std::vector<Receipt> read_receipts(const std::string &path)
{
    return ReceiptReader(path).read();
}

} // namespace dtx
