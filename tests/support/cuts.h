// SPDX-License-Identifier: BSD-3-Clause
// cuts.h: the crash driver. A scenario is a function that uses the public API in a world of the
// device model. Oracles (log_oracle.h, region_oracle.h) record what it submitted and what was
// acknowledged at which level. The driver runs the scenario once to count events, then once with a
// fault at each event, then with pairs of faults (the second one during recovery), then with longer
// series. After each fault it restarts the server, recovers, and compares everything with the
// oracles.
//
// A setup and a plan determine a run completely, so one line of text replays it.
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

struct Hoard; // support/liar.h
struct rpmi_link;

namespace cuts
{

// Client machines by their part. Fault::client kills FIRST in a body, and CHECKER during recovery.
const unsigned FIRST = 0;
const unsigned CHECKER = 10; // verifies after a recovery, and appends again
const unsigned READER = 11;  // only reads

// Power cuts by what survives them; death of the server process; death of a client machine.
enum class Fault { none, drop, tear, reorder, kill, client };

struct Cut {
    uint64_t event; // counted from the start of the body, or from the last restart
    Fault fault;
};

using Plan = std::vector<Cut>;

// The platform and the rules that a scenario runs with.
struct Setup {
    std::string scenario;
    std::string preset = "adr";
    std::string hints = "all";
    uint32_t native_flush = 0;
    uint32_t method = RPM_METHOD_DEFAULT;
    uint32_t level = RPM_DURABLE;
    int canary = 0; // enum rpmi_canary: the rule that is removed
    bool agent =
        false;        // clients have one, which they ask if it is faster; with method order always
    int lie = 0;      // enum Lie, what the agent does, with an agent or methods order and carry
    bool soc = false; // an agent that does not lie is on the server's SoC
    uint64_t seed = 1;
};

// "scenario=wrap,preset=adr,method=message,...,cuts=12:tear+3:drop", and back.
std::string to_text(const Setup &setup, const Plan &plan);
bool from_text(const std::string &text, Setup *setup, Plan *plan);

// Random numbers, the same on every machine.
class Chance
{
  public:
    explicit Chance(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint64_t below(uint64_t bound); // 0 if @bound is 0
    bool one_in(uint64_t n)
    {
        return below(n) == 0;
    }

  private:
    uint64_t state_;
};

// Thrown when the server ended because a fault fired: the scenario ends there.
struct Lost {
};

// Something that the library promised does not hold.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] __attribute__((format(printf, 1, 2))) void violate(const char *format, ...);

class Oracle;

// One run of a scenario: a world, its clients and its oracles.
class Run
{
  public:
    Run(const Setup &setup, const Plan &plan);
    ~Run();
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    const Setup setup;
    Chance chance;
    uint64_t timeout_us;                     // of clients that connect from now on
    void (*before_restart)(Run &) = nullptr; // may change the pool before the server opens it again

    // Client machine @who, connected at first use. Throws Lost.
    rpm_conn *client(unsigned who);
    // The same client, connected again after a loss.
    rpm_conn *reconnect(unsigned who);
    // Closes a client; the next client(who) is a new machine.
    void disconnect(unsigned who);

    // Ends the preparation of a body: events and cuts count from here.
    void begin();

    // @err as the API returned it. Counts and 0 pass; a loss after a fault throws Lost; any other
    // error is a violation.
    int must(int err, const char *what);
    // Whether @err is a loss that a fault explains.
    bool is_expected(int err) const;
    // Whether a fault fired since the last recovery.
    bool fired() const;
    // Injects a fault now, besides those of the plan.
    void inject(Fault fault);
    // Restarts what is down, without any check: for bodies that continue after a fault.
    void restart();
    // Whether the server has not cleaned up after some dead client yet. Writes that this client had
    // sent may still arrive until then, and none after that.
    bool cleanup_pending() const;
    void await_cleanup();
    // Prints a line about an event of the run, when a run is replayed.
    __attribute__((format(printf, 2, 3))) void say(const char *format, ...) const;

    rpm_sim *sim()
    {
        return sim_;
    }
    // Adds an oracle; they are checked after every recovery in the order in which they were added.
    template <typename T> T &add(std::unique_ptr<T> oracle)
    {
        T &kept = *oracle;

        oracles_.push_back(std::move(oracle));
        return kept;
    }

    // Called by the driver.
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
    int connect_liar(const rpm_conn_opts *opts, rpm_conn **conn);
    int open_liar(const rpm_conn_opts *opts, const char *carry, rpmi_link **link);
    void arm_client();
    void note();
    void check_start(rpm_conn *conn);
    void close_clients();
    void check_all();

    rpm_sim *sim_ = nullptr;
    std::unique_ptr<Hoard> hoard_; // of agents that lie
    Plan plan_;
    size_t next_cut_ = 0;
    bool armed_ = false;
    bool struck_ = false; // a fault fired, and nothing was restarted since
    bool dead_ = false;   // the victim is dead, and its connection was not closed yet
    uint64_t armed_at_ = 0;
    Fault fault_ = Fault::none; // the fault that is armed
    unsigned victim_ = FIRST;   // the client that Fault::client kills
    uint64_t begin_event_ = 0;
    uint64_t body_events_ = 0;
    uint64_t recovery_events_ = 0;
    uint64_t cuts_fired_ = 0;
    uint32_t starts_ = 0;        // of the pool: what the last connection was told
    uint32_t starts_before_ = 0; // what one was told before the last restart
    std::map<unsigned, rpm_conn *> clients_;
    std::vector<std::unique_ptr<Oracle>> oracles_;
};

// In the model, code of clients runs only while the server CPU does not. A Meanwhile is the
// exception: @act runs between any two steps of the server CPU, as if on another machine, until
// end(), which throws what @act threw.
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
    bool acting_ = false; // inside act_: its own steps do not run it again
    std::exception_ptr thrown_;
};

// Whether an object exists; maybe: it was being created or removed when a fault fired.
enum class Existence { no, maybe, yes };

// What the driver calls of an oracle.
class Oracle
{
  public:
    virtual ~Oracle() = default;
    // After a restart: open, recover, compare, and take what was found as the new expected state.
    virtual void verify(Run &run) = 0;
    // After verify(): use the object again and leave operations outstanding.
    virtual void use_again(Run &run) = 0;
    // Close the handles of use_again().
    virtual void close_handles() {}
};

struct Scenario {
    const char *name;
    void (*body)(Run &);
};

// How many runs to try on a setup.
struct Budget {
    uint64_t runs;             // about so many; every event is cut once in any case
    std::vector<Fault> faults; // empty: all faults of faults_of() the level
    bool stop_at_first = false;
    bool quiet = false; // violations are expected: do not print them
};

// How many events and faults one run had.
struct RunCounts {
    uint64_t body_events;
    uint64_t recovery_events;
    uint64_t cuts;
};

struct Tally {
    uint64_t cuts = 0;       // faults of plans that fired
    uint64_t violations = 0; // runs in which a promise did not hold
    uint64_t runs = 0;
    uint64_t events = 0; // of the body in a run without a fault
    std::string first;   // the first violation, and the line that replays it
};

// The sum over everything that this program has tried.
Tally &total();

// The faults after which @level promises something.
std::vector<Fault> faults_of(uint32_t level);

// One run. True if every promise held; otherwise @what says which did not.
bool run_one(const Scenario &scenario, const Setup &setup, const Plan &plan, std::string *what,
             RunCounts *counts);

// Cuts at every event, then in pairs, then in longer series, as far as the budget goes. Adds to
// total().
Tally explore(const Scenario &scenario, const Setup &setup, const Budget &budget);

// All scenarios on all setups, with a line of output for each. Returns the number of violations.
uint64_t explore_all(const std::vector<Scenario> &scenarios, const std::vector<Setup> &setups,
                     uint64_t runs);

// @runs scaled by LIBRPM_CRASH_BUDGET, a percentage; 100 if it is not set.
uint64_t scaled(uint64_t runs);

// Whether LIBRPM_CRASH_SCENARIO is not set, or names this scenario.
bool wanted(const Scenario &scenario);

// With LIBRPM_REPLAY set, nothing is explored, and replay() runs that one line. It returns the
// number of violations, or -1 if the variable is not set.
bool replaying();
int replay(const std::vector<Scenario> &scenarios);

} // namespace cuts

#endif
