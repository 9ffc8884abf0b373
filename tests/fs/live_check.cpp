// SPDX-License-Identifier: BSD-3-Clause
// live_check.cpp: check a volume again and again while clients make, change, move and remove files
// in it, which must find nothing; then, with the clients at work, after each kind of damage, which
// must be found.
//
//   fs_live_check [--seconds N]
//
// Exit code 0: nothing was found in N seconds (5), and then all damage; 1: otherwise; 2: wrong
// usage.
#include "core/check/check.h"
#include "unit/fs/check/damages.h"
#include "unit/fs/check/saved.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <librpmfs.h>
#include <memory>
#include <mutex>
#include <thread>

namespace
{

using Clock = std::chrono::steady_clock;

constexpr uint32_t kWriters = 3;
constexpr uint32_t kNames = 24;       // of each writer in each directory
constexpr uint64_t kCallsOfTurn = 32; // after which a client lets go of removed files
constexpr size_t kLargest = 20 * rfs::kBlockBytes;
const rfs_cred kRoot{ 0, 0, nullptr, 0 };

// A client in a thread of its own, which works until it is destroyed. While it is locked, none of
// its calls is under way.
class Writer
{
  public:
    Writer(const std::vector<std::string> &urls, uint32_t number)
        : random_(number + 1), own_("/writer" + std::to_string(number)), bytes_(kLargest, 'w')
    {
        for (const std::string &url : urls)
            urls_.push_back(url.c_str());

        rfs_opts opts = rfs_opts_init();

        opts.name = "home";
        opts.urls = urls_.data();
        opts.url_count = static_cast<uint32_t>(urls_.size());
        must(rfs_mount(&opts, &client_));
        may(rfs_mkdir(client_, &kRoot, "/shared", 0755));
        must(rfs_mkdir(client_, &kRoot, own_.c_str(), 0755));
        thread_ = std::thread([this] { work(); });
    }
    ~Writer()
    {
        ends_ = true;
        thread_.join();
        rfs_unmount(&client_);
    }

    void lock()
    {
        wanted_ = true;
        mutex_.lock();
    }
    void unlock()
    {
        wanted_ = false;
        mutex_.unlock();
    }
    uint64_t calls() const
    {
        return calls_;
    }

  private:
    static void must(int64_t result)
    {
        if (result >= 0)
            return;
        printf("a call failed: %s: %s\n", strerror(static_cast<int>(-result)), rfs_last_error());
        exit(1);
    }
    // Of a call whose files may be missing, there already, of another type, or a symbolic link; and
    // the volume may be full.
    static int64_t may(int64_t result)
    {
        for (int error :
             { ENOENT, EEXIST, ENOTEMPTY, EISDIR, ENOTDIR, EINVAL, EPERM, ENAMETOOLONG, ENOSPC })
            if (result == -error)
                return result;
        must(result);
        return result;
    }

    void work()
    {
        while (!ends_) {
            while (wanted_ && !ends_)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));

            std::lock_guard guard(mutex_);

            act();
            if (++calls_ % kCallsOfTurn == 0)
                (void)!rfs_turn(client_); // fails while an orphan is damaged
        }
    }

    // One of a few names, some of them long, in one of two directories.
    std::string path()
    {
        uint64_t name = random_.below(kNames);
        std::string text = random_.below(4) == 0 ? "/shared/" : own_ + "/";

        return text + (name % 6 == 0 ? std::string(150, 'n') : "n") + std::to_string(name);
    }

    void write(const std::string &path)
    {
        rfs_file *file = nullptr;

        if (may(rfs_open(client_, &kRoot, path.c_str(), O_RDWR | O_CREAT, 0644, &file)) != 0)
            return;
        may(rfs_pwrite(file, bytes_.data(),
                       random_.below(8) == 0 ? kLargest : 1 + random_.below(6000),
                       random_.below(3) * rfs::kBlockBytes));
        if (random_.below(4) == 0)
            may(rfs_ftruncate(file, random_.below(kLargest)));
        rfs_close(&file);
    }

    void act()
    {
        std::string one = path();
        std::string other = path();
        const char *from = one.c_str();
        const char *to = other.c_str();

        switch (random_.below(11)) {
        case 0:
        case 1:
        case 2:
            return write(one);
        case 3:
        case 4:
            return (void)may(rfs_unlink(client_, &kRoot, from));
        case 5:
            return (void)may(rfs_rename(client_, &kRoot, from, to, 0));
        case 6:
            return (void)may(rfs_link(client_, &kRoot, from, to));
        case 7:
            return (void)may(rfs_symlink(client_, &kRoot, bytes_.substr(0, 700).c_str(), from));
        case 8:
            return (void)may(rfs_mkdir(client_, &kRoot, from, 0755));
        case 9:
            return (void)may(rfs_rmdir(client_, &kRoot, from));
        default:
            return (void)may(rfs_setxattr(client_, &kRoot, from, "user.x", bytes_.data(),
                                          random_.below(1500), 0));
        }
    }

    dtx::SplitMix64 random_;
    std::string own_; // directory
    std::string bytes_;
    std::vector<const char *> urls_;
    rfs_client *client_ = nullptr;
    std::mutex mutex_;
    std::atomic<bool> wanted_ = false;
    std::atomic<bool> ends_ = false;
    std::atomic<uint64_t> calls_ = 0;
    std::thread thread_;
};

class Test
{
  public:
    Test() : volume_({ 1500, 6 }), options_(volume_.options)
    {
        options_.conflicts_max = 0;
        open_.emplace(rfs::open_volume("home", options_));
        for (uint32_t i = 0; i < kWriters; i++)
            writers_.push_back(std::make_unique<Writer>(options_.urls, i));
    }

    // Returns how much was found.
    uint64_t check_for(double seconds)
    {
        auto end = Clock::now() + std::chrono::duration<double>(seconds);
        uint64_t found = 0;
        uint64_t checks = 0;
        uint64_t undecided = 0;

        do {
            rfs::LiveFindings live = rfs::check_live(*open_);

            live.findings.append(rfs::check_data(*open_));
            found += print(live.findings);
            undecided += live.undecided;
            checks++;
            turn();
        } while (Clock::now() < end);

        uint64_t calls = 0;

        for (const auto &writer : writers_)
            calls += writer->calls();
        printf("%" PRIu64 " checks beside %" PRIu64 " calls, %" PRIu64 " not judged\n", checks,
               calls, undecided);
        return found;
    }

    bool finds(const Damage &damage)
    {
        std::optional<SavedVolume> saved;

        paused([&] {
            saved.emplace(volume_);
            volume_.as_root([&](rfs::Call &call) { return damage.make(volume_, call); });
            saved->keep_changed(volume_);
        });

        rfs::LiveFindings live = rfs::check_live(*open_);
        bool found = false;

        for (const dtx::Finding &finding : live.findings.all())
            found = found || (finding.rule == damage.rule && finding.broken > 0);
        if (!found)
            printf("not found: %s: %s\n", damage.rule.c_str(), damage.what.c_str());
        paused([&] { saved->put_back(volume_); });
        turn();
        return found;
    }

    // What is wrong when the writers have ended.
    uint64_t check_at_end()
    {
        writers_.clear();
        return print(rfs::check_tables(*open_)) + print(rfs::check_data(*open_));
    }

  private:
    static uint64_t print(const dtx::Findings &findings)
    {
        uint64_t found = 0;

        for (const dtx::Finding &finding : findings.all())
            found += finding.broken;
        for (const std::string &text : findings.texts())
            printf("%s\n", text.c_str());
        return found;
    }

    // The first client lets go of files that others have removed, too.
    void turn()
    {
        volume_.client->finish(rfs::take_turn(*volume_.client, false));
    }
    template <class Act> void paused(Act act)
    {
        for (const auto &writer : writers_)
            writer->lock();
        act();
        for (const auto &writer : writers_)
            writer->unlock();
    }

    Filled volume_;
    dtx::Options options_;
    std::optional<rfs::OpenVolume> open_;
    std::vector<std::unique_ptr<Writer>> writers_;
};

} // namespace

int main(int argc, char **argv)
{
    double seconds = argc == 1 ? 5 : argc == 3 ? atof(argv[2]) : 0;

    if (seconds <= 0 || (argc == 3 && strcmp(argv[1], "--seconds") != 0)) {
        fprintf(stderr, "usage: fs_live_check [--seconds N]\n");
        return 2;
    }
    setvbuf(stdout, nullptr, _IOLBF, 0);

    Test test;
    uint64_t wrong = test.check_for(seconds);
    size_t found = 0;
    std::vector<Damage> all = all_damage();

    for (const Damage &damage : all)
        found += test.finds(damage) ? 1 : 0;
    wrong += test.check_at_end();
    printf("damage %zu of %zu found, %" PRIu64 " false in %g s\n", found, all.size(), wrong,
           seconds);
    return found == all.size() && wrong == 0 ? 0 : 1;
}
