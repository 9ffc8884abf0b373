/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_rows.cc: the rows of rpm-fs bench: each thread is a client, with a directory of its own or
 * all with the same one.
 *
 * Tests: tests/tools/fs_test
 */
#include "program/bench_rows.h"

#include "program/command.h"

#include "tool.h"

#include <algorithm>
#include <random>

namespace rfs::bench
{

static constexpr uint64_t kLarge = 1 << 20;
static constexpr uint64_t kSmall = 4096;

/* A client and its directory, which others may have as well: the last one removes it. */
class Place
{
  public:
    Place(const OpenClient &open, const std::string &directory)
        : client_(open()), directory_(directory)
    {
        int error = rfs_mkdir(client_, &who_, directory_.c_str(), 0700);

        if (error != -EEXIST)
            checked(directory_, error);
    }
    ~Place()
    {
        (void)!rfs_rmdir(client_, &who_, directory_.c_str());
        rfs_unmount(&client_);
    }
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;

    std::string path(const std::string &name) const
    {
        return directory_ + "/" + name;
    }
    rfs_client *client() const
    {
        return client_;
    }
    const rfs_cred *who() const
    {
        return &who_;
    }

  private:
    rfs_client *client_;
    std::string directory_;
    rfs_cred who_{ geteuid(), getegid(), nullptr, 0 };
};

class VolumeNames : public Names
{
  public:
    /* @prefix: of its names, which other threads do not have. */
    VolumeNames(const OpenClient &open, const std::string &directory, std::string prefix)
        : place_(open, directory), prefix_(std::move(prefix))
    {
    }

    void create(const std::string &name) override
    {
        rfs_file *file = nullptr;
        int error = rfs_open(place_.client(), place_.who(), path(name).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL, 0644, &file);

        if (error == -ENOSPC)
            throw Full();
        checked("create", error);
        rfs_close(&file);
    }
    void stat(const std::string &name) override
    {
        struct stat stat;

        checked("stat", rfs_lstat(place_.client(), place_.who(), path(name).c_str(), &stat));
    }
    void rename(const std::string &from, const std::string &to) override
    {
        checked("rename",
                rfs_rename(place_.client(), place_.who(), path(from).c_str(), path(to).c_str(), 0));
    }
    void unlink(const std::string &name) override
    {
        checked("unlink", rfs_unlink(place_.client(), place_.who(), path(name).c_str()));
    }

  private:
    std::string path(const std::string &name) const
    {
        return place_.path(prefix_ + name);
    }

    Place place_;
    std::string prefix_;
};

/* A file of a thread. */
class Contents
{
  public:
    Contents(const OpenClient &open, const std::string &directory, uint64_t bytes, uint32_t seed)
        : place_(open, directory), bytes_(bytes / kLarge * kLarge), random_(seed), buffer_(kLarge)
    {
        std::generate(buffer_.begin(), buffer_.end(),
                      [&] { return static_cast<unsigned char>(random_()); });
        open_new();
    }
    ~Contents()
    {
        remove();
    }
    Contents(const Contents &) = delete;
    Contents &operator=(const Contents &) = delete;

    /* Behind the end; a file that is full is cut first. */
    void write_next(uint64_t i)
    {
        uint64_t at = i * kLarge % bytes_;

        if (at == 0)
            checked("cut", rfs_ftruncate(file_, 0));
        checked("write", rfs_pwrite(file_, buffer_.data(), kLarge, at));
    }
    void read_next(uint64_t i)
    {
        read(kLarge, i * kLarge % bytes_);
    }
    void overwrite(uint64_t i)
    {
        uint64_t from = i * kSmall % kLarge; /* each time other bytes */

        checked("overwrite", rfs_pwrite(file_, &buffer_[from], kSmall, somewhere()));
    }
    void read_somewhere(uint64_t)
    {
        read(kSmall, somewhere());
    }

    void fill()
    {
        for (uint64_t i = 0; i < bytes_ / kLarge; i++)
            write_next(i);
    }

  private:
    void open_new()
    {
        checked("create", rfs_open(place_.client(), place_.who(), place_.path("contents").c_str(),
                                   O_RDWR | O_CREAT, 0600, &file_));
    }
    void remove()
    {
        rfs_close(&file_);
        (void)!rfs_unlink(place_.client(), place_.who(), place_.path("contents").c_str());
    }
    uint64_t somewhere()
    {
        return random_() % (bytes_ / kSmall) * kSmall;
    }
    void read(uint64_t size, uint64_t offset)
    {
        ssize_t got = rfs_pread(file_, buffer_.data(), size, offset);

        checked("read", got);
        if (static_cast<uint64_t>(got) != size)
            throw cli::Failure("read " + std::to_string(got) + " bytes at " +
                               std::to_string(offset) + ", expected " + std::to_string(size));
    }

    Place place_;
    uint64_t bytes_;
    std::mt19937_64 random_;
    std::vector<unsigned char> buffer_;
    rfs_file *file_ = nullptr;
};

static void measure_contents(Load &load, Crew &crew,
                             const std::function<std::unique_ptr<Contents>(uint32_t)> &make)
{
    std::vector<std::unique_ptr<Contents>> files(crew.threads());

    auto row = [&](const char *what, uint64_t bytes, void (Contents::*act)(uint64_t)) {
        load.measure(what, crew, bytes, [&](uint32_t t, uint64_t i) {
            (files[t].get()->*act)(i);
            return true;
        });
    };
    auto rows = [&] {
        crew.work([&](uint32_t t) { files[t] = make(t); });
        row("write 1m", kLarge, &Contents::write_next);
        crew.work([&](uint32_t t) { files[t]->fill(); });
        row("read 1m", kLarge, &Contents::read_next);
        row("overwrite 4k", kSmall, &Contents::overwrite);
        row("read 4k", kSmall, &Contents::read_somewhere);
    };

    crew.work(rows, [&](uint32_t t) { files[t].reset(); });
}

void measure_volume(const VolumeOptions &options, const OpenClient &open)
{
    std::string name = "/rpm-fs-bench-" + std::to_string(getpid());
    Place base(open, name);
    Load load(options.load);

    for (uint32_t threads : options.load.threads) {
        auto directory = [&](uint32_t t) { return name + "/" + std::to_string(t); };

        if (options.contents) {
            Crew crew(threads);

            measure_contents(load, crew, [&](uint32_t t) {
                return std::make_unique<Contents>(open, directory(t), options.file_bytes, t + 1);
            });
        }
        if (options.names)
            measure_names(load, options.load, threads, [&](uint32_t t) {
                return std::make_unique<VolumeNames>(open, directory(options.one_directory ? 0 : t),
                                                     std::to_string(t) + "-");
            });
    }
    load.finish();
}

} // namespace rfs::bench
