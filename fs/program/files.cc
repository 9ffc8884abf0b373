/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.cc: rpm-fs stat, ls, cat and cp, by librpmfs.
 *
 * Tests: tests/tools/fs_test
 */
#include "program/command.h"

#include "mount/remount.h"

#include "cli.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>

namespace rfs
{

static constexpr size_t kPieceBytesMax = 1 << 20; /* copied at once */

/* NAME:/PATH, or a path outside of volumes. */
struct Target {
    std::string volume; /* empty: outside */
    std::string path;

    std::string text() const
    {
        return volume.empty() ? path : volume + ":" + path;
    }
    Target in(const std::string &name) const
    {
        return { volume, path + (path.ends_with('/') ? "" : "/") + name };
    }
};

static Target target_of(const std::string &word)
{
    size_t colon = word.find(':');

    if (colon == word.npos || word.find('/') < colon)
        return { "", word };
    return { word.substr(0, colon), colon + 1 == word.size() ? "/" : word.substr(colon + 1) };
}

static Target volume_target(const std::string &word)
{
    Target target = target_of(word);

    if (target.volume.empty())
        throw cli::Failure(word + ": name a file as VOLUME:/PATH");
    return target;
}

/* Files in volumes and outside, as the calling user sees them. */
class Files
{
  public:
    explicit Files(const PlaceOptions &place) : place_(place)
    {
        int count = getgroups(0, nullptr);

        groups_.resize(static_cast<size_t>(std::max(count, 0)));
        (void)getgroups(count, groups_.data());
        who_ = { geteuid(), getegid(), groups_.data(), static_cast<uint32_t>(groups_.size()) };
    }

    rfs_client *client(const Target &target)
    {
        ClientHandle &client = clients_[target.volume];

        if (!client)
            client = open_client(place_, target.volume);
        return client.get();
    }
    const rfs_cred *who() const
    {
        return &who_;
    }
    /* False: there is no such file. */
    bool find(const Target &target, struct stat &stat)
    {
        int64_t found = target.volume.empty()
                            ? (lstat(target.path.c_str(), &stat) == 0 ? 0 : -errno)
                            : rfs_lstat(client(target), who(), target.path.c_str(), &stat);

        if (found != -ENOENT)
            checked(target.text(), found);
        return found == 0;
    }
    struct stat stat(const Target &target)
    {
        struct stat stat;

        if (!find(target, stat))
            throw cli::Failure(target.text() + ": " + strerror(ENOENT));
        return stat;
    }
    /* False: there is none. The file to which a symbolic link leads. */
    bool find_followed(const Target &target, struct stat &stat)
    {
        int64_t found = target.volume.empty()
                            ? (::stat(target.path.c_str(), &stat) == 0 ? 0 : -errno)
                            : rfs_stat(client(target), who(), target.path.c_str(), &stat);

        return found == 0;
    }
    /* The names in a directory, without "." and "..", sorted. */
    std::map<std::string, uint8_t> names(const Target &target);
    std::string link(const Target &target);
    /* Calls @take(bytes, size) for the contents of a file, in pieces. */
    void read(const Target &target, const std::function<void(const char *, size_t)> &take);
    void copy(const Target &from, const Target &to, bool recursive);
    /* Do both lead to one file, if @found and @source are what is there? Also where one of them is
     * a path of a mount of the volume. */
    bool are_same(const Target &to, const struct stat &found, const Target &from,
                  const struct stat &source) const;
    /* Throws: @to is @from, or below it: a copy would have no end. */
    void expect_outside(const Target &from, const Target &to);

    /* Devices, sockets and pipes in directories that were copied. */
    uint64_t left_out() const
    {
        return left_out_;
    }

  private:
    void copy_contents(const Target &from, const Target &to, mode_t mode);
    void expect_another(const Target &from, const Target &to, const struct stat &source);
    void copy_directory(const Target &from, const Target &to, mode_t mode);

    const PlaceOptions &place_;
    std::vector<gid_t> groups_;
    rfs_cred who_{};
    uint64_t left_out_ = 0;
    std::map<std::string, ClientHandle> clients_;
};

std::map<std::string, uint8_t> Files::names(const Target &target)
{
    std::map<std::string, uint8_t> names;

    if (target.volume.empty()) {
        DIR *dir = opendir(target.path.c_str());

        checked(target.text(), dir == nullptr ? -errno : 0);
        while (dirent *entry = readdir(dir))
            names[entry->d_name] = entry->d_type;
        closedir(dir);
    } else {
        rfs_dir *dir = nullptr;
        rfs_dirent entry;
        int got = rfs_opendir(client(target), who(), target.path.c_str(), &dir);

        checked(target.text(), got);
        while ((got = rfs_readdir(dir, &entry)) > 0)
            names[entry.name] = entry.type;
        rfs_closedir(&dir);
        checked(target.text(), got);
    }
    names.erase(".");
    names.erase("..");
    return names;
}

std::string Files::link(const Target &target)
{
    std::string text(4096, '\0');
    int64_t got = target.volume.empty() ? readlink(target.path.c_str(), text.data(), text.size())
                                        : rfs_readlink(client(target), who(), target.path.c_str(),
                                                       text.data(), text.size());

    text.resize(static_cast<size_t>(
        checked(target.text(), target.volume.empty() && got < 0 ? -errno : got)));
    return text;
}

void Files::read(const Target &target, const std::function<void(const char *, size_t)> &take)
{
    std::vector<char> bytes(kPieceBytesMax);
    int64_t got = 0;

    if (target.volume.empty()) {
        int fd = open(target.path.c_str(), O_RDONLY | O_CLOEXEC);

        checked(target.text(), fd < 0 ? -errno : 0);
        while ((got = ::read(fd, bytes.data(), bytes.size())) > 0)
            take(bytes.data(), static_cast<size_t>(got));
        got = got < 0 ? -errno : 0;
        close(fd);
    } else {
        rfs_file *file = nullptr;
        uint64_t at = 0;

        checked(target.text(),
                rfs_open(client(target), who(), target.path.c_str(), O_RDONLY, 0, &file));
        while ((got = rfs_pread(file, bytes.data(), bytes.size(), at)) > 0) {
            take(bytes.data(), static_cast<size_t>(got));
            at += static_cast<uint64_t>(got);
        }
        rfs_close(&file);
    }
    checked(target.text(), got);
}

void Files::copy_contents(const Target &from, const Target &to, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    const mode_t made = mode & 0777; /* the copy has another owner, so no set-ID bits */

    if (to.volume.empty()) {
        int fd = open(to.path.c_str(), flags | O_CLOEXEC, made);

        checked(to.text(), fd < 0 ? -errno : 0);
        read(from, [&](const char *bytes, size_t size) {
            for (size_t done = 0; done < size;) {
                ssize_t put = write(fd, bytes + done, size - done);

                checked(to.text(), put < 0 ? -errno : 0);
                done += static_cast<size_t>(put);
            }
        });
        checked(to.text(), close(fd) != 0 ? -errno : 0);
        return;
    }

    rfs_file *file = nullptr;
    uint64_t at = 0;

    checked(to.text(), rfs_open(client(to), who(), to.path.c_str(), flags, made, &file));
    read(from, [&](const char *bytes, size_t size) {
        for (size_t done = 0; done < size;) {
            int64_t put = checked(to.text(), rfs_pwrite(file, bytes + done, size - done, at));

            done += static_cast<size_t>(put);
            at += static_cast<uint64_t>(put);
        }
    });
    rfs_close(&file);
}

void Files::copy_directory(const Target &from, const Target &to, mode_t mode)
{
    struct stat stat;

    if (!find(to, stat)) {
        /* Writable until all is in it. */
        mode_t first = (mode & 01777) | S_IRWXU;

        checked(to.text(), to.volume.empty()
                               ? (mkdir(to.path.c_str(), first) == 0 ? 0 : -errno)
                               : rfs_mkdir(client(to), who(), to.path.c_str(), first));
    }
    for (const auto &[name, type] : names(from))
        copy(from.in(name), to.in(name), true);
    checked(to.text(), to.volume.empty()
                           ? (chmod(to.path.c_str(), mode & 01777) == 0 ? 0 : -errno)
                           : rfs_chmod(client(to), who(), to.path.c_str(), mode & 01777));
}

bool Files::are_same(const Target &to, const struct stat &found, const Target &from,
                     const struct stat &source) const
{
    auto volume_of = [](const Target &target, const struct stat &stat) {
        return target.volume.empty() ? volume_of_device(stat.st_dev) : target.volume;
    };

    if (found.st_ino != source.st_ino)
        return false;
    if (to.volume == from.volume)
        return found.st_dev == source.st_dev;
    return volume_of(to, found) == volume_of(from, source);
}

void Files::expect_outside(const Target &from, const Target &to)
{
    struct stat source = stat(from);
    struct stat found;
    struct stat below;
    Target above = to;

    if (!S_ISDIR(source.st_mode))
        return;
    while (!find_followed(above, found)) { /* the directory in which @to will be made */
        size_t slash = above.path.find_last_of('/');
        std::string shorter =
            slash != above.path.npos ? above.path.substr(0, std::max<size_t>(slash, 1)) : ".";

        if (shorter == above.path)
            return;
        above.path = shorter;
    }
    do {
        if (are_same(above, found, from, source))
            throw cli::Failure(from.text() + ": cannot copy a directory into itself, " + to.text());
        below = found;
        above = above.in("..");
    } while (find_followed(above, found) &&
             (found.st_ino != below.st_ino || found.st_dev != below.st_dev));
}

/* Throws: @to leads to the file @source: a copy would empty it first. */
void Files::expect_another(const Target &from, const Target &to, const struct stat &source)
{
    struct stat found;

    if (S_ISREG(source.st_mode) && find_followed(to, found) && are_same(to, found, from, source))
        throw cli::Failure(from.text() + ": is the same file as " + to.text());
}

void Files::copy(const Target &from, const Target &to, bool recursive)
{
    struct stat stat = this->stat(from);

    if (!recursive && S_ISLNK(stat.st_mode) && !find_followed(from, stat))
        throw cli::Failure(from.text() + ": is a symbolic link to no file: copy it with -r");
    if (S_ISDIR(stat.st_mode)) {
        if (!recursive)
            throw cli::Failure(from.text() + ": is a directory: copy it with -r");
        copy_directory(from, to, stat.st_mode);
    } else if (S_ISLNK(stat.st_mode)) {
        std::string target = link(from);

        checked(to.text(), to.volume.empty()
                               ? (symlink(target.c_str(), to.path.c_str()) == 0 ? 0 : -errno)
                               : rfs_symlink(client(to), who(), target.c_str(), to.path.c_str()));
    } else if (S_ISREG(stat.st_mode) || !recursive) {
        expect_another(from, to, stat);
        copy_contents(from, to, stat.st_mode);
    } else {
        left_out_++;
        fprintf(stderr, "rpm-fs: %s: is a device, socket or pipe, and is left out\n",
                from.text().c_str());
    }
}

static std::string mode_text(mode_t mode)
{
    static const char types[] = "?pc?d?b?-?l?s???";
    std::string text(1, types[mode >> 12 & 15]);

    for (int bit = 8; bit >= 0; bit--)
        text += (mode >> bit & 1) != 0 ? "xwr"[bit % 3] : '-';
    if ((mode & S_ISUID) != 0)
        text[3] = text[3] == 'x' ? 's' : 'S';
    if ((mode & S_ISGID) != 0)
        text[6] = text[6] == 'x' ? 's' : 'S';
    if ((mode & S_ISVTX) != 0)
        text[9] = text[9] == 'x' ? 't' : 'T';
    return text;
}

static std::string line_of(const struct stat &stat, const std::string &name)
{
    char text[160];
    char time[32];
    struct tm broken;

    strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", localtime_r(&stat.st_mtim.tv_sec, &broken));
    snprintf(text, sizeof(text), "%s %5lu %6u %6u %12jd %s ", mode_text(stat.st_mode).c_str(),
             static_cast<unsigned long>(stat.st_nlink), stat.st_uid, stat.st_gid,
             static_cast<intmax_t>(stat.st_size), time);
    return text + name + "\n";
}

namespace
{

struct FileOptions {
    PlaceOptions place;
    std::vector<std::string> words;
    bool flag = false;
};

} // namespace

static std::shared_ptr<FileOptions> file_options(CLI::App &app, const char *about)
{
    auto options = std::make_shared<FileOptions>();

    app.add_option("FILE", options->words, about)->required();
    add_place(app, options->place);
    return options;
}

Body add_stat(CLI::App &app)
{
    auto options = file_options(app, "VOLUME:/PATH");

    return [options] {
        Files files(options->place);

        for (const std::string &word : options->words) {
            Target target = volume_target(word);
            struct stat stat = files.stat(target);

            cli::print(std::to_string(stat.st_ino) + " " + line_of(stat, target.text()));
        }
        return cli::kDone;
    };
}

Body add_list(CLI::App &app)
{
    auto options = file_options(app, "VOLUME:/PATH");
    auto all = std::make_shared<bool>(false);

    app.add_flag("-l", options->flag, "with attributes");
    app.add_flag("-a,--all", *all, "also . and .., the directory and the one that has it");
    return [options, all] {
        Files files(options->place);

        for (const std::string &word : options->words) {
            Target target = volume_target(word);

            std::map<std::string, uint8_t> names = files.names(target);

            if (*all) {
                names["."] = DT_DIR;
                names[".."] = DT_DIR;
            }
            for (const auto &[name, type] : names) {
                Target file = target.in(name);
                std::string shown = name;

                if (options->flag && type == DT_LNK)
                    shown += " -> " + files.link(file);
                cli::print(options->flag ? line_of(files.stat(file), shown) : name + "\n");
            }
        }
        return cli::kDone;
    };
}

Body add_print(CLI::App &app)
{
    auto options = file_options(app, "VOLUME:/PATH");

    return [options] {
        Files files(options->place);

        for (const std::string &word : options->words)
            files.read(volume_target(word), [](const char *bytes, size_t size) {
                cli::print(std::string(bytes, size));
            });
        return cli::kDone;
    };
}

Body add_copy(CLI::App &app)
{
    auto options =
        file_options(app, "files, and where to copy them: VOLUME:/PATH, or PATH outside");

    app.add_flag("-r", options->flag, "directories with all that is in them");
    return [options] {
        Files files(options->place);

        if (options->words.size() < 2)
            throw cli::Failure("cp needs a file and where to copy it");

        Target to = target_of(options->words.back());
        struct stat stat;
        bool into = files.find(to, stat) && S_ISDIR(stat.st_mode);

        if (options->words.size() > 2 && !into)
            throw cli::Failure(to.text() + ": is no directory; name one to copy several files");
        for (size_t i = 0; i + 1 < options->words.size(); i++) {
            Target from = target_of(options->words[i]);
            std::string name = from.path;

            while (name.ends_with('/'))
                name.pop_back();
            name = name.substr(name.rfind('/') + 1);

            Target place = into && !name.empty() ? to.in(name) : to;

            files.expect_outside(from, place);
            files.copy(from, place, options->flag);
        }
        if (files.left_out() != 0)
            throw cli::Failure(std::to_string(files.left_out()) +
                               " devices, sockets or pipes were not copied; all else was");
        return cli::kDone;
    };
}

} // namespace rfs
