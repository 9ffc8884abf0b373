/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.cc: the columns of a row, and their output as CSV, JSON and text.
 *
 * Numbers are decimal with a fixed number of digits, so that equal results are equal bytes. A field
 * without a measurement is empty.
 */
#include "report.h"

namespace hints
{

namespace
{

struct Cell {
    const char *name;
    std::string value;
    bool number;
};

std::string fixed(double value, int digits)
{
    char text[64];

    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

std::string ns(uint64_t ps)
{
    return fixed(static_cast<double>(ps) * 1e-3, 3);
}

std::string ratio(uint64_t a, uint64_t b)
{
    return b == 0 ? "" : fixed(static_cast<double>(a) / static_cast<double>(b), 4);
}

void add(std::vector<Cell> &cells, const char *name, const std::string &value)
{
    cells.push_back({ name, value, false });
}

void add(std::vector<Cell> &cells, const char *name, uint64_t value)
{
    cells.push_back({ name, std::to_string(value), true });
}

void add_if(std::vector<Cell> &cells, const char *name, bool there, const std::string &value)
{
    cells.push_back({ name, there ? value : "", true });
}

void add_load(std::vector<Cell> &cells, const Row &row)
{
    const rpm_load &load = row.point.load;
    bool writes = load.op == RPM_LOAD_WRITE || load.op == RPM_LOAD_MIX;

    add(cells, "by", by_name(load.by));
    add(cells, "op", op_name(load.op));
    add(cells, "persist", writes && load.by == RPM_BY_NIC ? persist_name(load.persist) : "");
    add(cells, "copy", writes && load.by != RPM_BY_NIC ? copy_name(load.copy) : "");
    add(cells, "memory", memory_name(load.memory));
    add(cells, "pattern", pattern_name(load.pattern));
    add(cells, "bytes", load.op == RPM_LOAD_CAS ? 8 : load.bytes);
    add(cells, "pad", load.pad_bytes);
    add(cells, "align", load.align_bytes);
    add(cells, "threads", load.threads);
    add(cells, "depth", load.depth);
    add(cells, "cores", load.by == RPM_BY_CALL ? load.cores : 0);
    add_if(cells, "dimms", row.dimms != 0, std::to_string(row.dimms));
    add(cells, "remote_socket", load.remote_socket);
    add(cells, "ddio", row.ddio == RPM_YES ? "on" : row.ddio == RPM_NO ? "off" : "");
    add(cells, "seed", load.seed);
    add(cells, "repeat", row.repeats);
}

void add_cost(std::vector<Cell> &cells, const Row &row)
{
    const rpm_cost &cost = row.cost;
    bool there = row.measured;
    bool counted = there && row.counted;
    uint64_t written = cost.module_write_bytes;

    add_if(cells, "ops", there, std::to_string(cost.ops));
    add_if(cells, "mops", there, there ? fixed(row.mops(), 4) : "");
    add_if(cells, "gbs", there, there ? fixed(row.gbs(), 4) : "");
    add_if(cells, "p50_ns", there, ns(cost.p50_ps));
    add_if(cells, "p90_ns", there, ns(cost.p90_ps));
    add_if(cells, "p99_ns", there, ns(cost.p99_ps));
    add_if(cells, "p999_ns", there, ns(cost.p999_ps));
    add_if(cells, "max_ns", there, ns(cost.max_ps));
    add_if(cells, "mean_ns", there, ns(cost.mean_ps));
    add_if(cells, "media_read_bytes", counted, std::to_string(cost.media_read_bytes));
    add_if(cells, "media_write_bytes", counted, std::to_string(cost.media_write_bytes));
    add_if(cells, "read_amp", counted, ratio(cost.media_read_bytes, cost.bytes));
    add_if(cells, "write_amp", counted, ratio(cost.media_write_bytes, cost.bytes));
    add_if(cells, "efficiency", counted, ratio(written, cost.media_write_bytes));
    add_if(cells, "partial_words", counted, std::to_string(cost.partial_words));
}

/* The columns that identify a load. */
void add_rest(std::vector<Cell> &cells, const Row &row)
{
    const rpm_load &load = row.point.load;
    bool flushes = load.by == RPM_BY_NIC && load.persist != RPM_PERSIST_NONE &&
                   load.op != RPM_LOAD_READ && load.op != RPM_LOAD_CAS;

    add(cells, "fence",
        load.by != RPM_BY_CORE           ? ""
        : load.fence_bytes <= 1          ? "each"
        : load.fence_bytes == UINT64_MAX ? "never"
                                         : std::to_string(load.fence_bytes));
    add(cells, "flush", flushes ? memory_name(load.flush_memory) : "");
    add(cells, "region", load.region_bytes);
    add(cells, "skew", load.skew_bytes);
    add(cells, "write_percent", load.op == RPM_LOAD_MIX ? load.write_percent : 0);
    add(cells, "use_dimms", load.use_dimms);
    add(cells, "own_dimms", load.own_dimms);
    add(cells, "passes", load.passes);
    add(cells, "words", load.words);
    add(cells, "interval_ns", load.interval_ps / 1000);
    add(cells, "writers_max", load.writers_max);
    add(cells, "set", row.set);
}

std::vector<Cell> cells_of(const std::string &run, const std::string &url, const Row &row)
{
    std::vector<Cell> cells;

    add(cells, "run", run);
    add(cells, "label", row.point.label);
    add(cells, "series", row.point.series);
    add(cells, "x", row.point.x);
    add(cells, "hints", hints_text(row.point.hints));
    add(cells, "url", url);
    add(cells, "preset", row.preset);
    add(cells, "origin", row.modelled ? "model" : "live");
    add_load(cells, row);
    add_cost(cells, row);
    add(cells, "durable", row.durable ? "yes" : "no");
    add(cells, "note", row.note);
    add_rest(cells, row);
    return cells;
}

} // namespace

void Csv::add(const std::string &run, const std::string &url, const Row &row)
{
    std::vector<Cell> cells = cells_of(run, url, row);
    std::string heading;
    std::string text;

    for (const Cell &cell : cells) {
        heading += (heading.empty() ? "" : ",") + std::string(cell.name);
        text += (text.empty() ? "" : ",") + cli::csv_field(cell.value);
    }
    file_.write((headed_ ? "" : heading + "\n") + text + "\n");
    headed_ = true;
}

void Csv::close()
{
    file_.close();
}

Json row_json(const std::string &run, const std::string &url, const Row &row)
{
    Json out;

    for (const Cell &cell : cells_of(run, url, row)) {
        if (cell.number && cell.value.empty())
            out[cell.name] = nullptr;
        else if (cell.number)
            out[cell.name] = Json::parse(cell.value);
        else
            out[cell.name] = cell.value;
    }
    return out;
}

/* "h1_cores" shows "h1/cores/...". */
static std::string labels_of(const Figure &figure)
{
    std::string text = figure.id;

    if (figure.labels != nullptr)
        return figure.labels;
    text[text.find('_')] = '/';
    return text + "/";
}

Json experiment_json(const Experiment &experiment)
{
    Json out = { { "run", experiment.run },           { "hint", experiment.hint },
                 { "file", experiment.file },         { "title", experiment.title },
                 { "question", experiment.question }, { "expect", experiment.expect },
                 { "why", experiment.why },           { "figures", Json::array() } };

    for (const Figure &figure : experiment.figures)
        out["figures"].push_back({ { "id", figure.id },
                                   { "title", figure.title },
                                   { "see", figure.see },
                                   { "kind", figure.kind },
                                   { "x", figure.x },
                                   { "y", figure.y },
                                   { "series", "series" },
                                   { "labels", labels_of(figure) },
                                   { "xlabel", figure.xlabel },
                                   { "ylabel", figure.ylabel },
                                   { "xlog", figure.xlog },
                                   { "ylog", figure.ylog } });
    return out;
}

std::string row_text(const Row &row)
{
    char text[256];

    if (!row.measured)
        return row.point.label + ": no numbers: " + row.note;
    std::snprintf(text, sizeof(text), "%-34s %9.3f M/s %8.3f GB/s  p50 %10.1f ns  p99 %10.1f ns",
                  row.point.label.c_str(), row.mops(), row.gbs(),
                  static_cast<double>(row.cost.p50_ps) * 1e-3,
                  static_cast<double>(row.cost.p99_ps) * 1e-3);
    std::string out = text;
    if (row.counted && row.cost.media_write_bytes != 0) {
        std::snprintf(text, sizeof(text), "  media written %.2f times",
                      static_cast<double>(row.cost.media_write_bytes) /
                          static_cast<double>(row.cost.bytes));
        out += text;
    }
    return out + (row.durable ? "  durable" : "") + (row.modelled ? "  modelled" : "  live") +
           (row.note.empty() ? "" : "  (" + row.note + ")");
}

} // namespace hints
