// SPDX-License-Identifier: BSD-3-Clause
// Which clients have a volume open, and which of them is the solo client.
#include "core/client/mount.h"

#include "../volume.h"
#include "core/tree/mounts.h"

#include <dtx/scheduler.h>
#include <functional>
#include <optional>

using rfs::Call;
using rfs::Client;

namespace
{

rfs::MountsRow row_of(Client &client)
{
    return client.call_now(rfs::kSelf, [](Call &call) { return rfs::mounts(call); });
}

bool solo(Client &client)
{
    return client.call_now(rfs::kSelf, [](Call &call) { return rfs::is_solo(call); });
}

uint32_t number_of(Client &client)
{
    return client.session().coordinator();
}

// As @other does, when the connections of @client are closed for a moment.
void take_for_dead(Client &client, Client &other)
{
    uint32_t number = number_of(client);

    (void)other.cluster().recover(number);

    uint32_t changes = row_of(other).changes;

    other.call_now(rfs::kSelf,
                   [&](Call &call) { return rfs::remove_dead_client(call, number, changes); });
}

uint64_t ns_of(const std::function<void()> &act)
{
    uint64_t begin = dtx::now_ns();

    act();
    return dtx::now_ns() - begin;
}

} // namespace

TEST_CASE("fs: a client that is alone becomes the solo client, until another one waits and enters",
          "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;
    Client other(*volume.open);

    CHECK(ns_of([&] { client.finish(rfs::mount(client)); }) < rfs::kKeepNs);
    CHECK_FALSE(solo(client));
    client.finish(rfs::take_turn(client, false));
    CHECK(solo(client));
    CHECK_FALSE(solo(other));

    CHECK(ns_of([&] { other.finish(rfs::mount(other)); }) > rfs::kKeepNs);
    CHECK_FALSE(solo(client));
    client.finish(rfs::take_turn(client, false));
    other.finish(rfs::take_turn(other, false));
    CHECK_FALSE(solo(client));
    CHECK_FALSE(solo(other));

    client.finish(rfs::unmount(client));
    other.finish(rfs::take_turn(other, false));
    CHECK(solo(other));
    other.finish(rfs::unmount(other));
    CHECK_FALSE(solo(other));
    CHECK(row_of(client).clients.empty());
}

TEST_CASE("fs: a client that has not opened the volume does not become the solo client", "[unit]")
{
    TestVolume volume;

    volume.client->finish(rfs::take_turn(*volume.client, true));
    CHECK_FALSE(solo(*volume.client));
}

TEST_CASE("fs: a dead client is taken off, and one that lives is not", "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;
    std::optional<Client> dead(std::in_place, *volume.open);
    Client living(*volume.open);
    uint32_t number = number_of(*dead);

    client.finish(rfs::mount(client));
    dead->finish(rfs::mount(*dead));
    living.finish(rfs::mount(living));
    dead.reset(); // without unmount(), as if it had been killed
    client.finish(rfs::take_turn(client, false));
    CHECK(row_of(client).clients.has(number));
    client.finish(rfs::take_turn(client, true));
    CHECK_FALSE(row_of(client).clients.has(number));
    CHECK(row_of(client).clients.has(number_of(living)));
    CHECK(row_of(client).clients.has(number_of(client)));
}

TEST_CASE("fs: a client that joined with a dead one's number is not taken for it", "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;
    uint32_t number = (number_of(client) + 1) % volume.options.coordinators;
    auto enter = [&] {
        (void)client.call_now(rfs::kSelf,
                              [&](Call &call) { return rfs::add_client(call, number); });
    };

    enter();

    uint32_t changes = row_of(client).changes; // seen, and its client then found to be dead

    enter(); // the next client of that number
    client.call_now(rfs::kSelf,
                    [&](Call &call) { return rfs::remove_dead_client(call, number, changes); });
    CHECK(row_of(client).clients.has(number));
    changes = row_of(client).changes;
    client.call_now(rfs::kSelf,
                    [&](Call &call) { return rfs::remove_dead_client(call, number, changes); });
    CHECK_FALSE(row_of(client).clients.has(number));
}

TEST_CASE("fs: a client that was taken for dead enters again before its next call", "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;
    Client other(*volume.open);
    uint32_t number = number_of(client);

    client.finish(rfs::mount(client));
    other.finish(rfs::mount(other));

    take_for_dead(client, other);
    CHECK_FALSE(row_of(other).clients.has(number));
    other.finish(rfs::take_turn(other, false));
    CHECK(solo(other));

    CHECK(ns_of([&] { (void)make_file(volume, rfs::kRootIno, "f"); }) > rfs::kKeepNs);
    CHECK(row_of(other).clients.has(number));
    CHECK_FALSE(solo(other));
    CHECK(ns_of([&] { (void)make_file(volume, rfs::kRootIno, "g"); }) < rfs::kKeepNs);
}

TEST_CASE("fs: a client that has the volume alone keeps others out until it leaves or dies",
          "[unit]")
{
    TestVolume volume;
    Client &other = *volume.client;
    std::optional<Client> alone(std::in_place, *volume.open);
    uint32_t number = number_of(*alone);
    auto code_of = [](const std::function<void()> &act) {
        try {
            act();
        } catch (const dtx::Error &error) {
            return error.code();
        }
        return 0;
    };
    auto enter = [&] { other.finish(rfs::mount(other)); };
    auto enter_alone = [&] { alone->finish(alone->enter_alone()); };

    enter_alone();
    CHECK(code_of(enter) == RPM_E_BUSY);
    other.finish(rfs::take_turn(other, true));
    CHECK(code_of(enter) == RPM_E_BUSY);
    CHECK(row_of(other).clients.has(number));
    alone->finish(alone->leave());
    CHECK(code_of(enter) == 0);
    CHECK(code_of(enter_alone) == RPM_E_OWNED);
    CHECK(row_of(other).clients.has(number_of(other)));
    other.finish(rfs::unmount(other));
    enter_alone();
    alone.reset(); // as if it had been killed
    CHECK(code_of(enter) == 0);
    CHECK_FALSE(row_of(other).clients.has(number));
}

TEST_CASE("fs: who needs the volume alone waits for clients that may join again after a restart",
          "[unit]")
{
    TestVolume volume;
    std::optional<Client> second(std::in_place, *volume.open);
    uint32_t numbers[] = { number_of(*volume.client), number_of(*second) };

    volume.client->finish(rfs::mount(*volume.client));
    second->finish(rfs::mount(*second));
    volume.client.reset(); // as if both had been killed
    second.reset();
    (void)volume.open->cluster->recover(); // as when a server was started again
    volume.options.return_us = 200000;

    rfs::OpenVolume open = rfs::open_volume("home", volume.options);
    Client alone(open);

    // It may have got the number of one of them.
    uint32_t number = number_of(alone) == numbers[0] ? numbers[1] : numbers[0];

    CHECK(ns_of([&] { CHECK(alone.finish(alone.inherit(number))); }) >= 200000000);
    alone.finish(alone.enter_alone());
    CHECK_FALSE(row_of(alone).clients.has(number));
}

TEST_CASE("fs: a client that was taken for dead does not have the volume alone any more", "[unit]")
{
    TestVolume volume;
    Client &alone = *volume.client;
    Client other(*volume.open);

    alone.finish(alone.enter_alone());
    take_for_dead(alone, other);
    other.finish(rfs::mount(other));
    CHECK_THROWS_AS(make_file(volume, rfs::kRootIno, "f"), dtx::Error);
    other.finish(rfs::unmount(other));
    (void)make_file(volume, rfs::kRootIno, "f"); // has it alone again
    CHECK(row_of(other).solo > UINT16_MAX);
}
