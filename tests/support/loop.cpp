// SPDX-License-Identifier: BSD-3-Clause
// loop.cpp: see loop.h. The ops table of a link, and what each op does at the server.
#include "support/loop.h"

extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "transport/transport.h"
}

#include <algorithm>
#include <cstring>

namespace loop
{

Link *link_of(rpmi_link *link)
{
    return reinterpret_cast<Link *>(link);
}

static std::vector<unsigned char> bytes_of(const Pending &pending)
{
    const rpmi_op &op = pending.op;
    std::vector<unsigned char> bytes(op.len);

    if (!pending.head.empty())
        memcpy(bytes.data(), pending.head.data(), pending.head.size());
    if (op.body_bytes != 0)
        memcpy(bytes.data() + op.head_bytes, op.body, op.body_bytes);
    return bytes;
}

void Link::drop()
{
    if (broken)
        return;
    broken = true;
    if (on_drop)
        on_drop();
    for (const Pending &pending : flight)
        if (server->delays_writes && pending.op.kind == RPMI_OP_WRITE)
            server->late.push_back(
                { link.client, pending.op.key, pending.op.offset, bytes_of(pending) });
    flight.clear();
    dirty.clear();
    server->leave(link.client);
    link.client = 0;
}

// Makes durable everything that this link has written.
void keep_dirty(Link *link)
{
    for (const auto &range : link->dirty)
        link->server->pool.keep(range.first, range.second);
    link->dirty.clear();
}

static void write_bytes(Link *link, const Pending &pending, Mem &mem, uint64_t at, bool torn)
{
    const rpmi_op &op = pending.op;
    std::vector<unsigned char> bytes = bytes_of(pending);

    for (uint64_t word = 0; word < op.len; word += 8) {
        if (torn && (word / 8) % 3 == 1)
            continue;
        memcpy(&mem.bytes[at + word], bytes.data() + word, std::min<uint64_t>(8, op.len - word));
    }
    if (&mem == &link->server->pool)
        link->dirty.emplace_back(at, op.len);
}

static void atomic(const rpmi_op &op, Mem &mem, uint64_t at)
{
    uint64_t found;
    uint64_t next;

    memcpy(&found, &mem.bytes[at], sizeof(found));
    next = op.kind == RPMI_OP_FAA ? found + op.operand : found == op.expect ? op.operand : found;
    memcpy(&mem.bytes[at], &next, sizeof(next));
    memcpy(op.into, &found, sizeof(found));
}

// Carries an op out at the server, after the checks.
void act(Link *link, const Pending &pending, const rpmi_span &span, bool torn)
{
    const rpmi_op &op = pending.op;
    Server *server = link->server;
    Mem &mem = span.area == RPMI_AREA_POOL ? server->pool : server->dram;
    const rpm_facts &facts = link->link.facts;

    switch (op.kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_WRITE_IMM:
    case RPMI_OP_COPY:
        write_bytes(link, pending, mem, span.offset, torn);
        if (!torn && (op.flags & RPMI_OP_DURABLE) != 0)
            server->pool.keep(span.offset, op.len);
        break;
    case RPMI_OP_READ:
        memcpy(op.into, &mem.bytes[span.offset], op.len);
        if (facts.ddio == RPM_NO || facts.domain == RPM_DOMAIN_EADR)
            keep_dirty(link);
        break;
    case RPMI_OP_PERSIST:
    case RPMI_OP_FLUSH:
        link->persists++;
        mem.keep(span.offset, op.len);
        break;
    default:
        atomic(op, mem, span.offset);
        break;
    }
}

// Checks bounds and rights, then carries the op out.
static int carry_out(Link *link, const Pending &pending, bool torn)
{
    const rpmi_op &op = pending.op;
    rpmi_span span = {};
    int err;

    link->ops++;
    if (op.kind == RPMI_OP_DRAIN) {
        link->persists++;
        keep_dirty(link);
        return 0;
    }
    if (op.kind == RPMI_OP_STEPS)
        return torn ? 0 : carry_out_steps(link, op);
    err = rpmi_service_access(link->server->service, link->link.client, op.key, op.offset, op.len,
                              rpmi_op_right(op.kind), &span);
    if (err != 0)
        return rpmi_fail(err, "the server refused an op");
    if (link->on_op)
        link->on_op(op);
    act(link, pending, span, torn);
    return 0;
}

bool due(uint64_t &count)
{
    return count > 0 && --count == 0;
}

// Whether the link is lost at this op. The part of the op that still happens has been carried out.
static bool ends_here(Link *link, const Pending &pending)
{
    if (link->faults.lose_kind != 0 && pending.op.kind == link->faults.lose_kind) {
        link->faults.lose_kind = 0;
        link->drop();
        return true;
    }
    if (!due(link->faults.lose_op))
        return false;
    if (link->faults.lose_late || (link->faults.lose_torn && pending.op.len > 8))
        (void)carry_out(link, pending, !link->faults.lose_late);
    link->drop();
    return true;
}

static void check_memory(const Link *link, const void *at, uint64_t len)
{
    bool inside = len == 0;

    for (const auto &block : link->staged) {
        const unsigned char *base = static_cast<const unsigned char *>(block.first);

        inside = inside || (at >= base &&
                            static_cast<const unsigned char *>(at) + len <= base + block.second);
    }
    REQUIRE(inside); // body and into of a queued link are in staging memory
}

static Pending copy_of(const rpmi_op &op)
{
    Pending pending = { op, {} };

    REQUIRE(op.head_bytes <= RPMI_LINE_BYTES);
    if (op.head_bytes > 0)
        pending.head.assign(static_cast<const unsigned char *>(op.head),
                            static_cast<const unsigned char *>(op.head) + op.head_bytes);
    if (rpmi_op_right(op.kind) == RPMI_RIGHT_WRITE)
        REQUIRE(op.len >= op.head_bytes + op.body_bytes);
    return pending;
}

int post_synchronous(Link *link, const rpmi_op *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        Pending pending = copy_of(ops[i]);
        int err;

        if (link->broken || ends_here(link, pending))
            return link->link.lost = rpmi_fail(RPM_E_LOST, "the server is gone");
        err = carry_out(link, pending, false);
        if (err != 0)
            return err;
    }
    return static_cast<int>(n);
}

static int link_post(rpmi_link *base, const rpmi_op *ops, uint32_t n)
{
    Link *link = link_of(base);
    uint32_t taken = 0;

    REQUIRE(n > 0);
    if ((base->flags & RPMI_LINK_COMPLETES_ON_POST) != 0)
        return post_synchronous(link, ops, n);
    while (taken < n && link->outstanding < base->depth &&
           (link->faults.take_most == 0 || taken < link->faults.take_most)) {
        if (rpmi_op_right(ops[taken].kind) == RPMI_RIGHT_WRITE)
            check_memory(link, ops[taken].body, ops[taken].body_bytes);
        else if (ops[taken].into != nullptr)
            check_memory(link, ops[taken].into, ops[taken].len);
        if (ops[taken].kind == RPMI_OP_STEPS)
            check_memory(link, ops[taken].body, ops[taken].body_bytes);
        link->outstanding++;
        if (!link->broken)
            link->flight.push_back(copy_of(ops[taken]));
        taken++;
    }
    return static_cast<int>(taken);
}

bool Link::step()
{
    Pending pending;
    int err;

    if (broken || flight.empty() || faults.stall_op == 1)
        return false;
    if (faults.stall_op > 1)
        faults.stall_op--;
    pending = flight.front();
    if (ends_here(this, pending))
        return true;
    flight.pop_front();
    server->now_ns += 500;
    err = carry_out(this, pending, false);
    if (err != 0) {
        done.push_back({ pending.op.id, err });
        drop();
    } else if ((pending.op.flags & RPMI_OP_SIGNALED) != 0) {
        done.push_back({ pending.op.id, 0 });
    } else {
        outstanding--;
    }
    return true;
}

static int link_poll(rpmi_link *base, rpmi_done *done, uint32_t n)
{
    Link *link = link_of(base);
    uint32_t count = 0;

    link->server->now_ns += 50;
    if (!link->manual)
        link->step();
    while (count < n && !link->done.empty() && (!link->manual || link->hold > 0)) {
        done[count++] = link->done.front();
        link->done.pop_front();
        link->outstanding--;
        if (link->manual)
            link->hold--;
    }
    return count == 0 && link->broken ? RPM_E_LOST : static_cast<int>(count);
}

static int link_wait(rpmi_link *base, uint64_t deadline_ns)
{
    Link *link = link_of(base);

    if (link->server->now_ns >= deadline_ns && link->done.empty() && !link->broken)
        return RPM_E_TIMEDOUT;
    // A manual link, too, makes progress while a caller waits.
    if (link->manual && link->done.empty())
        link->step();
    if (link->manual)
        link->hold = std::max(link->hold, 1u);
    while (link->done.empty() && !link->broken && link->step())
        ;
    if (!link->done.empty() || link->broken)
        return 0;
    base->stats.sleeps++;
    link->server->now_ns = deadline_ns;
    return RPM_E_TIMEDOUT;
}

static int lost_call(Link *link)
{
    link->drop();
    return rpmi_fail(RPM_E_LOST, "the server is gone");
}

// Encodes and decodes the call and the reply, as every real link does.
static int serve(Link *link, const rpmi_call *call, rpmi_reply *reply)
{
    unsigned char request[RPMI_CALL_BYTES];
    unsigned char answer[RPMI_REPLY_BYTES];
    rpmi_call heard;
    rpmi_reply said;

    rpmi_call_put(request, call);
    REQUIRE(rpmi_call_get(request, &heard) == 0);
    rpmi_service_call(link->server->service, link->link.client, &heard, &said);
    rpmi_reply_put(answer, &said);
    return rpmi_reply_get(answer, reply);
}

static int link_call(rpmi_link *base, const rpmi_call *call, rpmi_reply *reply,
                     uint64_t deadline_ns)
{
    Link *link = link_of(base);
    bool lose = due(link->faults.lose_call);
    int err;

    if (link->on_call)
        link->on_call();
    link->calls++;
    link->server->now_ns += 2000;
    if (link->broken || (lose && !link->faults.lose_reply))
        return lost_call(link);
    if (due(link->faults.stall_call)) {
        link->server->now_ns = deadline_ns;
        return rpmi_fail(RPM_E_TIMEDOUT, "no answer in time");
    }
    err = serve(link, call, reply);
    if (err == 0 && link->on_reply)
        link->on_reply(*call, *reply);
    if (due(link->faults.garbage_call))
        return rpmi_fail(RPM_E_PROTO, "no server says that");
    return lose ? lost_call(link) : err;
}

static int attach(Link *link)
{
    Server *server = link->server;
    int err;

    if (!server->up)
        return rpmi_fail(RPM_E_REFUSED, "no server listens there");
    err = rpmi_service_attach(server->service, &link->link.client);
    if (err != 0)
        return rpmi_fail(RPM_E_REFUSED, "too many clients");
    link->link.server_epoch = server->epoch;
    return 0;
}

static int link_reconnect(rpmi_link *base, uint64_t)
{
    Link *link = link_of(base);
    int err;

    link->drop();
    link->done.clear();
    link->outstanding = 0;
    link->faults.stall_op = 0;
    link->server->now_ns += 10000;
    if (link->faults.refuse > 0) {
        link->faults.refuse--;
        return rpmi_fail(RPM_E_REFUSED, "refused by the test");
    }
    err = attach(link);
    if (err != 0)
        return err;
    link->broken = false;
    base->lost = 0;
    return 0;
}

static void *link_stage(rpmi_link *base, uint64_t bytes)
{
    Link *link = link_of(base);
    void *block;

    if (bytes > link->staging_left)
        return nullptr;
    block = rpmi_alloc_unset(bytes, RPMI_LINE_BYTES); // most of it is never written
    if (block == nullptr)
        return nullptr;
    link->staging_left -= bytes;
    link->staged[block] = bytes;
    return block;
}

static void link_unstage(rpmi_link *base, void *ptr)
{
    Link *link = link_of(base);

    REQUIRE(link->staged.count(ptr) == 1);
    link->staging_left += link->staged[ptr];
    link->staged.erase(ptr);
    rpmi_free(ptr);
}

static const void *link_peek(rpmi_link *base, uint32_t key, uint64_t offset, uint64_t len)
{
    Link *link = link_of(base);
    rpmi_span span = {};

    if ((base->flags & RPMI_LINK_COMPLETES_ON_POST) == 0 || !link->peeks || link->broken)
        return nullptr;
    if (rpmi_service_access(link->server->service, base->client, key, offset, len, RPMI_RIGHT_READ,
                            &span) != 0)
        return nullptr;
    return &link->server->pool.bytes[span.offset];
}

static uint64_t link_now(rpmi_link *base)
{
    Link *link = link_of(base);

    return link->clock != nullptr ? link->clock() : link->server->now_ns;
}

static void link_pause(rpmi_link *base, uint64_t ns)
{
    Link *link = link_of(base);

    link->server->now_ns += ns;
    if (link->on_pause)
        link->on_pause();
}

static void link_close(rpmi_link *base)
{
    Link *link = link_of(base);
    std::vector<Link *> &links = link->server->links;

    link->drop();
    for (auto &block : link->staged)
        rpmi_free(block.first);
    links.erase(std::find(links.begin(), links.end(), link));
    delete link;
}

static const rpmi_transport_ops *ops_table()
{
    static rpmi_transport_ops ops = {};

    if (ops.size != 0)
        return &ops;
    ops.size = sizeof(ops);
    ops.scheme = "loop";
    ops.reconnect = link_reconnect;
    ops.post = link_post;
    ops.poll = link_poll;
    ops.wait = link_wait;
    ops.call = link_call;
    ops.stage = link_stage;
    ops.unstage = link_unstage;
    ops.peek = link_peek;
    ops.now_ns = link_now;
    ops.pause = link_pause;
    ops.close = link_close;
    rpmi_transport_complete(&ops);
    return &ops;
}

Link::Link(Server *remote, const Setup &setup, const rpmi_link_opts &opts)
    : link{}, server(remote), staging_left(opts.staging_bytes)
{
    link.ops = ops_table();
    link.flags = (setup.synchronous ? RPMI_LINK_COMPLETES_ON_POST : 0) |
                 (setup.steps ? RPMI_LINK_STEPS : 0) | (setup.watch ? RPMI_LINK_WATCH : 0) |
                 (setup.sum ? RPMI_LINK_SUM : 0) | (setup.compare ? RPMI_LINK_COMPARE : 0);
    link.fast_path = setup.synchronous && setup.fast_path ? fast_table() : nullptr;
    link.depth = opts.depth;
    link.facts = rpm_facts_init();
    link.facts.methods = setup.methods;
    link.facts.domain = setup.domain;
    link.facts.domain_declared = setup.declared ? 1 : 0;
    link.facts.ddio = setup.ddio;
    link.facts.line_bytes = setup.line_bytes;
    link.facts.native_flush = setup.native_flush;
    link.facts.medium = setup.medium;
}

int connect(Server &server, const Setup &setup, const rpm_conn_opts *opts, rpm_conn **conn)
{
    rpmi_link_opts link_opts = {};
    Link *link;
    int err = rpmi_conn_link_opts(opts, &link_opts);

    if (err != 0)
        return err;
    link = new Link(&server, setup, link_opts);
    err = attach(link);
    if (err != 0) {
        delete link;
        return err;
    }
    server.links.push_back(link);
    return rpmi_conn_wrap(&link->link, opts, conn);
}

Link *link_of(rpm_conn *conn)
{
    return link_of(rpmi_conn_link(conn));
}

} // namespace loop
