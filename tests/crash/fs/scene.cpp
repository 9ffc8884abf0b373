// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/scene.h"

#include "core/client/mount.h"
#include "crash/fs/acts.h"
#include "crash/fs/aftermath.h"
#include "crash/fs/child.h"
#include "crash/fs/state.h"
#include <dtx/error.h>

#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace crash
{

static constexpr std::array kWhats = { "one", "pair", "all", "death" };
static constexpr std::array kCuts = { "none", "drop", "tear", "reorder", "kill" };
static constexpr char kFieldEnd = '\1'; // in texts that go from one process to another

std::string to_text(const Point &point)
{
    return std::string(kWhats[static_cast<size_t>(point.what)]) + ":" + kCuts[point.cut] + ":" +
           std::to_string(point.server) + ":" + std::to_string(point.event) + ":" +
           std::to_string(point.then);
}

bool from_text(const std::string &text, Point &point)
{
    std::istringstream words(text);
    std::string what, cut, server, event, then;
    auto number_of = [](const auto &names, const std::string &name) {
        size_t i = 0;

        while (i < names.size() && name != names[i])
            i++;
        return i;
    };

    std::getline(words, what, ':');
    std::getline(words, cut, ':');
    std::getline(words, server, ':');
    std::getline(words, event, ':');
    std::getline(words, then, ':');
    point.what = static_cast<What>(number_of(kWhats, what));
    point.cut = static_cast<rpm_cut>(number_of(kCuts, cut));
    point.server = static_cast<uint32_t>(strtoul(server.c_str(), nullptr, 10)) % kServers;
    point.event = strtoull(event.c_str(), nullptr, 10);
    point.then = strtoull(then.c_str(), nullptr, 10);
    return size_t(point.what) < kWhats.size() && point.cut < kCuts.size() && point.event != 0;
}

Scene::Scene(const Script &script, uint64_t seed, uint32_t canary)
    : script_(script), canary_(canary), world_(seed, canary),
      first_(std::make_unique<Machine>(world_, canary))
{
    first_->client().finish(rfs::mount(first_->client()));
    if (!script.alone) {
        second_ = std::make_unique<Machine>(world_, canary);
        second_->client().finish(rfs::mount(second_->client()));
    }
    cast_.reset(new Cast{ first_->client(), second_ ? &second_->client() : nullptr });
    script.prepare(*cast_);
    world_.settle();
}

static std::string kept_by(rfs::Client &client, uint32_t ino)
{
    if (ino == 0 || !client.open_files().has(ino))
        return "closed";
    try {
        return read_from(client, ino);
    } catch (const rfs::Failure &failure) {
        return "error " + std::to_string(failure.error);
    }
}

Scene::State Scene::look()
{
    State state;

    state.tree = tree(first_->client());
    state.own = locks(first_->client()) + kept_by(first_->client(), cast_->kept);
    if (second_)
        state.others = kept_by(second_->client(), cast_->kept);
    return state;
}

std::string Scene::rehearse(rfs::Canary canary)
{
    auto put = [](const State &state) {
        return state.tree + kFieldEnd + state.own + kFieldEnd + state.others + kFieldEnd;
    };
    auto take = [](std::istringstream &from) {
        State state;

        std::getline(from, state.tree, kFieldEnd);
        std::getline(from, state.own, kFieldEnd);
        std::getline(from, state.others, kFieldEnd);
        return state;
    };
    auto after = [&](size_t steps, Act then) {
        std::istringstream from(in_child([&] {
            for (size_t i = 0; i < steps; i++)
                script_.steps[i].act(*cast_);
            if (then != nullptr)
                then(*cast_);
            return put(look());
        }));

        return take(from);
    };

    states_.clear();
    between_.assign(script_.steps.size(), {});
    for (size_t i = 0; i <= script_.steps.size(); i++)
        states_.push_back(after(i, nullptr));
    for (size_t i = 0; i < script_.steps.size(); i++)
        for (Act act : script_.steps[i].between)
            between_[i].push_back(after(i, act));

    rfs::canary_now = canary;

    std::string faults = in_child([&] { return go_on({}); });
    std::string counted = in_child([&] {
        uint64_t begin = world_.events();

        for (const Step &step : script_.steps)
            step.act(*cast_);
        return std::to_string(world_.events() - begin);
    });

    events_ = strtoull(counted.c_str(), nullptr, 10);
    rfs::canary_now = rfs::Canary::none;
    return faults;
}

std::string Scene::signature()
{
    return in_child([&] {
        rfs::Client &client = first_->client();
        std::string text = std::to_string(events_) + " " + std::to_string(world_.events()) + " " +
                           std::to_string(client.session().coordinator());

        for (const std::string &path : files(client))
            text += " " + std::to_string(at(client, path));
        return text;
    });
}

std::string Scene::run(const Point &point)
{
    return in_child([&] { return play(point); });
}

std::string Scene::play(const Point &point)
{
    switch (point.what) {
    case What::all:
        return end_all(point);
    case What::death:
        return end_first(point);
    default:
        return go_on(point);
    }
}

bool Scene::fits(const State &found, const State &wanted, What what) const
{
    bool first = what == What::one || what == What::pair;
    bool second = second_ && what != What::all;

    return found.tree == wanted.tree && (!first || found.own == wanted.own) &&
           (!second || found.others == wanted.others);
}

// @done: steps that have returned. Where the client goes on, that is all.
std::string Scene::judge(const State &found, size_t done, What what) const
{
    if (fits(found, states_[done], what))
        return "";
    if (what == What::all || what == What::death) {
        if (done < script_.steps.size()) {
            if (fits(found, states_[done + 1], what))
                return "";
            for (const State &state : between_[done])
                if (fits(found, state, what))
                    return "";
        }
    }

    std::string text = "after step " + std::to_string(done) + " of " +
                       std::to_string(script_.steps.size()) + ", found\n" + found.tree + found.own +
                       found.others + "\nexpected\n" + states_[done].tree + states_[done].own +
                       states_[done].others + "\n";

    for (char &letter : text)
        letter = letter == '\n' ? '|' : letter;
    for (size_t i = 0; i < done; i++)
        if (fits(found, states_[i], what))
            return "lost: " + text + "\n";
    return "half: " + text + "\n";
}

// The same seed makes the same events, so a point lies within its script.
static void expect_happened(bool happened)
{
    if (!happened)
        throw std::runtime_error("the script ended before the failure");
}

// Servers fail, and the client does not notice more than that its calls take long.
std::string Scene::go_on(const Point &point)
{
    std::string text;
    uint64_t before = world_.events();
    int cuts = point.what == What::pair ? 2 : 1;

    world_.cut_at(point.server, point.event, point.cut);
    for (size_t i = 0; i < script_.steps.size(); i++) {
        int restarts = world_.restarts;

        try {
            script_.steps[i].act(*cast_);
        } catch (const rfs::Failure &failure) {
            return "lost: step " + std::to_string(i + 1) + " failed with error " +
                   std::to_string(failure.error) + "\n";
        }
        if (cuts == 2 && world_.events() >= before + point.event) {
            world_.cut_at((point.server + 1) % kServers, point.then, point.cut);
            cuts = 1;
        }
        if (world_.restarts != restarts || i + 1 == script_.steps.size())
            text += judge(look(), i + 1, point.what);
    }
    expect_happened(point.event == 0 || world_.restarts > 0 || world_.is_down(point.server));
    for (uint32_t server = 0; server < kServers; server++)
        world_.cut_at(server, 0, RPM_CUT_NONE);
    if (second_) {
        leave(first_->client(), cast_->kept);
        first_->close();
    }
    return text + aftermath(survivor(), cast_->kept);
}

// Runs the script until the first client has ended. Returns how many steps have returned.
size_t Scene::until_end()
{
    size_t done = 0;

    try {
        for (; done < script_.steps.size(); done++)
            script_.steps[done].act(*cast_);
    } catch (const Ended &) {
    } catch (const dtx::Error &) {
        if (!first_->is_dead())
            throw;
    }
    return done;
}

std::string Scene::end_all(const Point &point)
{
    world_.ends_with_a_cut();
    for (uint32_t server = 0; server < kServers; server++)
        world_.cut_at(server, point.event, point.cut);

    size_t done = until_end();

    expect_happened(world_.ended());
    Machine::abandon(std::move(first_));
    if (second_)
        Machine::abandon(std::move(second_));
    world_.start_again();
    later_ = std::make_unique<Machine>(world_, canary_);
    later_->client().finish(rfs::mount(later_->client()));

    State found;

    found.tree = tree(later_->client());
    return judge(found, done, point.what) + aftermath(*later_, 0);
}

std::string Scene::end_first(const Point &point)
{
    first_->die_at(point.event);

    size_t done = until_end();

    expect_happened(first_->is_dead());
    first_->die();
    Machine::abandon(std::move(first_));
    if (point.event % 2 == 0) // else what it has sent may still arrive
        world_.settle();
    if (!second_) {
        later_ = std::make_unique<Machine>(world_, canary_);
        later_->client().finish(rfs::mount(later_->client()));
    }

    rfs::Client &client = survivor().client();
    State found;

    take_turns(client);
    found.tree = tree(client);
    if (second_)
        found.others = kept_by(client, cast_->kept);
    return judge(found, done, point.what) + aftermath(survivor(), cast_->kept);
}

Machine &Scene::survivor()
{
    return later_ ? *later_ : second_ ? *second_ : *first_;
}

} // namespace crash
