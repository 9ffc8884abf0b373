/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.cc: make, mount and unmount volumes.
 *
 * Tests: tests/unit/fs/lib/library_test.cpp
 */
#include "lib/handle.h"

#include "core/base/assert.h"
#include "core/client/volume.h"

#include <librpm.h>

#include <algorithm>
#include <cstring>

namespace rfs
{

static constexpr uint64_t kTurnNs = 1000000000; /* between looks at files without names */
static constexpr uint32_t kDeadTurns = 10;      /* of so many looks, one asks who has died */
static constexpr uint64_t kBytesPerInode = 16384;
static constexpr uint32_t kServersMax = 256;

std::string &last_error()
{
    static thread_local std::string text;

    return text;
}

int failed(int error)
{
    last_error().clear();
    return -error;
}

/* Damage is -EIO, as of other file systems. */
static int error_of(int code)
{
    return code == RPM_E_CORRUPT || code == RPM_E_TORN || code == 0 ? -EIO : code;
}

int error_of_exception(std::string &text)
{
    text.clear();
    try {
        throw;
    } catch (const Failure &failure) {
        return -failure.error;
    } catch (const dtx::Error &error) {
        text = error.what();
        return error_of(error.code());
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (const std::exception &error) { /* of the standard library: no call passes one on */
        text = error.what();
        return -EIO;
    }
}

int error_of_exception()
{
    return error_of_exception(last_error());
}

static dtx::Task<> turn(rfs_client *client)
{
    client->in_turn = true;
    try {
        co_await take_turn(client->client, client->turns++ % kDeadTurns == kDeadTurns - 1);
    } catch (...) { /* the next turn tries again, and so does the call that needs the server that */
    }               /* does not answer */
    client->in_turn = false;
}

void begin_turn(rfs_client *client)
{
    uint64_t now = dtx::now_ns();

    if (now < client->next_turn_ns || client->in_turn)
        return;
    client->next_turn_ns = now + kTurnNs;
    client->client.session().start(turn(client));
}

void take_turn(rfs_client *client)
{
    begin_turn(client);
    client->calls.settle();
}

dtx::Task<> close_handle(rfs_client *client, uint32_t ino)
{
    if (client->client.open_files().remove(ino))
        co_await close_file(client->client, ino);
}

std::string path_of(const char *path)
{
    expect(path != nullptr, EINVAL);
    return path;
}

Credentials credentials_of(const rfs_cred *who)
{
    Credentials made;

    expect(who != nullptr && (who->groups != nullptr || who->group_count == 0), EINVAL);
    made.uid = who->uid;
    made.gid = who->gid;
    made.groups.assign(who->groups, who->groups + who->group_count);
    return made;
}

/* What a caller's struct has; of an older caller, zeros for what it lacks. Failure: EINVAL, a newer
 * caller has set what this version does not know. */
template <class Opts> static Opts copy_opts(const Opts *given)
{
    Opts known{};

    expect(given != nullptr && given->size >= sizeof(given->size), EINVAL);
    if (given->size > sizeof(known)) {
        auto bytes = reinterpret_cast<const unsigned char *>(given);

        expect(std::all_of(bytes + sizeof(known), bytes + given->size,
                           [](unsigned char byte) { return byte == 0; }),
               EINVAL);
    }
    std::memcpy(&known, given, std::min(given->size, sizeof(known)));
    return known;
}

static dtx::Options options_of(const rfs_opts &opts)
{
    dtx::Options options;

    expect(opts.name != nullptr && opts.urls != nullptr, EINVAL);
    expect(opts.url_count > 0 && opts.url_count <= kServersMax, EINVAL);
    for (uint32_t i = 0; i < opts.url_count; i++) {
        expect(opts.urls[i] != nullptr, EINVAL);
        for (uint32_t j = 0; j < i; j++)
            if (options.urls[j] == opts.urls[i])
                throw dtx::Error(RPM_E_INVAL, "servers " + std::to_string(j) + " and " +
                                                  std::to_string(i) + " have the same URL, " +
                                                  options.urls[j] + ": name each server once");
        options.urls.push_back(opts.urls[i]);
    }
    options.secret = opts.secret != nullptr ? opts.secret : "";
    options.retry_us = opts.patience_us;
    return options;
}

static void make(const rfs_opts &opts, const rfs_make_opts &make)
{
    dtx::Options options = options_of(opts);
    uint64_t per_inode = make.bytes_per_inode != 0 ? make.bytes_per_inode : kBytesPerInode;
    NewVolume wanted = new_volume(opts.name, make.bytes, per_inode, opts.url_count);

    wanted.uid = make.uid;
    wanted.gid = make.gid;
    wanted.mode = make.mode != 0 ? make.mode : 0755;
    options.replicas = make.replicas != 0 ? make.replicas : 1;
    try {
        make_volume(wanted, std::move(options));
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_EXISTS)
            throw;
        throw dtx::Error(RPM_E_EXISTS, "the servers have a volume or database '" + wanted.name +
                                           "' already: mount it, or choose another name; rpm-fs "
                                           "mkfs --force removes it, with all of its files");
    }
}

static rfs_client *mounted(const rfs_opts &opts)
{
    uint32_t inflight_max = opts.inflight_max != 0 ? opts.inflight_max : kInflightMax;
    auto client = std::make_unique<rfs_client>(open_volume(opts.name, options_of(opts)), nullptr,
                                               inflight_max);

    client->client.finish(mount(client->client));
    return client.release();
}

/* Lets calls that were submitted end, and closes files that no caller has heard of. */
static void end_calls(rfs_client *client)
{
    client->calls.cancel_all();
    client->calls.drain();
    for (auto file = client->calls.untaken(); file != nullptr; file = client->calls.untaken()) {
        rfs_file *taken = file.release();

        (void)client->calls.run(taken, Order::close, [=](Job &) { return close_call(taken); });
    }
}

} // namespace rfs

int rfs_make(const rfs_opts *opts, const rfs_make_opts *make)
{
    return rfs::guarded([=] {
        rfs::make(rfs::copy_opts(opts), rfs::copy_opts(make));
        return 0;
    });
}

int rfs_mount(const rfs_opts *opts, rfs_client **client)
{
    return rfs::guarded([=] {
        rfs_opts known = rfs::copy_opts(opts);

        rfs::expect(client != nullptr && known.name != nullptr, EINVAL);
        *client = rfs::mounted(known);
        return 0;
    });
}

void rfs_unmount(rfs_client **client)
{
    if (client == nullptr || *client == nullptr)
        return;

    rfs_client *taken = std::exchange(*client, nullptr);

    (void)rfs::guarded([taken] {
        rfs::end_calls(taken);
        taken->client.finish(rfs::unmount(taken->client));
        return 0;
    });
    delete taken;
}

int rfs_turn(rfs_client *client)
{
    return rfs::guarded([client] {
        client->client.finish(rfs::take_turn(client->client, true));
        return 0;
    });
}

const char *rfs_last_error(void)
{
    return rfs::last_error().c_str();
}
