// SPDX-License-Identifier: BSD-3-Clause
/*
 * history_clients.cpp: clients of a volume, each in a thread, that make random calls through the
 * library and note each one, as history_client.py does by system calls. Another file has their
 * transactions, from the engine.
 *
 *     fs_history_clients WHAT VOLUME NAME CLIENTS SEED STARTED FOLDER BEGUN_NS CANARY URL...
 *
 * WHAT: setup makes the directory and the files that run needs, and read reads all of them at the
 * end. run goes on until there is a file FOLDER/stop. STARTED: how many processes were started,
 * with this one.
 */
#include "bench/history.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "engine/base/canaries.h"
#include "lib/handle.h"

#include <librpmfs.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

constexpr uint32_t kFiles = 3;
constexpr uint32_t kBlocks = 4; // of each file
constexpr uint32_t kNames = 20;
constexpr size_t kBlock = 4096;
constexpr size_t kRecord = 64;
constexpr size_t kListBytes = 1 << 20;
constexpr uint64_t kListNs = 1000000000; // so long records are appended to one file
constexpr uint32_t kSets = 32;           // read-write sets that a session uses at once, at most
constexpr uint64_t kPatienceNs = 30000000000; // for servers that are away
constexpr uint32_t kStartedFirst = 3;         // processes: setup, and two that run
constexpr uint32_t kClientsMax = 16;          // of a process
const rfs_cred kRoot{ 0, 0, nullptr, 0 };

struct Options {
    std::string what, volume, name, folder;
    uint32_t clients, started;
    uint64_t seed, begun_ns;
    dtx::Options servers;
};

std::string quoted(const std::string &text)
{
    return '"' + text + '"';
}

// A record of a value: the value, spaces, a newline.
std::string record(const std::string &value)
{
    std::string text(kRecord, ' ');

    text.replace(0, value.size(), value);
    text.back() = '\n';
    return text;
}

// The value of a part of a file that consists of records of one value; "" for zeros.
std::string value_of(const std::string &part, size_t size)
{
    std::set<std::string> values;
    std::string text;

    for (size_t at = 0; at < part.size(); at += kRecord) {
        std::string piece = part.substr(at, kRecord);
        size_t length = std::min(piece.find(' '), piece.find('\0'));

        values.insert(piece.substr(0, length));
    }
    if (values.size() == 1 && part.size() == size)
        return *values.begin();
    for (const std::string &each : values)
        text += "|" + each;
    for (char &c : text)
        c = c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '.';
    return "?" + text;
}

// As a list in JSON.
std::string values_of(const std::string &bytes, size_t size)
{
    std::string text;

    for (size_t at = 0; at < bytes.size(); at += size)
        text += (text.empty() ? "" : ",") + quoted(value_of(bytes.substr(at, size), size));
    return "[" + text + "]";
}

std::string result_of(int64_t returned)
{
    return quoted(returned >= 0 ? "ok" : strerrorname_np(static_cast<int>(-returned)));
}

class Client
{
  public:
    Client(const Options &options, uint32_t number, dtx::Listener *listener)
        : options_(options), name_(options.name + "." + std::to_string(number)),
          random_(options.seed * 1000 + number),
          client_(rfs::open_volume(options.volume, options.servers), listener)
    {
        std::string path = options.folder + "/" + name_ + ".notes";

        notes_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        client_.client.finish(rfs::mount(client_.client));
    }
    ~Client()
    {
        for (auto &[key, file] : files_)
            rfs_close(&file);
        try {
            client_.client.finish(rfs::unmount(client_.client));
        } catch (const dtx::Error &) { // a server is away for long: the next client finds it dead
        } catch (const rfs::Failure &) {
        }
        close(notes_);
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    void set_up();
    void run();
    void read_all();

  private:
    // Makes a call: its result, in JSON.
    using Act = std::function<std::string()>;

    void note(const std::string &line)
    {
        std::string whole = line + "\n";

        if (write(notes_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
            abort();
    }
    // @act: returns what describes the result after the time of the end was taken.
    void make(const char *call, const std::string &args, const std::function<Act()> &act)
    {
        note("{\"call\":" + quoted(call) + ",\"args\":[" + args +
             "],\"begin\":" + std::to_string(dtx::now_ns()) + "}");

        Act result = act();
        uint64_t end = dtx::now_ns();

        note("{\"result\":" + result() + ",\"end\":" + std::to_string(end) + "}");
    }
    uint32_t below(uint32_t limit)
    {
        return static_cast<uint32_t>(random_.below(limit));
    }
    std::string new_value()
    {
        return name_ + "." + std::to_string(++number_);
    }
    std::string some_name()
    {
        return "names/n" + std::to_string(below(kNames));
    }
    std::string list_now() const
    {
        return "list" + std::to_string((dtx::now_ns() - options_.begun_ns) / kListNs);
    }
    rfs_file *opened(const std::string &path, int flags);
    rfs_file *handle(const std::string &file, int flags);
    void write_blocks();
    void read_blocks(uint32_t file, uint32_t first, uint32_t count);
    void append();
    void list(const std::string &file);
    void create();
    void stat();
    void unlink();
    void move(bool link);
    void names();

    const Options &options_;
    std::string name_;
    dtx::SplitMix64 random_;
    rfs_client client_;
    int notes_ = -1;
    uint64_t number_ = 0;
    std::map<std::pair<std::string, int>, rfs_file *> files_; // by name and flags
};

// nullptr: there is none.
rfs_file *Client::opened(const std::string &path, int flags)
{
    rfs_file *file = nullptr;

    return rfs_open(&client_, &kRoot, path.c_str(), flags, 0644, &file) == 0 ? file : nullptr;
}

// A file that is mostly open since long.
rfs_file *Client::handle(const std::string &file, int flags)
{
    rfs_file *&found = files_[{ file, flags }];

    if (found != nullptr && below(10) == 0)
        rfs_close(&found);
    while (found == nullptr) // a server is away for long
        found = opened(file, flags);
    return found;
}

void Client::write_blocks()
{
    uint32_t count = 1 + below(3);
    uint32_t first = below(kBlocks - count + 1);
    std::string name = "f" + std::to_string(below(kFiles));
    std::string value = new_value();
    std::string bytes;
    rfs_file *file = handle(name, O_WRONLY);

    while (bytes.size() < count * kBlock)
        bytes += record(value);
    make("write",
         quoted(name) + "," + std::to_string(first) + "," + std::to_string(count) + "," +
             quoted(value),
         [&] {
             ssize_t got = rfs_pwrite(file, bytes.data(), bytes.size(), first * kBlock);

             return [got] { return result_of(got); };
         });
}

void Client::read_blocks(uint32_t number, uint32_t first, uint32_t count)
{
    std::string name = "f" + std::to_string(number);
    std::string bytes(count * kBlock, '\0');
    rfs_file *file = handle(name, O_RDONLY);

    make("read", quoted(name) + "," + std::to_string(first) + "," + std::to_string(count), [&] {
        ssize_t got = rfs_pread(file, bytes.data(), bytes.size(), first * kBlock);

        return [&bytes, got] { return got < 0 ? result_of(got) : values_of(bytes, kBlock); };
    });
}

void Client::append()
{
    std::string name = list_now();
    std::string value = new_value();
    std::string bytes = record(value);
    rfs_file *file = opened(name, O_WRONLY | O_APPEND | O_CREAT);

    if (file == nullptr)
        return;
    make("append", quoted(name) + "," + quoted(value), [&] {
        ssize_t got = rfs_pwrite(file, bytes.data(), bytes.size(), 0);

        return [got] { return result_of(got); };
    });
    rfs_close(&file);
}

void Client::list(const std::string &name)
{
    std::string bytes(kListBytes, '\0');
    rfs_file *file = opened(name, O_RDONLY);

    if (file == nullptr)
        return;
    make("list", quoted(name), [&] {
        ssize_t got = rfs_pread(file, bytes.data(), bytes.size(), 0);

        return [&bytes, got] {
            return got < 0 ? result_of(got)
                           : values_of(bytes.substr(0, static_cast<size_t>(got)), kRecord);
        };
    });
    rfs_close(&file);
}

void Client::create()
{
    std::string name = some_name();
    rfs_file *file = nullptr;

    make("create", quoted(name), [&] {
        int got = rfs_open(&client_, &kRoot, name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644, &file);

        return [&file, got] {
            struct stat stat {
            };

            if (got != 0)
                return result_of(got);
            return rfs_fstat(file, &stat) == 0 ? std::to_string(stat.st_ino) : result_of(-EIO);
        };
    });
    rfs_close(&file);
}

void Client::stat()
{
    std::string name = some_name();
    struct stat stat {
    };

    make("stat", quoted(name), [&] {
        int got = rfs_lstat(&client_, &kRoot, name.c_str(), &stat);

        return [&stat, got] { return got != 0 ? result_of(got) : std::to_string(stat.st_ino); };
    });
}

void Client::unlink()
{
    std::string name = some_name();

    make("unlink", quoted(name), [&] {
        int got = rfs_unlink(&client_, &kRoot, name.c_str());

        return [got] { return result_of(got); };
    });
}

// Renames, or makes a link.
void Client::move(bool link)
{
    std::string name = some_name();
    std::string to = some_name();

    make(link ? "link" : "rename", quoted(name) + "," + quoted(to), [&] {
        int got = link ? rfs_link(&client_, &kRoot, name.c_str(), to.c_str())
                       : rfs_rename(&client_, &kRoot, name.c_str(), to.c_str(), 0);

        return [got] { return result_of(got); };
    });
}

// All at one time: rfs_readdir() would make a second call for later names.
void Client::names()
{
    auto body = [](rfs::Call &call) -> dtx::Task<std::vector<rfs::Listed>> {
        rfs::Node node = co_await rfs::resolve(call, rfs::kRootIno, "names", true);

        co_return co_await rfs::list_names(call, node.ino, 0, 2 * kNames);
    };
    std::vector<rfs::Listed> found;

    make("names", "", [&] {
        int got = rfs::guarded([&] {
            found = client_.client.call_now(rfs::kSelf, body);
            return 0;
        });

        return [&found, got] {
            std::string text;

            for (const rfs::Listed &each : found)
                text += (text.empty() ? "" : ",") + quoted("names/" + each.name) + ":" +
                        std::to_string(each.ino);
            return got != 0 ? result_of(got) : "{" + text + "}";
        };
    });
}

void Client::set_up()
{
    int err = rfs_mkdir(&client_, &kRoot, "names", 0755);

    for (uint32_t i = 0; err == 0 && i < kFiles; i++)
        err = rfs_ftruncate(handle("f" + std::to_string(i), O_RDWR | O_CREAT), kBlocks * kBlock);
    if (err != 0)
        throw std::runtime_error(strerror(-err));
}

void Client::run()
{
    using Act = std::function<void()>;
    std::string stop = options_.folder + "/stop";
    std::vector<std::pair<uint32_t, Act>> acts = {
        { 5, [this] { write_blocks(); } },
        { 5,
          [this] {
              uint32_t count = 1 + below(3);

              read_blocks(below(kFiles), below(kBlocks - count + 1), count);
          } },
        { 2, [this] { append(); } },
        { 1, [this] { list(list_now()); } },
        { 5, [this] { create(); } },
        { 6, [this] { stat(); } },
        { 2, [this] { unlink(); } },
        { 3, [this] { move(false); } },
        { 1, [this] { move(true); } },
        { 1, [this] { names(); } },
    };
    std::vector<const Act *> choices;

    for (const auto &[often, act] : acts)
        choices.insert(choices.end(), often, &act);
    /* After clients were killed: each call takes one of them off, which asks all that live. */
    for (uint32_t i = 0; i < options_.clients && options_.started > kStartedFirst; i++)
        if (rfs_turn(&client_) != 0)
            break; // a server is away
    while (access(stop.c_str(), F_OK) != 0)
        (*choices[below(static_cast<uint32_t>(choices.size()))])();
}

void Client::read_all()
{
    for (uint32_t i = 0; i < kFiles; i++)
        read_blocks(i, 0, kBlocks);
    for (uint64_t i = 0; i <= (dtx::now_ns() - options_.begun_ns) / kListNs; i++)
        list("list" + std::to_string(i));
    names();
}

Options parse(int argc, char **argv)
{
    Options options;

    if (argc < 11)
        throw std::runtime_error("usage: see the comment in history_clients.cpp");
    options.what = argv[1];
    options.volume = argv[2];
    options.name = argv[3];
    options.clients = static_cast<uint32_t>(strtoul(argv[4], nullptr, 10));
    options.seed = strtoull(argv[5], nullptr, 10);
    options.started = static_cast<uint32_t>(strtoul(argv[6], nullptr, 10));
    options.folder = argv[7];
    options.begun_ns = strtoull(argv[8], nullptr, 10);
    if (strcmp(argv[9], "-") != 0)
        options.servers.canary = dtx::kCanaryNames.at(argv[9]);
    options.servers.urls.assign(argv + 10, argv + argc);
    return options;
}

// To open a volume takes all servers; one of them may be away.
std::unique_ptr<Client> joined(const Options &options, uint32_t number, dtx::Listener &listener)
{
    for (uint64_t until_ns = dtx::now_ns() + kPatienceNs;;) {
        try {
            return std::make_unique<Client>(options, number, &listener);
        } catch (const dtx::Error &error) {
            fprintf(stderr, "%s: %s\n", options.name.c_str(), error.what());
            if (dtx::now_ns() > until_ns)
                throw;
        }
    }
}

void act(const Options &options)
{
    dtx::history::Recorder::Options recording;
    uint32_t first = options.started * kClientsMax * kSets;

    recording.sessions = first + options.clients * kSets;
    recording.buffer_bytes = 0; // this process may be killed

    auto recorder = dtx::history::Recorder::open(options.folder + "/" + options.name + ".jsonl",
                                                 { "fs", options.seed, false }, recording);
    std::vector<std::thread> threads;

    for (uint32_t i = 0; i < options.clients; i++)
        threads.emplace_back([&, i] {
            dtx::bench::ThreadRecorder listener(*recorder, first + i * kSets, kSets);
            std::unique_ptr<Client> client = joined(options, i, listener);

            if (options.what == "setup")
                client->set_up();
            else if (options.what == "read")
                client->read_all();
            else
                client->run();
        });
    for (std::thread &thread : threads)
        thread.join();
}

} // namespace

int main(int argc, char **argv)
{
    try {
        act(parse(argc, argv));
    } catch (const std::exception &error) {
        fprintf(stderr, "fs_history_clients: %s\n", error.what());
        return 1;
    }
    return 0;
}
