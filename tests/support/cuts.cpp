// SPDX-License-Identifier: BSD-3-Clause
#include "support/cuts.h"

#include "support/cuts_report.h"
#include "support/liar.h"
#include "support/rounds.h"

extern "C" {
#include "conn/conn.h"
#include "transport/sim/sim.h"
}

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace cuts
{

static const uint64_t POOL_BYTES = 96u << 10;
static const uint64_t DRAM_BYTES = 64u << 10; // an agent's decisions take more than half of it
static const uint64_t TIMEOUT_US = 20000; // in model time: far above what a healthy server needs
static const int RECOVERIES_MAX = 64;

static_assert(static_cast<int>(Fault::kill) == RPM_CUT_KILL, "power cuts and kill share numbers");

uint64_t Chance::next()
{
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull; // splitmix64, public domain
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint64_t Chance::below(uint64_t bound)
{
    return bound == 0 ? 0 : next() % bound;
}

void violate(const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    throw Violation(text);
}

Run::Run(const Setup &given, const Plan &plan)
    : setup(given), chance(given.seed * 77 + 5), timeout_us(TIMEOUT_US),
      hoard_(std::make_unique<Hoard>()), plan_(plan)
{
    rpm_sim_opts opts = rpm_sim_opts_init();

    opts.seed = setup.seed;
    opts.preset = setup.preset.c_str();
    opts.native_flush = setup.native_flush;
    opts.pool_bytes = POOL_BYTES;
    opts.dram_bytes = DRAM_BYTES;
    opts.agent_on_soc = setup.soc;
    if (rpm_sim_open(&opts, &sim_) != 0)
        violate("the world does not open: %s", rpm_last_error());
}

Run::~Run()
{
    rpm_sim_cut_at(sim_, 0, 0, RPM_CUT_NONE);
    close_clients();
    oracles_.clear();
    rpm_sim_close(&sim_);
}

void Run::say(const char *format, ...) const
{
    va_list args;

    if (!replaying())
        return;
    fprintf(stderr, "%8" PRIu64 " ", rpm_sim_events(sim_));
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static bool has_agent(uint32_t method)
{
    return method == RPM_METHOD_ORDER || method == RPM_METHOD_CARRY;
}

rpm_conn *Run::client(unsigned who)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;

    if (clients_.count(who) != 0)
        return clients_[who];
    opts.method = setup.method;
    opts.hints = setup.hints.c_str();
    opts.timeout_us = timeout_us;
    opts.depth = 64;
    bool agent = setup.agent || has_agent(setup.method);
    if (agent && setup.lie != 0)
        must(connect_liar(&opts, &conn), "connect");
    else
        must(agent ? rpm_sim_connect_agent(sim_, 0, &opts, &conn)
                   : rpm_sim_connect(sim_, 0, &opts, &conn),
             "connect");
    say("client %u connects", who);
    clients_[who] = conn;
    check_start(conn);
    if (who == victim_)
        arm_client();
    return conn;
}

rpm_conn *Run::reconnect(unsigned who)
{
    rpm_conn *conn = client(who);

    must(rpm_conn_reconnect(conn), "reconnect");
    check_start(conn);
    say("client %u reconnects", who);
    return conn;
}

// Each start of the server has a higher number than every start that a client has seen.
void Run::check_start(rpm_conn *conn)
{
    rpm_facts facts = rpm_facts_init();

    must(rpm_conn_facts(conn, &facts), "facts");
    if (facts.pool_starts <= starts_before_)
        violate("start %u of the pool, and a client has seen start %u before the last restart",
                facts.pool_starts, starts_before_);
    starts_ = facts.pool_starts;
}

void Run::disconnect(unsigned who)
{
    if (clients_.count(who) == 0)
        return;
    rpm_conn_close(&clients_[who]);
    dead_ = dead_ && who != victim_;
    clients_.erase(who);
}

void Run::close_clients()
{
    for (auto &oracle : oracles_)
        oracle->close_handles();
    while (!clients_.empty())
        disconnect(clients_.begin()->first);
}

bool Run::fired() const
{
    bool there = fault_ != Fault::client || clients_.count(victim_) != 0;

    return struck_ || (armed_ && there && rpm_sim_events(sim_) >= armed_at_);
}

bool Run::is_expected(int err) const
{
    return (err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED ||
            err == RPM_E_IO) &&
           (fired() || dead_);
}

int Run::must(int err, const char *what)
{
    if (err >= 0)
        return err;
    if (is_expected(err)) {
        say("%s: lost", what);
        throw Lost();
    }
    violate("%s: %s (%s)", what, rpm_error_name(err), rpm_last_error());
}

void Run::begin()
{
    begin_event_ = rpm_sim_events(sim_);
    arm();
}

// Arms the next fault of the plan; its event is counted from now.
void Run::arm()
{
    if (armed_)
        return;
    rpm_sim_cut_at(sim_, 0, 0, RPM_CUT_NONE);
    if (next_cut_ == plan_.size())
        return;
    const Cut &cut = plan_[next_cut_++];

    armed_ = true;
    armed_at_ = rpm_sim_events(sim_) + cut.event;
    fault_ = cut.fault;
    if (cut.fault != Fault::client)
        rpm_sim_cut_at(sim_, 0, cut.event, static_cast<rpm_cut>(cut.fault));
    else if (clients_.count(victim_) != 0)
        arm_client();
}

// Arms the death of the victim, which may not be connected yet.
void Run::arm_client()
{
    uint64_t now = rpm_sim_events(sim_);

    if (armed_ && fault_ == Fault::client)
        rpm_sim_kill_client_at(clients_[victim_], armed_at_ > now ? armed_at_ - now : 1);
}

void Run::inject(Fault fault)
{
    say("inject %s", fault_name(fault));
    struck_ = true;
    dead_ = dead_ || fault == Fault::client;
    if (fault == Fault::kill)
        rpm_sim_kill_server(sim_, 0);
    else if (fault == Fault::client && clients_.count(victim_) != 0)
        rpm_sim_kill_client(clients_[victim_]);
    else if (fault != Fault::client)
        rpm_sim_power_cut(sim_, 0, static_cast<rpm_cut>(fault));
}

// Records that the armed fault fired, before its victim is closed.
void Run::note()
{
    if (!armed_ || !fired())
        return;
    armed_ = false;
    struck_ = true;
    dead_ = dead_ || fault_ == Fault::client;
    cuts_fired_++;
}

void Run::restart()
{
    note();
    struck_ = false;
    arm();
    if (before_restart != nullptr)
        before_restart(*this);
    say("restart");
    if (!sim_->world->machine[0].serving)
        starts_before_ = starts_;
    must(rpm_sim_restart(sim_, 0), "restart");
}

bool Run::cleanup_pending() const
{
    for (uint32_t i = 0; i < sim_->world->clients; i++) {
        const rpmi_sim_client *client = sim_->world->client[i];

        if (client->attached && (client->dead || client->state != RPMI_CLIENT_OPEN))
            return true;
    }
    return false;
}

void Run::await_cleanup()
{
    while (cleanup_pending())
        if (rpm_sim_step(sim_) == 0)
            violate("the server does not notice that a client is gone");
    say("the server has cleaned up after all dead clients");
}

void Run::body(void (*scenario)(Run &))
{
    begin_event_ = rpm_sim_events(sim_);
    try {
        scenario(*this);
    } catch (const Lost &) {
    }
    body_events_ = rpm_sim_events(sim_) - begin_event_;
}

void Run::check_all()
{
    for (auto &oracle : oracles_)
        oracle->verify(*this);
}

void Run::recover()
{
    uint64_t start = rpm_sim_events(sim_);

    victim_ = CHECKER;
    for (int turn = 0;; turn++) {
        if (turn == RECOVERIES_MAX)
            violate("recovery does not come to an end");
        note();
        close_clients();
        try {
            restart();
            check_all();
        } catch (const Lost &) {
            continue;
        }
        note();
        if (!struck_)
            break;
    }
    recovery_events_ = std::max(recovery_events_, rpm_sim_events(sim_) - start);
}

void Run::epilogue()
{
    static const Fault last[] = { Fault::drop, Fault::tear, Fault::reorder, Fault::drop };

    try {
        for (auto &oracle : oracles_)
            oracle->use_again(*this);
        for (uint64_t i = chance.below(40); i > 0; i--)
            rpm_sim_step(sim_);
    } catch (const Lost &) {
    }
    if (!fired())
        inject(setup.level == RPM_DURABLE   ? last[chance.below(4)]
               : setup.level == RPM_PROCESS ? Fault::kill
                                            : Fault::client);
    recover();
}

Meanwhile::Meanwhile(Run &run, std::function<void()> act) : run_(run), act_(std::move(act))
{
    rpmi_sim_cpu *cpu = &run_.sim()->world->machine[0].cpu;

    cpu->meanwhile = happen;
    cpu->context = this;
}

Meanwhile::~Meanwhile()
{
    run_.sim()->world->machine[0].cpu.meanwhile = nullptr;
}

// An exception must not pass through the frames of the model, which is C.
void Meanwhile::happen(void *context)
{
    Meanwhile *that = static_cast<Meanwhile *>(context);

    if (that->acting_ || that->thrown_ != nullptr)
        return;
    that->acting_ = true;
    try {
        that->act_();
    } catch (...) {
        that->thrown_ = std::current_exception();
    }
    that->acting_ = false;
}

void Meanwhile::end()
{
    run_.sim()->world->machine[0].cpu.meanwhile = nullptr;
    if (thrown_ != nullptr)
        std::rethrow_exception(thrown_);
}

std::vector<Fault> faults_of(uint32_t level)
{
    switch (level) {
    case RPM_DURABLE:
        return {
            Fault::none, Fault::drop, Fault::tear, Fault::reorder, Fault::kill, Fault::client
        };
    case RPM_PROCESS:
        return { Fault::kill, Fault::client };
    default:
        return { Fault::client };
    }
}

bool run_one(const Scenario &scenario, const Setup &setup, const Plan &plan, std::string *what,
             RunCounts *counts)
{
    Watch watch(setup, plan);
    std::unique_ptr<Run> run;
    bool good = true;

    try {
        run = std::make_unique<Run>(setup, plan);
        run->body(scenario.body);
        run->recover();
        run->epilogue();
    } catch (const Violation &violation) {
        *what = violation.what();
        good = false;
    }
    if (run != nullptr)
        *counts = { run->body_events(), run->recovery_events(), run->cuts_fired() };
    return good;
}

// Explores one setup.
class Search
{
  public:
    Search(const Scenario &scenario, const Setup &setup, const Budget &budget)
        : scenario_(scenario), setup_(setup), budget_(budget), chance_(setup.seed),
          faults_(budget.faults.empty() ? faults_of(setup.level) : budget.faults)
    {
    }

    Tally run()
    {
        attempt({});
        events_ = std::max<uint64_t>(counts_.body_events, 1);
        recovery_ = counts_.recovery_events;
        singles();
        for (uint64_t i = 0; (i < budget_.runs / 4 || tally_.runs < budget_.runs) && !stop(); i++) {
            setup_.seed++;
            attempt(chance_.below(4) != 0 ? some(2) : some(3 + chance_.below(3)));
        }
        tally_.events = events_;
        return tally_;
    }

  private:
    bool stop() const
    {
        return budget_.stop_at_first && tally_.violations > 0;
    }

    void attempt(const Plan &plan)
    {
        std::string what;

        tally_.runs++;
        if (!run_one(scenario_, setup_, plan, &what, &counts_)) {
            tally_.violations++;
            if (tally_.violations <= 3 && !budget_.quiet)
                report(setup_, plan, what);
            if (tally_.first.empty())
                tally_.first = what;
        }
        tally_.cuts += counts_.cuts;
        recovery_ = std::max(recovery_, counts_.recovery_events);
    }

    // First every event with one fault, whatever the budget; then every event with the other
    // faults.
    void singles()
    {
        uint64_t room = budget_.runs - budget_.runs / 4;

        for (uint64_t pass = 0; pass < faults_.size(); pass++)
            for (uint64_t event = 1; event <= events_; event++) {
                if (stop() || (pass > 0 && tally_.runs > room))
                    return;
                attempt({ { event, faults_[(event + pass + setup_.method) % faults_.size()] } });
            }
    }

    Plan some(uint64_t n)
    {
        Plan plan;

        for (uint64_t i = 0; i < n; i++) {
            Fault fault = faults_[chance_.below(faults_.size())];

            plan.push_back({ 1 + chance_.below(i == 0 ? events_ : recovery_), fault });
        }
        return plan;
    }

    const Scenario &scenario_;
    Setup setup_;
    const Budget &budget_;
    Chance chance_;
    std::vector<Fault> faults_;
    uint64_t events_ = 1;
    uint64_t recovery_ = 1;
    RunCounts counts_ = {};
    Tally tally_;
};

Tally &total()
{
    static Tally tally;

    return tally;
}

Tally explore(const Scenario &scenario, const Setup &setup, const Budget &budget)
{
    Setup from = setup;
    Tally tally;

    if (replaying())
        return tally;
    from.seed = first_seed(setup.seed);
    tally = Search(scenario, from, budget).run();
    total().cuts += tally.cuts;
    total().violations += tally.violations;
    total().runs += tally.runs;
    return tally;
}

uint64_t explore_all(const std::vector<Scenario> &scenarios, const std::vector<Setup> &setups,
                     uint64_t runs)
{
    uint64_t violations = 0;

    for (const Scenario &scenario : scenarios) {
        Tally sum;

        if (replaying() || !wanted(scenario))
            continue;
        for (Setup setup : setups) {
            setup.scenario = scenario.name;
            Tally tally = explore(scenario, setup, { runs, {}, false, false });

            sum.events = std::max(sum.events, tally.events);
            sum.runs += tally.runs;
            sum.cuts += tally.cuts;
            sum.violations += tally.violations;
        }
        printf("%-18s %-8s setups %zu events %" PRIu64 " runs %" PRIu64 " cuts %" PRIu64
               " violations %" PRIu64 "\n",
               scenario.name, rpm_level_name(static_cast<rpm_level>(setups[0].level)),
               setups.size(), sum.events, sum.runs, sum.cuts, sum.violations);
        fflush(stdout);
        violations += sum.violations;
    }
    return violations;
}

int replay(const std::vector<Scenario> &scenarios)
{
    const char *text = getenv("LIBRPM_REPLAY");
    Setup setup;
    Plan plan;

    if (text == nullptr)
        return -1;
    if (!from_text(text, &setup, &plan)) {
        fprintf(stderr, "LIBRPM_REPLAY cannot be read: %s\n", text);
        return 1;
    }
    for (const Scenario &scenario : scenarios) {
        std::string what;
        RunCounts counts = {};

        if (setup.scenario != scenario.name)
            continue;
        bool good = run_one(scenario, setup, plan, &what, &counts);

        fprintf(stderr, "%s\n", good ? "as promised" : what.c_str());
        total().cuts += counts.cuts;
        total().violations += good ? 0 : 1;
        total().runs++;
        return good ? 0 : 1;
    }
    fprintf(stderr, "no scenario is called %s\n", setup.scenario.c_str());
    return 1;
}

} // namespace cuts
