/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admin.cc: the commands info, verify, trim, list, room and remove of rpm-log.
 *
 * Tests: tests/tools/log_test
 */
#include "facts.h"
#include "log/logtool.h"

#include <cinttypes>
#include <deque>

namespace logtool
{

using Json = nlohmann::ordered_json;

static void row(const char *name, const std::string &value)
{
    printf("%-10s %s\n", name, value.c_str());
}

static void row(const char *name, uint64_t value)
{
    row(name, std::to_string(value));
}

/* @damage: out, the error text if a record is damaged; the function then returns normally. NULL: a
 * damaged record is an error. */
static struct rpm_log_info read_info(Session &session, const Common &common,
                                     std::string *damage = nullptr)
{
    struct rpm_log_info info = rpm_log_info_init();
    int err;

    session.open(common.url);
    session.open_log(common, rpm_log_opts_init());
    err = rpm_log_info(session.log.get(), &info);
    if (err == RPM_E_CORRUPT && damage != nullptr)
        *damage = cli::RpmFailure("scan", err).what();
    else
        cli::check(common.name, err);
    return info;
}

static bool find_entry(Session &session, const std::string &name, rpm_entry &entry)
{
    entry = rpm_entry_init();
    while (cli::check("list", rpm_conn_next(session.conn.get(), &entry)) == 1)
        if (name == entry.name)
            return true;
    return false;
}

/* Names of the methods that reach level durable on this link; empty: there is none. */
static std::string durable_methods(const rpm_facts &facts)
{
    std::string names;

    for (uint32_t i = 1; i < RPM_METHOD_COUNT; i++) {
        rpm_method method = static_cast<rpm_method>(i);

        if ((facts.methods >> i & 1) == 0 || rpm_legal(&facts, method, RPM_DURABLE, nullptr) == 0)
            continue;
        names += (names.empty() ? "" : " ") + std::string(rpm_method_name(method));
    }
    return names;
}

static void print_info_json(const Session &session, const struct rpm_log_info &info,
                            uint32_t writer)
{
    rpm_facts facts = session.facts();
    std::string durable = durable_methods(facts);
    Json json;

    json["head"] = info.head_lsn;
    json["tail"] = info.tail_lsn;
    json["capacity"] = info.capacity_bytes;
    json["records"] = info.records;
    json["torn"] = info.torn;
    json["head_copies_lost"] = info.head_copies_lost;
    json["epoch"] = info.epoch;
    json["writer"] = writer;
    json["scan_bytes"] = info.scan_bytes;
    json["scan_ns"] = info.scan_ns;
    json["durable_by"] = durable.empty() ? "none" : durable;
    facts::add_main(json, facts);
    json["memory_bytes"] = session.memory;
    printf("%s\n", json.dump(2).c_str());
}

/* The state of both copies of the head. A copy that a writer is storing now is not lost. */
static std::string copies_text(uint64_t lost)
{
    return lost == 0 ? "of the head: both whole"
                     : "of the head: " + std::to_string(lost) +
                           " damaged; the other counts, and the next writer or 'rpm-log repair "
                           "--write' stores it again";
}

int info(const Common &common)
{
    Session session(common);
    struct rpm_log_info info = read_info(session, common);
    uint64_t used = info.tail_lsn - info.head_lsn;
    std::string durable = durable_methods(session.facts());
    rpm_entry entry;
    uint32_t writer = find_entry(session, common.name, entry) ? entry.writer : 0;

    if (writer != 0)
        info.head_copies_lost = 0;
    if (common.json) {
        print_info_json(session, info, writer);
        return cli::kDone;
    }
    row("head", info.head_lsn);
    row("tail", info.tail_lsn);
    row("capacity", std::to_string(info.capacity_bytes) + " (" +
                        cli::size_text(static_cast<double>(info.capacity_bytes)) + ", " +
                        std::to_string(used * 100 / info.capacity_bytes) + " % in use)");
    row("records", info.records);
    row("torn", info.torn);
    row("copies", copies_text(info.head_copies_lost));
    row("epoch", info.epoch);
    row("writer", writer == 0 ? "none" : "client " + std::to_string(writer));
    row("scan",
        cli::size_text(static_cast<double>(info.scan_bytes)) + " in " + cli::ns_text(info.scan_ns));
    row("durable by",
        durable.empty() ? "no method: appends here need --level process or visible" : durable);
    row("memory", cli::size_text(static_cast<double>(session.memory)) + " of this client");
    printf("\nfacts of the server at %s:\n%s", common.url.c_str(),
           facts::text(session.facts()).c_str());
    return cli::kDone;
}

/* The result of a walk of a reader along the log. */
struct Walk {
    uint64_t records = 0;
    uint64_t bytes = 0;
    uint64_t end_lsn = 0;
    std::string damage;
};

/* While a writer is active the walk ends at the tail that the recovery scan found. If the writer
 * has trimmed the log meanwhile, the walk continues at the new head. If no record is found before
 * that tail, an append may be in progress: the walk retries for at most a second. */
static int next_beside_writer(Session &session, const Walk &walk, uint64_t tail_lsn,
                              rpm_record &record)
{
    int found = 0;

    for (int tries = 0; found == 0 && walk.end_lsn < tail_lsn && tries < 1000; tries++) {
        found = rpm_reader_next(session.reader.get(), &record);
        if (found == RPM_E_TRIMMED) {
            session.open_reader(0, RPM_VISIBLE);
            found = 0;
        }
        if (found == 0)
            sleep_ns(1000000);
    }
    return found;
}

static Walk walk(Session &session, const struct rpm_log_info &info, bool is_written,
                 const std::string &damage)
{
    Walk walk{ 0, 0, info.head_lsn, damage };
    rpm_record record;
    uint64_t epoch = 0;
    int found;

    session.open_reader(0, RPM_VISIBLE);
    while ((found = is_written ? next_beside_writer(session, walk, info.tail_lsn, record)
                               : rpm_reader_next(session.reader.get(), &record)) == 1) {
        if (record.lsn < walk.end_lsn || record.epoch < epoch)
            walk.damage = "the records around " + std::to_string(record.lsn) + " are out of order";
        walk.records++;
        walk.bytes += record.len;
        walk.end_lsn = record.next_lsn;
        epoch = record.epoch;
    }
    if (found == RPM_E_CORRUPT && walk.damage.empty())
        walk.damage = cli::RpmFailure("read", found).what();
    if (found != RPM_E_CORRUPT)
        cli::check("verify", found);
    /* Compare no record counts: a writer may have trimmed some in between. */
    if (walk.damage.empty() && walk.end_lsn < info.tail_lsn)
        walk.damage = "the recovery scan found records up to " + std::to_string(info.tail_lsn) +
                      ", the reader up to " + std::to_string(walk.end_lsn);
    return walk;
}

/* Read the whole ring, and report damaged copies of the head and records behind a damaged record,
 * which no reader reaches. Not while a writer is active, which changes both. */
static void examine_ring(Session &session, const Common &common, Walk &found)
{
    rpm_repair_report report = rpm_repair_report_init();

    cli::check("verify", rpm_log_repair(session.conn.get(), common.name.c_str(), nullptr, &report));
    for (uint32_t i = 0; report.state != RPM_REPAIR_SOUND && i < RPM_REPAIR_SLOTS; i++)
        if (report.slots[i].wrong != nullptr)
            fprintf(stderr,
                    "rpm-log: warning: slot %u of the head has %s; its copy counts, and the next "
                    "writer or 'rpm-log repair --write' stores it again\n",
                    i, report.slots[i].wrong);
    if (found.damage.empty() && report.state == RPM_REPAIR_NEEDED)
        found.damage = report.why;
    if (found.damage.empty() && report.lost > 0)
        found.damage = "the record at " + std::to_string(found.end_lsn) + " is damaged, and " +
                       std::to_string(report.lost) +
                       " whole records elsewhere cannot be reached: 'rpm-log repair' shows them";
}

int verify(const Common &common)
{
    Session session(common);
    std::string damage;
    struct rpm_log_info info = read_info(session, common, &damage);
    rpm_entry entry;
    bool is_written = find_entry(session, common.name, entry) && entry.writer != 0;
    Walk found = walk(session, info, is_written, damage);

    /* The appends of a living writer may arrive out of the order of their LSNs. */
    if (!damage.empty() && info.stranded > 0)
        found.damage += "; " + std::to_string(info.stranded) + " intact records behind it";
    else if (found.damage.empty() && info.stranded > 0 && !is_written)
        found.damage = "the frame at " + std::to_string(info.tail_lsn) + " is broken, and " +
                       std::to_string(info.stranded) +
                       " intact records behind it cannot be reached: bytes were damaged, or power "
                       "failed with several appends on their way";
    if (!is_written)
        examine_ring(session, common, found);
    if (common.json) {
        Json json = { { "records", found.records }, { "bytes", found.bytes },
                      { "head", info.head_lsn },    { "tail", found.end_lsn },
                      { "torn", info.torn },        { "stranded", info.stranded },
                      { "epoch", info.epoch },      { "damage", found.damage } };

        printf("%s\n", json.dump(2).c_str());
    } else {
        row("records", found.records);
        row("bytes", found.bytes);
        row("head", info.head_lsn);
        row("tail", found.end_lsn);
        row("torn", info.torn);
        row("epoch", info.epoch);
    }
    if (!found.damage.empty())
        throw cli::Failure("verify: " + found.damage);
    return cli::kDone;
}

/* The LSN from which @keep records are left. */
static uint64_t find_keep(Session &session, uint64_t keep, uint64_t tail_lsn)
{
    std::deque<uint64_t> starts;
    rpm_record record;

    if (keep == 0)
        return tail_lsn;
    session.open_reader(0, RPM_VISIBLE);
    while (cli::check("trim", rpm_reader_next(session.reader.get(), &record)) == 1) {
        starts.push_back(record.lsn);
        if (starts.size() > keep)
            starts.pop_front();
    }
    session.reader.reset();
    return starts.empty() ? tail_lsn : starts.front();
}

int trim(const TrimOptions &options)
{
    Session session(options);
    struct rpm_log_info before = read_info(session, options);
    struct rpm_log_info after = rpm_log_info_init();
    uint64_t lsn = options.lsn;

    if (options.all)
        lsn = before.tail_lsn;
    else if (options.keep != UINT64_MAX)
        lsn = find_keep(session, options.keep, before.tail_lsn);
    if (lsn < before.head_lsn)
        throw cli::RpmFailure("trim", RPM_E_TRIMMED,
                              "log '" + options.name + "' begins at " +
                                  std::to_string(before.head_lsn) + ": records before " +
                                  std::to_string(lsn) + " were trimmed already");
    cli::check("trim", rpm_log_trim(session.log.get(), lsn));
    cli::check("trim", rpm_log_info(session.log.get(), &after));
    printf("head %llu -> %llu, %s given back\n", static_cast<unsigned long long>(before.head_lsn),
           static_cast<unsigned long long>(after.head_lsn),
           cli::size_text(static_cast<double>(after.head_lsn - before.head_lsn)).c_str());
    return cli::kDone;
}

static const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case RPM_KIND_LOG:
        return "log";
    case RPM_KIND_REGION:
        return "region";
    case RPM_KIND_DRAM:
        return "dram";
    case RPM_KIND_LOCKS:
        return "locks";
    default:
        return "unknown";
    }
}

int list(const Common &common)
{
    Session session(common);
    rpm_entry entry = rpm_entry_init();
    Json json = Json::array();

    session.open(common.url);
    if (!common.json)
        printf("%-8s %14s %8s  %s\n", "kind", "bytes", "writer", "name");
    while (cli::check("list", rpm_conn_next(session.conn.get(), &entry)) == 1) {
        if (common.json) {
            json.push_back({ { "name", entry.name },
                             { "kind", kind_name(entry.kind) },
                             { "bytes", entry.bytes },
                             { "writer", entry.writer } });
            continue;
        }
        printf("%-8s %14llu %8s  %s\n", kind_name(entry.kind),
               static_cast<unsigned long long>(entry.bytes),
               entry.writer == 0 ? "-" : std::to_string(entry.writer).c_str(), entry.name);
    }
    if (common.json)
        printf("%s\n", json.dump(2).c_str());
    return cli::kDone;
}

int room(const Common &common)
{
    struct Area {
        const char *name;
        rpm_kind kind;
    };
    Session session(common);
    Json json;

    session.open(common.url);
    if (!common.json)
        printf("%-8s %14s %14s %14s %8s %8s\n", "area", "bytes", "free", "largest", "objects",
               "at most");
    for (Area area : { Area{ "pool", RPM_KIND_REGION }, Area{ "dram", RPM_KIND_DRAM } }) {
        rpm_room room = rpm_room_init();

        cli::check("room", rpm_conn_room(session.conn.get(), area.kind, &room));
        json[area.name] = { { "bytes", room.bytes },
                            { "free_bytes", room.free_bytes },
                            { "largest_bytes", room.largest_bytes },
                            { "objects", room.objects },
                            { "objects_max", room.objects_max } };
        if (!common.json)
            printf("%-8s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %8u %8u\n", area.name,
                   room.bytes, room.free_bytes, room.largest_bytes, room.objects, room.objects_max);
    }
    if (common.json)
        printf("%s\n", json.dump(2).c_str());
    return cli::kDone;
}

int remove(const Common &common)
{
    Session session(common);

    session.open(common.url);
    cli::check(common.name, rpm_conn_remove(session.conn.get(), common.name.c_str()));
    return cli::kDone;
}

} // namespace logtool
