/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.cc: the points of a sweep, in the order of the command line.
 */
#include "sweep.h"

#include "harness/experiment.h"

namespace hints
{

const char *ddio_name(uint32_t ddio)
{
    return ddio == RPM_YES ? "on" : "off";
}

const char *socket_name(uint32_t remote)
{
    return remote != 0 ? "remote" : "local";
}

namespace
{

uint64_t size(const std::string &text, const char *option)
{
    uint64_t bytes;

    if (!cli::parse_size(text, &bytes))
        throw cli::Failure(std::string(option) + ": not a size: " + text + "; " + cli::size_form());
    return bytes;
}

/* Options replace fields that the hints decided. */
void replace(const Sweep &sweep, rpm_load *load)
{
    if (!sweep.memory.empty())
        load->memory = kMemoryWords.value(sweep.memory);
    if (!sweep.flush.empty())
        load->flush_memory = kMemoryWords.value(sweep.flush);
    if (!sweep.ddio.empty())
        load->ddio = kDdioWords.value(sweep.ddio);
    if (!sweep.socket.empty())
        load->remote_socket = kSocketWords.value(sweep.socket);
    if (!sweep.align.empty())
        load->align_bytes = size(sweep.align, "--align");
    if (!sweep.pad.empty())
        load->pad_bytes = size(sweep.pad, "--pad");
    if (!sweep.region.empty())
        load->region_bytes = size(sweep.region, "--region");
    if (!sweep.fence.empty())
        load->fence_bytes = sweep.fence == "never" ? UINT64_MAX : size(sweep.fence, "--fence");
    if (sweep.writers_max != 0)
        load->writers_max = sweep.writers_max;
    load->use_dimms = sweep.use_dimms;
    load->own_dimms = sweep.own_dimms ? 1 : 0;
    load->passes = sweep.passes;
    load->words = sweep.words;
    load->interval_ps = sweep.interval_ns * 1000;
    load->skew_bytes = sweep.skew;
}

/* One value for each of the loops below; "" if the option was not given. */
struct Choice {
    std::string bytes, pattern, persist, copy, dimms;
    uint32_t threads = 1;
};

Point make(const rpm_facts &facts, uint32_t hints, const Sweep &sweep, const Choice &choice)
{
    Point point;
    rpm_load *load = &point.load;

    point.label = "sweep/" + sweep.by + "/" + sweep.op + "/" + choice.bytes + "/" +
                  std::to_string(choice.threads) + "/" + choice.pattern +
                  (choice.persist.empty() ? "" : "/" + choice.persist) +
                  (choice.copy.empty() ? "" : "/" + choice.copy) +
                  (choice.dimms.empty() ? "" : "/" + choice.dimms);
    load->by = kByWords.value(sweep.by);
    load->op = kOpWords.value(sweep.op);
    load->bytes = size(choice.bytes, "--bytes");
    load->threads = choice.threads;
    load->depth = load->by == RPM_BY_CORE ? 1 : sweep.depth;
    load->cores = sweep.cores;
    load->write_percent = sweep.write_percent;
    load->pattern = kPatternWords.value(choice.pattern);
    load->ops = sweep.ops != 0 ? sweep.ops : ops_for(load->bytes, sweep.reduced);
    point.hints = hints;
    if (load->bytes == 0)
        throw cli::Failure("--bytes 0: an operation has at least one byte");
    if (!choice.persist.empty() && load->by != RPM_BY_NIC)
        throw cli::Failure("--persist is about one-sided writes: --by nic");
    if (!choice.copy.empty() && load->by == RPM_BY_NIC)
        throw cli::Failure("--copy is about cores: --by core or call");
    plan_load(facts, &point);
    if (!choice.persist.empty())
        load->persist = kPersistWords.value(choice.persist);
    if (!choice.copy.empty())
        load->copy = kCopyWords.value(choice.copy);
    if (!choice.dimms.empty())
        point.set = "dimms=" + choice.dimms + " dimms";
    replace(sweep, load);
    point.series = choice.pattern + (choice.persist.empty() ? "" : " " + choice.persist) +
                   (choice.copy.empty() ? "" : " " + choice.copy) +
                   (choice.dimms.empty() ? "" : " " + choice.dimms + " dimms");
    point.x = choice.bytes;
    return point;
}

template <typename T> std::vector<T> or_one(const std::vector<T> &list, const T &one)
{
    return list.empty() ? std::vector<T>{ one } : list;
}

std::vector<std::string> texts(const std::vector<uint32_t> &numbers)
{
    std::vector<std::string> out;

    for (uint32_t number : numbers)
        out.push_back(std::to_string(number));
    return out.empty() ? std::vector<std::string>{ "" } : out;
}

} // namespace

std::vector<Point> sweep_points(const rpm_facts &facts, uint32_t hints, const Sweep &sweep)
{
    std::vector<Choice> choices = { Choice() };
    std::vector<Point> points;
    auto each = [&choices](const auto &list, auto Choice::*field) {
        std::vector<Choice> out;

        for (const Choice &choice : choices)
            for (const auto &value : list) {
                out.push_back(choice);
                out.back().*field = value;
            }
        choices = out;
    };

    each(texts(sweep.dimms), &Choice::dimms);
    each(or_one<std::string>(sweep.persists, ""), &Choice::persist);
    each(or_one<std::string>(sweep.copies, ""), &Choice::copy);
    each(or_one<std::string>(sweep.patterns, "random"), &Choice::pattern);
    each(or_one<uint32_t>(sweep.threads, 1), &Choice::threads);
    each(or_one<std::string>(sweep.bytes, "64"), &Choice::bytes);
    for (const Choice &choice : choices)
        points.push_back(make(facts, hints, sweep, choice));
    return points;
}

} // namespace hints
