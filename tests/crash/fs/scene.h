// SPDX-License-Identifier: BSD-3-Clause
// scene.h: a script in a world, ready to be run again and again: undisturbed, to see what each step
// leaves and how many events there are, and with something that fails at an event. Then the volume
// is recovered, and what is found is compared.
#ifndef TESTS_CRASH_FS_SCENE_H
#define TESTS_CRASH_FS_SCENE_H

#include "core/base/canary.h"
#include "crash/fs/scripts.h"
#include "crash/fs/world.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace crash
{

enum class What {
    one,  // a server fails, and starts again when the client connects to it; the client goes on
    pair, // the same twice; the second time may be in the recovery
    all,  // all servers fail, and the clients with them; another client goes on
    death // the first client's machine dies; the second one goes on
};

// What fails when. Events are counted from the begin of the script, and in a pair from the first
// cut on.
struct Point {
    What what = What::one;
    rpm_cut cut = RPM_CUT_DROP;
    uint32_t server = 0; // of one; in a pair the other one is next
    uint64_t event = 0;
    uint64_t then = 0;
};

// Words of a command line, and back. False: they are none.
std::string to_text(const Point &point);
bool from_text(const std::string &text, Point &point);

class Scene
{
  public:
    // @canary: enum dtx::Canary.
    Scene(const Script &script, uint64_t seed, uint32_t canary = 0);

    // Runs the script undisturbed. Returns its faults; "": none. @canary: a rule that is removed
    // then, and not where it is seen what each step leaves.
    std::string rehearse(rfs::Canary canary = rfs::Canary::none);
    // Of the script, once it was rehearsed.
    uint64_t events() const
    {
        return events_;
    }
    // Equal for scenes of one script and seed: events, clients and numbers of files.
    std::string signature();
    // Runs the script with a failure. Returns a line for each fault, which begins with "lost:",
    // "half:", "leaked:" or "stuck:"; "": none.
    std::string run(const Point &point);

  private:
    // What is seen after a step.
    struct State {
        std::string tree;
        std::string own;    // of the first client: its locks, and what it has open
        std::string others; // of the second client
    };

    State look();
    std::string play(const Point &point);
    std::string go_on(const Point &point);
    size_t until_end();
    std::string end_all(const Point &point);
    std::string end_first(const Point &point);
    std::string judge(const State &found, size_t done, What what) const;
    bool fits(const State &found, const State &wanted, What what) const;
    Machine &survivor();

    const Script &script_;
    uint32_t canary_;
    World world_;
    std::unique_ptr<Machine> first_;
    std::unique_ptr<Machine> second_;
    std::unique_ptr<Machine> later_; // joined after the end of others
    std::unique_ptr<Cast> cast_;
    uint64_t events_ = 0;
    std::vector<State> states_;               // before the first step, and after each
    std::vector<std::vector<State>> between_; // by step
};

} // namespace crash
#endif
