// SPDX-License-Identifier: BSD-3-Clause
// cuts.h: the crash driver. A scenario is a body, run against a world of the device model through
// the public API; plain models beside it (oracle.h) note what was submitted and what was
// acknowledged at which level. The driver runs the body once to count events, then again and again
// with a fault at each event, then with pairs of faults (the second one during recovery), then
// with more. After each fault it restarts, recovers and compares exactly.
//
// Everything follows from a setup and a plan, so one line of text replays a run.
#ifndef TESTS_SUPPORT_CUTS_H
#define TESTS_SUPPORT_CUTS_H

#include <librpm.h>
#include <librpm/sim.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cuts
{

// Client machines by what they do. The first is the one that Fault::client kills in a body, the
// second during recovery.
const unsigned FIRST = 0;
const unsigned CHECKER = 10; // verifies, and uses again
const unsigned LOOKER = 11;  // only reads

// Power cuts by what survives; death of the server process; death of a client machine.
enum class Fault { none, drop, tear, reorder, kill, client };

struct Cut {
    uint64_t event; // counted from the start of the body, or from the restart before
    Fault fault;
};

using Plan = std::vector<Cut>;

// What a scenario runs on.
struct Setup {
    std::string scenario;
    std::string preset = "adr";
    std::string hints = "all";
    uint32_t native_flush = 0;
    uint32_t method = RPM_METHOD_DEFAULT;
    uint32_t level = RPM_DURABLE;
    int canary = 0; // enum rpmi_canary: the rule that is taken away
    uint64_t seed = 1;
};

// "scenario=wrap,preset=adr,method=message,...,cuts=12:tear+3:drop", and back.
std::string to_text(const Setup &setup, const Plan &plan);
bool from_text(const std::string &text, Setup *setup, Plan *plan);

// Small numbers by chance, the same on every machine.
class Chance
{
  public:
    explicit Chance(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint64_t below(uint64_t bound); // 0 for a bound of 0
    bool one_in(uint64_t n)
    {
        return below(n) == 0;
    }

  private:
    uint64_t state_;
};

// The server ended because a fault fired: the body ends here.
struct Lost {
};

// Something is not as promised.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] __attribute__((format(printf, 1, 2))) void violate(const char *format, ...);

class Oracle;

// One run of a scenario: a world, its clients and what the models know.
class Run
{
  public:
    Run(const Setup &setup, const Plan &plan);
    ~Run();
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    const Setup setup;
    Chance chance;
    uint64_t timeout_us;                     // of clients that are dialled from now on
    void (*before_restart)(Run &) = nullptr; // may change the pool that a restart finds

    // Client machine @who, dialled at first use. Throws Lost.
    rpm_conn *client(unsigned who);
    // The same, dialled again after a loss.
    rpm_conn *redial(unsigned who);
    // A client that is no use any more; the next client(who) is a new machine.
    void hang_up(unsigned who);

    // What the body does before is not interesting: events count from here.
    void begin();

    // @err as the API returned it: counts and 0 pass; a loss after a fault throws Lost, everything
    // else is a violation.
    int must(int err, const char *what);
    // Is this error a loss that a fault explains?
    bool excused(int err) const;
    // A fault fired since the last recovery.
    bool fired() const;
    // A fault at will, beside the plan's.
    void strike(Fault fault);
    // Restart what is down, without any check: for bodies that go on after a fault.
    void revive();
    // Is there a dead client that the server has not cleaned up after? What it had sent may still
    // land until then, and not afterwards.
    bool cleanup_pending() const;
    void await_cleanup();
    // One line about what happens, when a run is replayed.
    __attribute__((format(printf, 2, 3))) void say(const char *format, ...) const;

    rpm_sim *sim()
    {
        return sim_;
    }
    // Models, checked after every recovery in the order they were added.
    template <typename T> T &add(std::unique_ptr<T> oracle)
    {
        T &kept = *oracle;

        oracles_.push_back(std::move(oracle));
        return kept;
    }

    // The driver's part.
    void body(void (*scenario)(Run &));
    void recover();
    void epilogue();
    uint64_t body_events() const
    {
        return body_events_;
    }
    uint64_t recovery_events() const
    {
        return recovery_events_;
    }
    uint64_t cuts_fired() const
    {
        return cuts_fired_;
    }

  private:
    void arm();
    void arm_client();
    void note();
    void close_clients();
    void check_all();

    rpm_sim *sim_ = nullptr;
    Plan plan_;
    size_t next_cut_ = 0;
    bool armed_ = false;
    bool struck_ = false; // a fault fired and nothing was restarted since
    bool dead_ = false;   // the victim is, and its connection was not closed yet
    uint64_t armed_at_ = 0;
    Fault fault_ = Fault::none; // the one that is armed
    unsigned victim_ = FIRST;   // the client that Fault::client kills
    uint64_t begin_event_ = 0;
    uint64_t body_events_ = 0;
    uint64_t recovery_events_ = 0;
    uint64_t cuts_fired_ = 0;
    std::map<unsigned, rpm_conn *> clients_;
    std::vector<std::unique_ptr<Oracle>> oracles_;
};

// Clients' code runs while the server CPU does not. What is given here is the exception: it happens
// between any two steps of that core, as if on another machine, until end(), which throws what it
// threw.
class Meanwhile
{
  public:
    Meanwhile(Run &run, std::function<void()> act);
    ~Meanwhile();
    Meanwhile(const Meanwhile &) = delete;
    Meanwhile &operator=(const Meanwhile &) = delete;
    void end();

  private:
    static void happen(void *meanwhile);

    Run &run_;
    std::function<void()> act_;
    bool acting_ = false; // its own steps are not between two steps
    std::exception_ptr thrown_;
};

// Is an object there?
enum class There { no, maybe, yes };

// What a model promises to the driver.
class Oracle
{
  public:
    virtual ~Oracle() = default;
    // After a restart: open, recover, compare, and take what was found as the new truth.
    virtual void verify(Run &run) = 0;
    // After verify(): use it again, leave something in flight.
    virtual void use_again(Run &run) = 0;
    // Close what use_again() opened.
    virtual void let_go() {}
};

struct Scenario {
    const char *name;
    void (*body)(Run &);
};

// How much of a setup to try.
struct Budget {
    uint64_t runs;             // about so many; every event is tried once in any case
    std::vector<Fault> faults; // empty: all that the level speaks of
    bool stop_at_first = false;
    bool quiet = false; // violations are wanted: do not print them
};

// What one run came past.
struct Trail {
    uint64_t body_events;
    uint64_t recovery_events;
    uint64_t cuts;
};

struct Tally {
    uint64_t cuts = 0;       // faults of plans that fired
    uint64_t violations = 0; // runs in which something was not as promised
    uint64_t runs = 0;
    uint64_t events = 0; // of the body without a fault
    std::string first;   // the first violation and how to replay it
};

// Over everything that this program has tried.
Tally &total();

// Faults that a level speaks of.
std::vector<Fault> faults_of(uint32_t level);

// One run. True when all was as promised; otherwise @what says what was not.
bool run_one(const Scenario &scenario, const Setup &setup, const Plan &plan, std::string *what,
             Trail *trail);

// Every event, then pairs, then more, as far as the budget goes. Adds to total().
Tally explore(const Scenario &scenario, const Setup &setup, const Budget &budget);

// All scenarios on all setups, with a line about each. The number of violations.
uint64_t explore_all(const std::vector<Scenario> &scenarios, const std::vector<Setup> &setups,
                     uint64_t runs);

// A factor for all budgets: LIBRPM_CRASH_BUDGET percent, 100 when not set.
uint64_t scaled(uint64_t runs);

// LIBRPM_CRASH_SCENARIO is not set, or names this one.
bool wanted(const Scenario &scenario);

// LIBRPM_REPLAY is set: nothing is explored, replay() runs that one line. -1: not set, else the
// number of violations.
bool replaying();
int replay(const std::vector<Scenario> &scenarios);

} // namespace cuts

#endif
