// SPDX-License-Identifier: BSD-3-Clause
#include "support/liar.h"

extern "C" {
#include "base/err.h"
#include "base/mem.h"
#include "wire/steps.h"
}
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

namespace
{

struct Memory {
    std::vector<unsigned char> list;        // what it sends instead
    std::vector<unsigned char> certificate; // the first that it got
    std::deque<rpmi_done> done;             // its own answers
    void *into = nullptr;                   // of the list that it handed on
    Hoard *hoard = nullptr;
    uint64_t polls = 0;
    bool resends = false; // a list of the hoard is outstanding
};

const uint64_t RESENT = ~0ull; // the id of such a list
const size_t HOARD_MAX = 64;
const uint64_t RESEND_POLLS = 12;

struct Liar {
    rpmi_wrap wrap; // first
    Lie lie;
    unsigned char *staged; // RPMI_STEPS_BYTES, for lists of its own
    unsigned char *answer; // and for their answers
    Memory *memory;
};

Liar *liar_of(rpmi_link *link)
{
    return reinterpret_cast<Liar *>(link);
}

// Answers each PROVE of the list by @answer.
template <class Answer> void answer_all(Liar *liar, const rpmi_op &op, Answer answer)
{
    unsigned char *to = static_cast<unsigned char *>(op.into);
    rpmi_steps steps;
    rpmi_step step;

    rpmi_steps_begin(&steps, op.body, static_cast<uint32_t>(op.body_bytes));
    while (rpmi_steps_next(&steps, &step) == 1)
        if (step.kind == RPMI_STEP_PROVE)
            answer(step, to + steps.result);
    rpmi_steps_answer_put(to, steps.taken);
    liar->memory->done.push_back({ op.id, 0 });
}

void forge(Liar *liar, const rpmi_op &op)
{
    static const uint64_t own_key[RPMI_CERTIFICATE_KEY_WORDS] = { 1, 2 };

    answer_all(liar, op, [&](const rpmi_step &step, unsigned char *to) {
        rpmi_certificate made = {};

        made.level = RPM_DURABLE;
        made.log_id = step.log_id;
        made.first_lsn = step.offset;
        made.end_lsn = step.end_lsn;
        made.epoch = step.epoch;
        made.server_epoch = liar->wrap.link.server_epoch;
        if (rpmi_certificate_put(to, &made, own_key) != 0)
            throw std::bad_alloc();
    });
}

// The same list, each PROVE of which begins at the last line of its records.
rpmi_op skip(Liar *liar, const rpmi_op &op)
{
    rpmi_op other = op;
    rpmi_steps steps;
    rpmi_step step;
    uint32_t bytes = 0;

    rpmi_steps_begin(&steps, op.body, static_cast<uint32_t>(op.body_bytes));
    while (rpmi_steps_next(&steps, &step) == 1) {
        if (step.kind == RPMI_STEP_PROVE)
            step.offset = step.end_lsn - RPMI_LINE_BYTES;
        bytes += rpmi_step_put(liar->staged + bytes, &step);
    }
    other.body = liar->staged;
    return other;
}

// The same list, with a bit changed in the bytes of each CARRY.
rpmi_op garble(Liar *liar, const rpmi_op &op)
{
    rpmi_op other = op;
    rpmi_steps steps;
    rpmi_step step;

    memcpy(liar->staged, op.body, op.body_bytes);
    rpmi_steps_begin(&steps, op.body, static_cast<uint32_t>(op.body_bytes));
    while (rpmi_steps_next(&steps, &step) == 1)
        if (step.kind == RPMI_STEP_CARRY)
            liar->staged[static_cast<const unsigned char *>(step.data) -
                         static_cast<const unsigned char *>(op.body)] ^= 4;
    other.body = liar->staged;
    return other;
}

void hoard(Memory *memory, const rpmi_op &op)
{
    const unsigned char *from = static_cast<const unsigned char *>(op.body);

    if (memory->hoard->lists.size() < HOARD_MAX && from[0] == RPMI_STEP_CARRY)
        memory->hoard->lists.emplace_back(from, from + op.body_bytes);
}

// Sends the next list of the hoard again, of whichever writer.
void resend(Liar *liar)
{
    Memory *memory = liar->memory;
    Hoard *hoarded = memory->hoard;
    rpmi_op op = {};
    rpmi_steps steps;
    rpmi_step step;

    if (memory->resends || hoarded->lists.empty() || ++memory->polls % RESEND_POLLS != 0)
        return;
    const std::vector<unsigned char> &list =
        hoarded->lists[hoarded->next++ % hoarded->lists.size()];
    memcpy(liar->staged, list.data(), list.size());
    op.kind = RPMI_OP_STEPS;
    op.flags = RPMI_OP_SIGNALED | RPMI_OP_DURABLE;
    op.body = liar->staged;
    op.body_bytes = list.size();
    op.into = liar->answer;
    op.id = RESENT;
    rpmi_steps_begin(&steps, liar->staged, static_cast<uint32_t>(list.size()));
    while (rpmi_steps_next(&steps, &step) == 1)
        op.len = steps.result_to;
    memory->resends = rpmi_wrap_post(&liar->wrap.link, &op, 1) == 1;
}

int liar_post(rpmi_link *link, const rpmi_op *ops, uint32_t n)
{
    Liar *liar = liar_of(link);
    Memory *memory = liar->memory;

    if (ops->kind != RPMI_OP_STEPS) // it tells the truth about decisions
        return rpmi_wrap_post(link, ops, n);
    if (n != 1)
        throw std::logic_error("an agent is sent one list at a time");
    switch (liar->lie) {
    case Lie::sleeps:
        return 1;
    case Lie::forges:
        forge(liar, *ops);
        return 1;
    case Lie::mutters:
        answer_all(liar, *ops, [](const rpmi_step &, unsigned char *to) { memset(to, 0x55, 64); });
        return 1;
    case Lie::replays:
        if (!memory->certificate.empty()) {
            answer_all(liar, *ops, [&](const rpmi_step &, unsigned char *to) {
                memcpy(to, memory->certificate.data(), memory->certificate.size());
            });
            return 1;
        }
        memory->into = ops->into;
        return rpmi_wrap_post(link, ops, 1);
    case Lie::skips: {
        rpmi_op other = skip(liar, *ops);

        return rpmi_wrap_post(link, &other, 1);
    }
    case Lie::garbles: {
        rpmi_op other = garble(liar, *ops);

        return rpmi_wrap_post(link, &other, 1);
    }
    case Lie::late:
        hoard(memory, *ops);
        return 1;
    case Lie::repeats:
        hoard(memory, *ops);
        return rpmi_wrap_post(link, ops, 1);
    default:
        return rpmi_wrap_post(link, ops, 1);
    }
}

int liar_poll(rpmi_link *link, rpmi_done *done, uint32_t n)
{
    Liar *liar = liar_of(link);
    Memory *memory = liar->memory;

    if (!memory->done.empty()) {
        *done = memory->done.front();
        memory->done.pop_front();
        return 1;
    }
    if (liar->lie == Lie::late || liar->lie == Lie::repeats)
        resend(liar);
    int got = rpmi_wrap_poll(link, done, n);

    if (got == 1 && done->id == RESENT) {
        memory->resends = false;
        return done->status == 0 ? 0 : RPM_E_LOST;
    }
    if (got == 1 && done->status == 0 && done->id == 0 && memory->into != nullptr) {
        const unsigned char *from =
            static_cast<unsigned char *>(memory->into) + RPMI_STEPS_ANSWER_HEAD;

        memory->certificate.assign(from, from + RPMI_CERTIFICATE_BYTES);
        memory->into = nullptr;
    }
    return got;
}

void liar_close(rpmi_link *link)
{
    delete liar_of(link)->memory;
    rpmi_wrap_close(link);
}

} // namespace

const char *lie_name(Lie lie)
{
    static const char *const names[LIES] = { "none",   "forges",  "skips", "replays", "mutters",
                                             "sleeps", "garbles", "late",  "repeats", "stranger" };

    return names[static_cast<int>(lie)];
}

rpmi_link *lying(rpmi_link *inner, Lie lie, Hoard *hoard)
{
    static rpmi_transport_ops ops;
    Liar *liar = static_cast<Liar *>(rpmi_alloc(sizeof(Liar), RPMI_LINE_BYTES));

    ops = { sizeof(ops),    "liar",           rpmi_wrap_connect, rpmi_wrap_reconnect,
            liar_post,      liar_poll,        rpmi_wrap_wait,    rpmi_wrap_watch,
            rpmi_wrap_arm,  rpmi_wrap_call,   rpmi_wrap_stage,   rpmi_wrap_unstage,
            rpmi_wrap_peek, rpmi_wrap_now_ns, rpmi_wrap_pause,   liar_close };
    liar->lie = lie;
    liar->memory = new Memory;
    liar->memory->hoard = hoard;
    rpmi_wrap_init(&liar->wrap, &ops, inner);
    liar->staged =
        static_cast<unsigned char *>(rpmi_wrap_stage(&liar->wrap.link, RPMI_STEPS_BYTES));
    liar->answer =
        static_cast<unsigned char *>(rpmi_wrap_stage(&liar->wrap.link, RPMI_STEPS_BYTES));
    return &liar->wrap.link;
}
