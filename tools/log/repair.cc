/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.cc: report the records of a log whose head is damaged, and write a new head if asked to.
 *
 * Tests: tests/tools/log_test
 */
#include "log/logtool.h"

#include <nlohmann/json.hpp>

namespace logtool
{

using Json = nlohmann::ordered_json;

static const char *fate_text(uint32_t fate)
{
    switch (fate) {
    case RPM_REPAIR_KEPT:
        return "kept";
    case RPM_REPAIR_TRIMMED:
        return "trimmed";
    case RPM_REPAIR_GIVEN_UP:
        return "left behind by a replaced writer";
    default:
        return "would be lost";
    }
}

static const char *state_text(const rpm_repair_report &report)
{
    if (report.done != 0)
        return "repaired";
    switch (report.state) {
    case RPM_REPAIR_SOUND:
        return "sound";
    case RPM_REPAIR_SURVIVED:
        return "one copy damaged";
    default:
        return "needs repair";
    }
}

static std::string number(uint64_t value)
{
    return std::to_string(value);
}

static void print_slot(uint32_t i, const rpm_repair_slot &slot)
{
    std::string text = slot.wrong != nullptr
                           ? "damaged: " + std::string(slot.wrong)
                           : "turn " + number(slot.turn) + ", head " + number(slot.head_lsn) +
                                 ", epoch " + number(slot.epoch) + " from " + number(slot.base_lsn);

    printf("slot %u     %s\n", i, text.c_str());
}

static void print_chain(const rpm_repair_chain &chain)
{
    std::string epochs = number(chain.epoch_first);

    if (chain.epoch_last != chain.epoch_first)
        epochs += " to " + number(chain.epoch_last);
    printf("chain      %s to %s: %s records, %s, epoch %s: %s\n", number(chain.first_lsn).c_str(),
           number(chain.end_lsn).c_str(), number(chain.records).c_str(),
           cli::size_text(static_cast<double>(chain.bytes)).c_str(), epochs.c_str(),
           fate_text(chain.fate));
}

static void print_report(const rpm_repair_report &report)
{
    for (uint32_t i = 0; i < RPM_REPAIR_SLOTS; i++)
        print_slot(i, report.slots[i]);
    printf("claim      epoch %s\n", number(report.claim).c_str());
    for (uint32_t i = 0; i < report.chains_reported; i++)
        print_chain(report.chain[i]);
    if (report.chains > report.chains_reported)
        printf("chain      and %u more\n", report.chains - report.chains_reported);
    printf("%s %s to %s: %s records, %s\n", report.done != 0 ? "log is    " : "log       ",
           number(report.head_lsn).c_str(), number(report.tail_lsn).c_str(),
           number(report.records).c_str(),
           cli::size_text(static_cast<double>(report.bytes)).c_str());
    printf("lost       %s whole records\n", number(report.lost).c_str());
    printf("state      %s%s%s\n", state_text(report), report.why[0] != '\0' ? ": " : "",
           report.why);
    if (report.done != 0)
        printf("repaired   epoch %u\n", report.epoch);
}

static Json slots_json(const rpm_repair_report &report)
{
    Json slots = Json::array();

    for (const rpm_repair_slot &slot : report.slots)
        slots.push_back(slot.wrong != nullptr ? Json{ { "wrong", slot.wrong } }
                                              : Json{ { "turn", slot.turn },
                                                      { "head", slot.head_lsn },
                                                      { "base", slot.base_lsn },
                                                      { "epoch", slot.epoch } });
    return slots;
}

static void print_json(const rpm_repair_report &report)
{
    Json chains = Json::array();

    for (uint32_t i = 0; i < report.chains_reported; i++) {
        const rpm_repair_chain &chain = report.chain[i];

        chains.push_back({ { "first", chain.first_lsn },
                           { "end", chain.end_lsn },
                           { "records", chain.records },
                           { "bytes", chain.bytes },
                           { "epoch_first", chain.epoch_first },
                           { "epoch_last", chain.epoch_last },
                           { "fate", fate_text(chain.fate) } });
    }
    Json json = { { "state", state_text(report) },
                  { "why", report.why },
                  { "done", report.done != 0 },
                  { "slots", slots_json(report) },
                  { "claim", report.claim },
                  { "chain_count", report.chains },
                  { "chains", chains },
                  { "head", report.head_lsn },
                  { "tail", report.tail_lsn },
                  { "records", report.records },
                  { "bytes", report.bytes },
                  { "epoch", report.epoch },
                  { "lost", report.lost } };

    printf("%s\n", json.dump(2).c_str());
}

/* Why the log was not repaired, and which flags repair it. */
static std::string advice(const RepairOptions &options, const rpm_repair_report &report)
{
    std::string flags = report.lost != 0 ? "--write --discard" : "--write";
    std::string text = "repair: log '" + options.name + "' was not changed: ";

    text += flags + " writes a head for the records kept";
    if (report.lost != 0)
        text += " and loses " + number(report.lost) + " whole records" +
                (options.from == UINT64_MAX ? "; --from LSN keeps those of another chain instead"
                                            : "; another --from keeps those of another chain");
    return text;
}

int repair(const RepairOptions &options)
{
    Session session(options);
    rpm_repair_opts opts = rpm_repair_opts_init();
    rpm_repair_report report = rpm_repair_report_init();
    int err;

    opts.flags = (options.write ? unsigned{ RPM_REPAIR_WRITE } : 0u) |
                 (options.discard ? unsigned{ RPM_REPAIR_DISCARD } : 0u) |
                 (options.takeover ? unsigned{ RPM_REPAIR_TAKEOVER } : 0u);
    if (options.from != UINT64_MAX) {
        opts.flags |= RPM_REPAIR_FROM;
        opts.from_lsn = options.from;
    }
    session.open(options.url);
    err = rpm_log_repair(session.conn.get(), options.name.c_str(), &opts, &report);
    if (err != RPM_E_CORRUPT)
        cli::check("repair", err);
    cli::RpmFailure failure("repair", err); /* now: later calls change the last error */
    if (options.json)
        print_json(report);
    else
        print_report(report);
    if (err == 0 && (report.state != RPM_REPAIR_NEEDED || report.done != 0))
        return cli::kDone;
    if (err != 0 && report.lost == 0)
        throw failure;
    throw cli::Failure(advice(options, report));
}

} // namespace logtool
