/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_log.cc: rpm-log, which appends standard input to a log and prints logs. This file has the
 * options; the subcommands are in tools/log/.
 *
 * Tests: tests/tools/log_test
 */
#include "cli.h"
#include "log/logtool.h"

using namespace logtool;

static const char *const kExamples =
    "Examples:\n"
    "  rpm-log append shm:pool events < events.txt    one record for each line\n"
    "  rpm-log append shm:pool events --file f --resume --reconnect 30\n"
    "  rpm-log cat shm:pool events                    the same bytes again\n"
    "  rpm-log tail -f shm:pool events                follow a writer\n"
    "  rpm-log info --json shm:pool events\n"
    "  rpm-log verify shm:pool events                 exit status 1 if bytes were damaged\n"
    "  rpm-log trim shm:pool events --keep-records 1000\n"
    "  rpm-log cat shm:pool events --tier DIR         those too that were trimmed (rpm-agent)\n"
    "  rpm-log cat --from-segments DIR events         those in the segments, without a server\n"
    "  rpm-log repair shm:pool events                 report how a damaged log can be repaired\n"
    "  rpm-log list shm:pool\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.";

static const char *const kTierText =
    "folder of segments, which rpm-agent stores, with the records that were trimmed";

static CLI::App *command(CLI::App &app, const std::string &name, const std::string &text,
                         Common &common, bool named)
{
    CLI::App *sub = app.add_subcommand(name, text);

    sub->add_option("URL", common.url, "where, such as shm:NAME")->required();
    if (named)
        sub->add_option("NAME", common.name, "the log")->required();
    sub->add_option("--timeout", common.timeout, "seconds that one call may take (5)")
        ->check(CLI::Range(0.001, 1e6));
    sub->add_option(
           "--reconnect", common.reconnect,
           "seconds to keep trying while the server cannot be reached; the last try may take "
           "--timeout longer (0)")
        ->check(CLI::Range(0.0, 1e6));
    sub->add_option("--secret-file", common.secret_file, "file with the shared secret")
        ->type_name("FILE");
    return sub;
}

static void add_append(CLI::App &app, AppendOptions &options)
{
    CLI::App *sub = command(app, "append", "Append the records of the input", options, true);

    sub->add_option("--file", options.file, "read this instead of standard input")
        ->type_name("FILE");
    cli::size_option(sub, "--capacity", options.capacity,
                     "size of a log that is created (an eighth of the pool, at most 64M)");
    sub->add_flag("--no-create", options.no_create, "fail if there is no such log");
    sub->add_flag("--create", "create the log if there is none: the default");
    cli::level_option(sub, options.level, "what an acknowledgement promises (durable)");
    cli::method_option(sub, options.method,
                       "how bytes become durable (the cheapest that is legal)");
    cli::hints_option(
        sub->add_option("--hints", options.hints, "hints in force: all, none, -H6, H6,H9 (all)"));
    sub->add_option("--batch", options.batch, "records that share one flush (1)")
        ->check(CLI::Range(1u, 65536u));
    sub->add_option("--async", options.async, "records outstanding at once (1)")
        ->check(CLI::Range(1u, 65536u));
    sub->add_flag("--takeover", options.takeover, "fence a writer that is still connected");
    sub->add_option("--tier", options.tier,
                    "when the log is full, trim the records that this folder of segments has, and "
                    "wait up to --timeout for rpm-agent to store more; agent: trim those that the "
                    "agent of the URL has in segments")
        ->each([&options](const std::string &text) { options.agent_tier = text == "agent"; })
        ->type_name("DIR");
    sub->add_flag("--resume", options.resume,
                  "the log has the first records of the input: continue behind them");
    sub->add_option("--ack-file", options.ack_file,
                    "add a line \"INDEX LSN\" for each record once it is acknowledged")
        ->type_name("FILE");
    sub->add_option("--rate", options.rate, "records a second at most")
        ->check(CLI::Range(0.001, 1e9));
    sub->add_flag("--binary", options.binary, "records of a fixed size instead of lines");
    cli::size_option(sub, "--record-bytes", options.record_bytes,
                     "size of a record with --binary (4K)");
    sub->add_flag("--quiet", options.quiet, "no table at the end, no progress line");
    sub->add_flag("--json", options.json, "the summary as JSON on standard output");
    sub->footer(
        "A record is a line with its newline, so an empty line is a record of one byte and\n"
        "cat gives the input back byte for byte. SIGINT ends after the current record.");
}

/* cat needs a server and a log, or a folder and perhaps a log. */
static void check_place(CatOptions &options)
{
    if (options.segments.empty()) {
        if (options.url.empty() || options.name.empty())
            throw CLI::RequiredError(options.url.empty() ? "URL" : "NAME");
        return;
    }
    if (!options.name.empty() || !options.tier.empty())
        throw CLI::ExcludesError("--from-segments", "a URL and --tier");
    options.name.swap(options.url);
}

static void add_readers(CLI::App &app, CatOptions &cat_options, CatOptions &tail_options)
{
    CLI::App *sub = command(app, "cat", "Print the records", cat_options, true);

    sub->add_option("--from", cat_options.from, "LSN of the first record (the head)");
    sub->add_option("--count", cat_options.count, "records at most");
    sub->add_flag("--lsn", cat_options.lsn, "print the LSN and a tab before each record");
    cli::level_option(sub, cat_options.level,
                      "the level that a printed record has reached (visible)");
    sub->add_option("--tier", cat_options.tier, kTierText)->type_name("DIR");
    sub->add_option(
           "--from-segments", cat_options.segments,
           "read this folder of segments alone; then there is no URL, and the log is named "
           "only if there are several")
        ->type_name("DIR");
    sub->get_option("URL")->required(false);
    sub->get_option("NAME")->required(false);
    sub->callback([&cat_options] { check_place(cat_options); });

    sub = command(app, "tail", "Print the last records, and follow", tail_options, true);
    sub->add_flag("-f,--follow", tail_options.follow, "wait for more until SIGINT");
    sub->add_option("-n,--records", tail_options.last,
                    "start this many records before the end (10)");
    sub->add_option("--from", tail_options.from, "LSN of the first record");
    sub->add_option("--tier", tail_options.tier, kTierText)->type_name("DIR");
    sub->add_flag("--lsn", tail_options.lsn, "print the LSN and a tab before each record");
    cli::level_option(sub, tail_options.level,
                      "the level that a printed record has reached (visible)");
}

static void add_segments(CLI::App &app, SegmentsOptions &options)
{
    CLI::App *sub = app.add_subcommand("segments", "List and verify a folder of segments");

    sub->add_option("DIR", options.folder, "the folder")->required();
    sub->add_option("LOG", options.log, "name or id of a log (all)");
    sub->add_flag("--verify", options.verify, "read and check every record");
    sub->add_option("--drop-before", options.drop,
                    "remove the segments that end before this LSN, or there");
    sub->add_flag("--json", options.json, "as JSON");
}

static void add_trim(CLI::App &app, TrimOptions &options)
{
    CLI::App *sub =
        command(app, "trim", "Trim old records, whose space is then free", options, true);
    CLI::Option_group *what = sub->add_option_group("what");

    what->add_option("LSN", options.lsn, "start of the first record to keep, not before the head");
    what->add_option("--keep-records", options.keep, "keep this many of the last records");
    what->add_flag("--all", options.all, "keep none");
    what->require_option(1);
}

static void add_repair(CLI::App &app, RepairOptions &options)
{
    CLI::App *sub =
        command(app, "repair", "Report and repair a log whose head is damaged", options, true);

    sub->add_flag("--write", options.write,
                  "write a new head; without it, only report what would be written");
    sub->add_flag("--discard", options.discard,
                  "with --write: write it even if whole records are lost")
        ->needs("--write");
    sub->add_flag("--takeover", options.takeover,
                  "with --write: fence a writer that is still connected")
        ->needs("--write");
    sub->add_option("--from", options.from, "LSN of the record that becomes the first of the log");
    sub->add_flag("--json", options.json, "as JSON");
    sub->footer("Exit status: 0 the log needs no repair, or it was repaired; 1 it needs one, or it "
                "failed.");
}

int main(int argc, char **argv)
{
    CLI::App app("Append to, read and maintain remote persistent logs.", "rpm-log");
    AppendOptions append_options;
    CatOptions cat_options;
    CatOptions tail_options;
    TrimOptions trim_options;
    RepairOptions repair_options;
    SegmentsOptions segments_options;
    Common info_options;
    Common verify_options;
    Common list_options;
    Common room_options;
    Common remove_options;

    app.footer(kExamples);
    app.require_subcommand(1);
    add_append(app, append_options);
    add_readers(app, cat_options, tail_options);
    command(app, "info", "Bounds, recovery and platform of a log", info_options, true)
        ->add_flag("--json", info_options.json, "as JSON");
    command(app, "verify", "Check every record", verify_options, true)
        ->add_flag("--json", verify_options.json, "as JSON");
    add_segments(app, segments_options);
    add_trim(app, trim_options);
    add_repair(app, repair_options);
    command(app, "list", "List the logs and regions of the pool", list_options, false)
        ->add_flag("--json", list_options.json, "as JSON");
    command(app, "room", "Print how much room the pool has for more of them", room_options, false)
        ->add_flag("--json", room_options.json, "as JSON");
    command(app, "remove", "Delete a log or region", remove_options, true);
    signal(SIGPIPE, SIG_IGN);
    cli::catch_stop();
    return cli::run(app, argc, argv, [&] {
        std::string name = app.get_subcommands().front()->get_name();

        if (name == "append")
            return append(append_options);
        if (name == "cat")
            return cat(cat_options);
        if (name == "segments")
            return segments(segments_options);
        if (name == "tail")
            return tail(tail_options);
        if (name == "info")
            return info(info_options);
        if (name == "verify")
            return verify(verify_options);
        if (name == "trim")
            return trim(trim_options);
        if (name == "repair")
            return repair(repair_options);
        if (name == "list")
            return list(list_options);
        if (name == "room")
            return room(room_options);
        return remove(remove_options);
    });
}
