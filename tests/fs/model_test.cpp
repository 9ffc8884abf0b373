// SPDX-License-Identifier: BSD-3-Clause
// model_test.cpp: random calls by librpmfs on a volume and by the kernel on a tmpfs, compared after
// each: the error number, and what stat(), readlink(), readdir(), read() and lseek() for holes
// return. Then checks the volume.
//
//   fs_model_test [--calls N] [--seed N] [--verbose]
//
// Exit code 0: no difference, and the volume is whole; 1: otherwise; 2: wrong usage; 77: not
// user 0, or no tmpfs.
#include "core/check/check.h"
#include "fs/oracle.h"
#include "support/servers.h"
#include <dtx/scheduler.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

using oracle::Op;
using oracle::Reply;
using oracle::Request;

namespace
{

const char *const kOpNames[] = { "mkdir",  "mknod",    "symlink",  "link",   "unlink", "rmdir",
                                 "rename", "stat",     "lstat",    "access", "chmod",  "chown",
                                 "lchown", "truncate", "readlink", "list",   "open",   "allocate" };
static_assert(std::size(kOpNames) == size_t(Op::count));

// How often each call comes, of 100.
const uint32_t kWeights[] = { 10, 4, 5, 5, 8, 7, 11, 4, 4, 3, 4, 3, 1, 3, 3, 5, 12, 8 };
static_assert(std::size(kWeights) == size_t(Op::count));

class Requests
{
  public:
    explicit Requests(uint64_t seed) : random_(seed)
    {
        std::ifstream("/proc/sys/fs/protected_hardlinks") >> protected_links_;
        names_ = { "a", "b", "c", "d", std::string(100, 'l'), std::string(255, 'm') };
    }

    Request next()
    {
        Request request{};

        request.op = op();
        request.user = below(3) == 0 ? static_cast<uint32_t>(1 + below(3)) : 0;
        if (request.op == Op::link && protected_links_)
            request.user = 0; // the kernel of this machine forbids what POSIX allows
        put(request.path, path());
        put(request.other, request.op == Op::symlink ? target() : path());
        request.mode = mode();
        request.flags = flags(request.op);
        request.uid = id({ UINT32_MAX, 0, 10, 11, 12 });
        request.gid = id({ UINT32_MAX, 0, 20, 22 });
        request.offset = below(4) == 0 ? below(16000) : below(100);
        request.bytes = static_cast<uint32_t>(below(3) == 0 ? below(8000) : below(50));
        if (request.op == Op::allocate)
            put_part(request);
        return request;
    }

  private:
    uint64_t below(uint64_t n)
    {
        return random_.below(n);
    }
    Op op()
    {
        uint64_t at = below(100);

        for (uint32_t i = 0;; i++) {
            if (at < kWeights[i])
                return Op(i);
            at -= kWeights[i];
        }
    }
    uint32_t id(std::vector<uint32_t> ids)
    {
        return ids[below(ids.size())];
    }
    uint32_t mode()
    {
        static const uint32_t modes[] = { 0777, 0755,  0700,  0070,  0644,
                                          0,    01777, 06775, 02770, 04444 };

        return below(2) == 0 ? 0777 : modes[below(std::size(modes))];
    }
    uint32_t flags(Op op)
    {
        static const uint32_t renames[] = { 0, 0, 0, 0, 1, 2, 2, 3 };
        static const uint32_t opens[] = { O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW };
        uint32_t flags = static_cast<uint32_t>(below(3)); // O_RDONLY, O_WRONLY, O_RDWR

        if (op == Op::rename)
            return renames[below(std::size(renames))];
        if (op == Op::access)
            return static_cast<uint32_t>(below(8));
        if (op == Op::allocate)
            return (below(8) == 0 ? flags : O_RDWR) | (below(2) == 0 ? O_CREAT : 0);
        flags |= below(2) == 0 ? O_CREAT : 0;
        flags |= below(2) == 0 ? opens[below(std::size(opens))] : 0;
        flags |= (flags & O_CREAT) == 0 && below(8) == 0 ? O_DIRECTORY : 0;
        // O_EXCL alone is undefined; O_NOFOLLOW beside O_CREAT fails in sticky directories of Linux
        return flags & ~static_cast<uint32_t>((flags & O_CREAT) == 0 ? O_EXCL : O_NOFOLLOW);
    }
    std::string name()
    {
        return names_[below(20) == 0 ? below(names_.size()) : below(4)];
    }
    std::string path()
    {
        std::string text = below(2) == 0 ? "/" : "";
        uint64_t depth = 1 + below(2) + below(3);

        if (below(200) == 0)
            return below(2) == 0 ? "" : "/";
        for (uint64_t i = 0; i < depth; i++) {
            if (text.size() + 260 > sizeof(Request::path))
                break;
            if (i > 0)
                text += below(20) == 0 ? "//" : "/";
            text += below(25) == 0 ? (below(2) == 0 ? "." : "..") : name();
        }
        return text + (below(15) == 0 ? "/" : "");
    }
    std::string target()
    {
        return below(30) == 0 ? std::string(250, 'x') : path();
    }
    // What to allocate: whole blocks as well.
    void put_part(Request &request)
    {
        static const int modes[] = { 0,
                                     FALLOC_FL_KEEP_SIZE,
                                     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     FALLOC_FL_PUNCH_HOLE,
                                     1 << 30 };

        request.how = modes[below(below(8) == 0 ? std::size(modes) : 4)];
        request.offset = below(3) == 0 ? below(4) * 4096 : below(16000);
        request.bytes = static_cast<uint32_t>(below(3) == 0 ? below(3) * 4096 : below(8000));
    }
    template <size_t size> static void put(char (&into)[size], const std::string &text)
    {
        into[text.copy(into, size - 1)] = '\0';
    }

    dtx::SplitMix64 random_;
    std::vector<std::string> names_;
    bool protected_links_ = false;
};

std::string text_of(const Request &of)
{
    char text[900];

    snprintf(text, sizeof(text),
             "%s as %u '%s' '%s' mode %o flags %x owner %d:%d offset %" PRIu64 " bytes %u how %x",
             kOpNames[size_t(of.op)], oracle::user(of.user).uid, of.path, of.other, of.mode,
             of.flags, static_cast<int>(of.uid), static_cast<int>(of.gid), of.offset, of.bytes,
             static_cast<unsigned>(of.how));
    return text;
}

std::string text_of(const Reply &of)
{
    char text[200];

    snprintf(text, sizeof(text),
             "%" PRId64 " (%s), mode %o links %u owner %u:%u size %" PRIu64 " length %u", of.result,
             of.result < 0 ? strerrorname_np(static_cast<int>(-of.result)) : "", of.mode, of.links,
             of.uid, of.gid, of.size, of.length);
    return text;
}

// Where the volume has data, the tmpfs has; where it has holes alone, zeros are read. For a tmpfs
// makes data of an unwritten block of which it clears a part, and keeps the block of the file's end
// when a hole is punched over the end.
bool fits(const Reply &kernel, const Reply &volume)
{
    uint64_t more = kernel.data & ~volume.data;

    if ((volume.data & ~kernel.data) != 0)
        return false;
    for (uint64_t at = 0; more != 0 && at < kernel.length; at++)
        if ((more >> std::min<uint64_t>(at / 4096, oracle::kDataBits - 1) & 1) != 0 &&
            kernel.text[at] != 0)
            return false;
    return true;
}

bool equal(const Reply &kernel, const Reply &volume)
{
    return text_of(kernel) == text_of(volume) && fits(kernel, volume) &&
           std::memcmp(kernel.text, volume.text, kernel.length) == 0;
}

// Servers, a volume on them, and a client.
class Volume
{
  public:
    Volume()
    {
        rfs_opts of = rfs_opts_init();
        rfs_make_opts make = rfs_make_opts_init();

        for (const std::string &url : servers_.urls)
            urls_.push_back(url.c_str());
        of.name = "model";
        of.urls = urls_.data();
        of.url_count = static_cast<uint32_t>(urls_.size());
        make.bytes = 40 << 20;
        make.bytes_per_inode = 8192;
        make.replicas = 2;
        if (rfs_make(&of, &make) != 0 || rfs_mount(&of, &client) != 0) {
            fprintf(stderr, "the volume: %s\n", rfs_last_error());
            exit(1);
        }
    }
    ~Volume()
    {
        rfs_unmount(&client);
    }

    // Unmounts the volume and checks it. Prints what is wrong; returns how much.
    uint64_t check()
    {
        dtx::Options options;
        uint64_t wrong = 0;

        rfs_unmount(&client);
        options.urls = servers_.urls;

        rfs::OpenVolume open = rfs::open_volume("model", options);

        (void)open.cluster->recover();
        for (const dtx::Findings &found :
             { rfs::check_tables(open, 0), rfs::check_tables(open, 1), rfs::check_data(open) })
            for (const std::string &text : found.texts()) {
                printf("the volume: %s\n", text.c_str());
                wrong++;
            }
        return wrong;
    }

    rfs_client *client = nullptr;

  private:
    support::Servers servers_{ 2, 192 << 20 };
    std::vector<const char *> urls_;
};

struct Totals {
    uint64_t differences = 0;
    uint64_t wrong = 0;                                           // in the volume afterwards
    std::map<std::pair<std::string, int64_t>, uint64_t> outcomes; // by call and result
};

void compare(uint64_t calls, uint64_t seed, bool verbose, const char *folder, Totals &totals)
{
    static Reply by_kernel, by_volume;
    oracle::Kernel kernel(folder); // before the servers start threads
    Volume volume;
    Requests requests(seed);

    for (uint64_t i = 0; i < calls && totals.differences < 10; i++) {
        Request request = requests.next();

        kernel.act(request, by_kernel);
        oracle::act(volume.client, request, by_volume);
        totals.outcomes[{ kOpNames[size_t(request.op)],
                          by_kernel.result > 0 ? 0 : by_kernel.result }]++;
        if (verbose)
            printf("%" PRIu64 ": %s\n  %s\n", i, text_of(request).c_str(),
                   text_of(by_volume).c_str());
        if (equal(by_kernel, by_volume))
            continue;
        totals.differences++;
        printf("call %" PRIu64 ": %s\n  tmpfs:  %s, data %" PRIx64 "\n  volume: %s, data %" PRIx64
               "\n",
               i, text_of(request).c_str(), text_of(by_kernel).c_str(), by_kernel.data,
               text_of(by_volume).c_str(), by_volume.data);
    }
    totals.wrong = volume.check();
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t calls = 20000, seed = 1;
    bool verbose = false;
    Totals totals;
    char folder[] = "/dev/shm/fs_model.XXXXXX";

    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        bool more = i + 1 < argc;

        if (word == "--verbose")
            verbose = true;
        else if (word == "--calls" && more)
            calls = strtoull(argv[++i], nullptr, 10);
        else if (word == "--seed" && more)
            seed = strtoull(argv[++i], nullptr, 10);
        else
            return fprintf(stderr, "usage: fs_model_test [--calls N] [--seed N] [--verbose]\n"), 2;
    }
    if (geteuid() != 0 || mkdtemp(folder) == nullptr || chmod(folder, 0755) != 0)
        return puts("skipped: needs user 0 and a tmpfs at /dev/shm"), 77;
    compare(calls, seed, verbose, folder, totals);
    std::filesystem::remove_all(folder);
    if (verbose)
        for (const auto &[outcome, times] : totals.outcomes)
            printf("%s %" PRId64 ": %" PRIu64 "\n", outcome.first.c_str(), outcome.second, times);
    printf("fs model: %" PRIu64 " calls, %" PRIu64 " differences\n", calls, totals.differences);
    return totals.differences + totals.wrong == 0 ? 0 : 1;
}
