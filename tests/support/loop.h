// SPDX-License-Identifier: BSD-3-Clause
// loop.h: a server in plain memory with the real pool service, and links to it in the same thread,
// on a virtual clock. The test decides when each op, call, completion and loss happens, so each
// file of lib/conn, lib/log and lib/region can be tested alone, at every point where a link can
// fail.
//
// A synchronous link carries ops out in post(), as shm: does with a shared mapping. A queued link
// carries them out one by one while it is polled, and reads their payloads at that moment: staging
// memory that is reused too early becomes a torn record.
//
// Durability is a second copy of the pool, to which bytes are copied when a flush covers them that
// is sufficient by the facts. power_cut() goes back to that copy.
#ifndef TESTS_SUPPORT_LOOP_H
#define TESTS_SUPPORT_LOOP_H

extern "C" {
#include "base/mem.h"
#include "base/rng.h"
#include "conn/conn.h"
#include "pool/service.h"
}
#include "support/catch.h"

#include <librpm.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace loop
{

struct Server;
struct Link;

// The server's memory: what is visible, and what would survive.
struct Mem {
    rpmi_mem mem; // first: the service gets a pointer to this
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> kept;
    uint32_t persists = 0;
    uint32_t fail_persist_at = 0; // the n-th persist from now fails with RPM_E_IO

    explicit Mem(uint64_t size);
    Mem(const Mem &) = delete;
    void keep(uint64_t offset, uint64_t len);
};

// A write that was outstanding when its link was lost.
struct LateWrite {
    uint32_t client;
    uint32_t key;
    uint64_t offset;
    std::vector<unsigned char> bytes;
};

struct Server {
    Mem pool;
    Mem dram;
    rpmi_service *service = nullptr;
    uint32_t epoch = 0;
    uint32_t clients_max = 8;
    uint64_t entropy = 1;
    uint64_t boot = 1; // of the machine; a power cut makes it another
    uint64_t now_ns = 1000000;
    bool up = true;
    bool defers_cleanup = false; // a lost client stays attached until reap()
    std::vector<uint32_t> orphans;
    bool delays_writes = false; // writes of a lost link stay outstanding until deliver_late()
    std::vector<LateWrite> late;
    std::vector<Link *> links;

    explicit Server(uint64_t pool_bytes = 1u << 20, uint64_t dram_bytes = 1u << 16);
    Server(const Server &) = delete;
    ~Server();
    int start();      // starts a server process on the visible bytes
    void stop();      // the process dies: every link is lost, memory stays
    void power_cut(); // stop(), and only durable bytes stay
    void reap();      // cleans up after closed clients
    void leave(uint32_t client);
    uint32_t deliver_late(); // carries out late writes; how many were accepted
};

// Faults to inject, counted from now; 0: none.
struct Faults {
    uint64_t lose_op = 0;      // the n-th op is not carried out and the link is lost
    bool lose_late = false;    // ... is carried out, and only its completion is lost
    bool lose_torn = false;    // ... a write is carried out in part
    uint8_t lose_kind = 0;     // the first op of this kind is not carried out, and the link lost
    uint64_t stall_op = 0;     // the n-th op and all later ones never complete
    uint64_t lose_call = 0;    // the n-th call is not served and the link is lost
    bool lose_reply = false;   // ... is served, and only the reply is lost
    uint64_t stall_call = 0;   // the n-th call is never answered: time passes
    uint64_t garbage_call = 0; // the n-th call gets a reply that no server sends
    uint32_t refuse = 0;       // so many reconnects are refused
    uint32_t take_most = 0;    // ops that one post takes at most; 0: as many as fit
};

struct Pending {
    rpmi_op op;
    std::vector<unsigned char> head;
};

struct Link {
    rpmi_link link; // first: the connection gets a pointer to this
    Server *server;
    Faults faults;
    std::deque<Pending> flight; // posted, not carried out
    std::deque<rpmi_done> done; // completions to be reaped
    std::map<void *, uint64_t> staged;
    uint64_t staging_left;
    uint32_t outstanding = 0; // ops that hold a place in the queue
    uint64_t ops = 0;         // carried out so far
    uint64_t calls = 0;
    uint64_t persists = 0; // PERSIST, FLUSH, READ seals and DRAIN carried out
    bool broken = false;   // an op failed: nothing is carried out any more
    bool manual = false;   // ops are carried out by step() only
    uint32_t hold = 0;     // completions that poll() may give out when manual
    bool peeks = true;     // a synchronous link lends its mapping
    uint64_t fast_at = 0;  // offset in the pool of the object that the fast path was entered for
    uint64_t fast_bytes = 0;
    uint64_t fast_first = 0;                          // of it, the first byte that may be written
    uint64_t fast_calls = 0;                          // how often the fast path was entered or used
    bool fast_cached = false;                         // the argument of the last entry
    uint64_t follows = 0;                             // how often a reader at the tail was reported
    std::vector<std::pair<uint64_t, uint64_t>> dirty; // pool ranges written, not yet durable
    std::function<void()> on_pause;
    std::function<void()> on_call;                                 // just before a call is served
    std::function<void(const rpmi_call &, rpmi_reply &)> on_reply; // changes it on its way
    std::function<void()> on_drop;              // just before the server notices the loss
    std::function<void(const rpmi_op &)> on_op; // just before an op is carried out
    uint64_t (*clock)(void) = nullptr;          // used instead of the virtual clock

    Link(Server *server, const struct Setup &setup, const rpmi_link_opts &opts);
    bool step(); // carries out one op; false if there is none
    void drop(); // the link is lost
    struct rpm_conn_stats &stats()
    {
        return link.stats;
    }
};

// The kind of a link.
struct Setup {
    bool synchronous = false;
    bool fast_path = false; // with synchronous: a fast path past the queue
    bool steps = true;      // it carries lists of steps
    bool watch = false;     // and holds those that begin with a WATCH; its pauses are the server's
    bool sum = true;        // and computes SUMs
    bool compare = true;    // and carries out COMPAREs
    uint32_t methods = 0;   // bits; 0: all that a queued link has, or STORE for a synchronous one
    uint32_t domain = RPM_DOMAIN_ADR;
    bool declared = true; // by the operator: no probe found the domain
    uint32_t ddio = RPM_NO;
    uint32_t line_bytes = 64;
    uint32_t native_flush = RPM_YES;
    uint32_t medium = RPM_MEDIUM_TMPFS;
};

constexpr uint32_t bit(uint32_t method)
{
    return 1u << method;
}

Setup synchronous();
Setup queued(uint32_t methods = 0);

// Open a connection over a new link. The link belongs to the connection.
int connect(Server &server, const Setup &setup, const rpm_conn_opts *opts, rpm_conn **conn);
Link *link_of(rpm_conn *conn);

// Owners of handles, so that a failing check leaves no leak for ASan to report.
struct Conn {
    rpm_conn *conn = nullptr;
    Link *link = nullptr;

    Conn() = default;
    Conn(Server &server, const Setup &setup, const rpm_conn_opts *opts = nullptr);
    Conn(const Conn &) = delete;
    ~Conn();
    operator rpm_conn *() const
    {
        return conn;
    }
    void close();
};

struct Log {
    rpm_log *log = nullptr;

    Log() = default;
    Log(rpm_conn *conn, const char *name, uint32_t flags, uint64_t capacity = 0,
        uint32_t level = 0);
    Log(const Log &) = delete;
    ~Log();
    operator rpm_log *() const
    {
        return log;
    }
    int open(rpm_conn *conn, const char *name, const rpm_log_opts &opts);
    void close();
};

// Shared by the loop*.cpp files: faults, the effect of an op at the server, lists of steps.
Link *link_of(rpmi_link *link);
const rpmi_fast_path *fast_table();
bool due(uint64_t &count); // counts a fault down; true when it is due
void keep_dirty(Link *link);
int post_synchronous(Link *link, const rpmi_op *ops, uint32_t n);
void act(Link *link, const Pending &pending, const rpmi_span &span, bool torn);
int carry_out_steps(Link *link, const rpmi_op &op);

// While an object of this class exists, an allocation aborts.
struct Freeze {
    Freeze()
    {
        rpmi_mem_freeze();
    }
    Freeze(const Freeze &) = delete;
    ~Freeze()
    {
        rpmi_mem_thaw();
    }
};

constexpr uint32_t WRITER = RPM_LOG_WRITE | RPM_LOG_CREATE;

struct Record {
    std::string data;
    uint64_t lsn;
    uint64_t epoch;

    bool operator==(const Record &other) const
    {
        return data == other.data && lsn == other.lsn;
    }
};

// Appends and requires success; returns the LSN.
uint64_t append(rpm_log *log, const std::string &data);
int append_async(rpm_log *log, const std::string &data, uintptr_t context, uint32_t flags = 0,
                 uint64_t *lsn = nullptr);
// Polls until @n completions came, at most @polls times.
std::vector<rpm_completion> reap(rpm_log *log, size_t n, uint32_t polls = 10000);
// Every record from @from on, read by a reader of its own. Fails the test on an error.
std::vector<Record> read_all(rpm_log *log, uint64_t from = 0, uint32_t level = 0);
// A payload of this length, made from a seed.
std::string payload(uint64_t seed, size_t len);
struct rpm_log_info info(rpm_log *log);

} // namespace loop

#endif
