/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs_peer.cc: creates, looks up, renames and removes names by system calls in a mounted file
 * system, or in an embedded store, for comparison with rpm-fs bench: the same rows. A store is in a
 * file system in memory.
 */
#include "bench/options.h"
#include "peer/store.h"

#include "cli.h"

#include <filesystem>

namespace
{

struct Options {
    std::string store;
    std::string folder = "."; /* that calls use */
    rfs::bench::LoadOptions load;
};

std::unique_ptr<rfs::peer::Store> make_store(const std::string &store, const std::string &folder)
{
#ifdef HAVE_LMDB
    if (store == "lmdb")
        return rfs::peer::make_lmdb(folder);
#endif
#ifdef HAVE_SQLITE
    if (store == "sqlite")
        return rfs::peer::make_sqlite(folder);
#endif
    throw cli::Failure(store + ": fs-peer was built without it; install its library, build again");
}

/* A folder in memory that is removed with all that is in it. */
class Folder
{
  public:
    Folder()
    {
        if (mkdtemp(name_.data()) == nullptr)
            throw cli::Failure(name_ + ": " + strerror(errno));
    }
    ~Folder()
    {
        std::error_code ignored;

        std::filesystem::remove_all(name_, ignored);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    const std::string &name() const
    {
        return name_;
    }

  private:
    std::string name_ = "/dev/shm/fs-peer-XXXXXX";
};

int run_calls(const Options &options)
{
    rfs::bench::Load load(options.load);
    auto store = rfs::peer::make_calls(options.folder);

    for (uint32_t threads : options.load.threads)
        rfs::bench::measure_names(load, options.load, threads,
                                  [&](uint32_t thread) { return store->open(thread); });
    load.finish();
    return cli::kDone;
}

int run(const Options &options)
{
    if (options.store == "calls")
        return run_calls(options);

    Folder folder;
    rfs::bench::Load load(options.load);

    for (uint32_t threads : options.load.threads) {
        std::string part = folder.name() + "/" + std::to_string(threads);

        std::filesystem::create_directory(part);
        std::unique_ptr<rfs::peer::Store> store = make_store(options.store, part);

        rfs::bench::measure_names(load, options.load, threads,
                                  [&](uint32_t thread) { return store->open(thread); });
    }
    load.finish();
    return cli::kDone;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Keep names of files in an embedded store, for comparison with rpm-fs bench",
                 "fs-peer");
    Options options;

    app.add_option("store", options.store,
                   "sqlite (write-ahead log, synchronous=FULL), lmdb, or calls: system calls")
        ->check(CLI::IsMember({ "sqlite", "lmdb", "calls" }))
        ->required();
    app.add_option("--dir", options.folder, "for calls: a folder of a mounted file system (.)");
    rfs::bench::add_load(app, options.load);
    return cli::run(app, argc, argv, [&] { return run(options); });
}
