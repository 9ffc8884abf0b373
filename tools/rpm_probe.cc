/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_probe.cc: rpm-probe: report the facts that decide which acknowledgement can be proven: the
 * CPU's flush instructions, NUMA nodes, persistent memory and RDMA devices of this machine, and the
 * facts of each given path. A fact that cannot be read is unknown; the program writes nothing. With
 * --devices it probes RDMA devices instead, see probe/.
 */
#include "cli.h"
#include "facts.h"
#include "probe/devices.h"

#include <algorithm>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <sstream>

namespace
{

constexpr const char *kExamples =
    "Examples:\n"
    "  rpm-probe                                   (this machine and anonymous memory)\n"
    "  rpm-probe /dev/shm /var/lib/pool /dev/dax0.0\n"
    "  rpm-probe --json /mnt/pmem | jq '.paths[-1].facts.domain'\n"
    "  rpm-probe --devices /dev/dax0.0              (what each RDMA device can do with it)\n"
    "\n"
    "A fact that no probe can read is unknown and counts as the worse case. Declare a domain\n"
    "that you know with rpm-server --domain. DDIO is read from the root port of an RDMA device,\n"
    "which needs root.\n";

using facts::Json;

std::string first_line(const std::string &path)
{
    std::ifstream file(path);
    std::string line;

    std::getline(file, line);
    return line;
}

/* Names in a directory, sorted; none if it does not exist. */
std::vector<std::string> names_in(const std::string &path)
{
    std::vector<std::string> names;
    DIR *dir = opendir(path.c_str());

    if (dir == nullptr)
        return names;
    while (const dirent *entry = readdir(dir))
        if (entry->d_name[0] != '.')
            names.push_back(entry->d_name);
    closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
}

/* The value of a "key : value" line of /proc/cpuinfo, of the first CPU. */
std::string cpuinfo(const std::string &key)
{
    std::ifstream file("/proc/cpuinfo");
    std::string line;

    while (std::getline(file, line))
        if (line.compare(0, key.size(), key) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown";
}

/* Instructions that flush the caches, or bypass them. */
Json flush_instructions()
{
    static const struct {
        const char *flag; /* as x86-64 and arm64 have it in /proc/cpuinfo */
        const char *instruction;
    } wanted[] = { { "clflush", "clflush" }, { "clflushopt", "clflushopt" }, { "clwb", "clwb" },
                   { "sse2", "movnt" },      { "movdir64b", "movdir64b" },   { "dcpop", "dc cvap" },
                   { "dcpodp", "dc cvadp" } };
    std::istringstream words(cpuinfo("flags") + " " + cpuinfo("Features"));
    std::vector<std::string> flags{ std::istream_iterator<std::string>(words), {} };
    Json found = Json::array();

    for (const auto &one : wanted)
        if (std::find(flags.begin(), flags.end(), one.flag) != flags.end())
            found.push_back(one.instruction);
    return found;
}

Json or_null(const std::string &text)
{
    return text.empty() ? Json() : Json(text);
}

Json rdma_devices()
{
    const std::string root = "/sys/class/infiniband/";
    Json devices = Json::array();

    for (const std::string &name : names_in(root)) {
        Json device;

        device["name"] = name;
        device["node"] = or_null(first_line(root + name + "/device/numa_node"));
        device["ports"] = Json::array();
        for (const std::string &port : names_in(root + name + "/ports")) {
            std::string at = root + name + "/ports/" + port;

            device["ports"].push_back({ { "port", port },
                                        { "state", or_null(first_line(at + "/state")) },
                                        { "rate", or_null(first_line(at + "/rate")) } });
        }
        devices.push_back(device);
    }
    return devices;
}

Json persistent_memory()
{
    const std::string root = "/sys/bus/nd/devices/";
    Json regions = Json::array();

    for (const std::string &name : names_in(root)) {
        std::string domain = first_line(root + name + "/persistence_domain");

        if (domain.empty())
            continue;
        regions.push_back({ { "name", name },
                            { "domain", domain },
                            { "node", or_null(first_line(root + name + "/numa_node")) },
                            { "bytes", or_null(first_line(root + name + "/size")) } });
    }
    return regions;
}

std::string huge_pages_free()
{
    std::string text = first_line("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");

    return text.empty() ? "unknown" : text;
}

Json machine()
{
    Json out;

    out["cpu"] = cpuinfo("model name");
    out["flush_instructions"] = flush_instructions();
    out["numa_nodes"] = or_null(first_line("/sys/devices/system/node/online"));
    out["huge_pages_free"] = huge_pages_free();
    out["persistent_memory"] = persistent_memory();
    out["rdma_devices"] = rdma_devices();
    return out;
}

std::string joined(const Json &list)
{
    std::string text;

    for (const Json &item : list)
        text += (text.empty() ? "" : ", ") + item.get<std::string>();
    return text.empty() ? "none" : text;
}

std::string or_unknown(const Json &value)
{
    return value.is_null() ? "unknown" : value.get<std::string>();
}

void print_machine(const Json &machine)
{
    printf("This machine\n");
    printf("  cpu: %s\n", machine["cpu"].get<std::string>().c_str());
    printf("  flush instructions: %s\n", joined(machine["flush_instructions"]).c_str());
    printf("  numa nodes: %s\n", or_unknown(machine["numa_nodes"]).c_str());
    printf("  free huge pages of 2 MiB: %s\n", or_unknown(machine["huge_pages_free"]).c_str());
    for (const Json &region : machine["persistent_memory"])
        printf("  persistent memory: %s, domain %s, node %s, %s bytes\n",
               or_unknown(region["name"]).c_str(), or_unknown(region["domain"]).c_str(),
               or_unknown(region["node"]).c_str(), or_unknown(region["bytes"]).c_str());
    if (machine["persistent_memory"].empty())
        printf("  persistent memory: none\n");
    for (const Json &device : machine["rdma_devices"]) {
        printf("  rdma device: %s, node %s\n", or_unknown(device["name"]).c_str(),
               or_unknown(device["node"]).c_str());
        for (const Json &port : device["ports"])
            printf("    port %s: %s, %s\n", or_unknown(port["port"]).c_str(),
                   or_unknown(port["state"]).c_str(), or_unknown(port["rate"]).c_str());
    }
    if (machine["rdma_devices"].empty())
        printf("  rdma devices: none\n");
}

/* The facts with two blanks in front of each line. Methods are facts of a link, and a path has
 * none. */
std::string indented(const std::string &text)
{
    std::istringstream in(text);
    std::string line;
    std::string out;

    while (std::getline(in, line))
        out += "  " +
               (line == "methods: none" ? "methods: those of a link (rpm-explain --url)" : line) +
               "\n";
    return out;
}

/* Levels that a server on this memory could promise by at least one method. */
std::string reachable(const rpm_facts &facts)
{
    std::string text;

    for (int level = RPM_VISIBLE; level <= RPM_DURABLE; level++)
        for (int m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
            if (rpm_legal(&facts, static_cast<rpm_method>(m), static_cast<rpm_level>(level),
                          nullptr)) {
                text += std::string(text.empty() ? "" : ", ") +
                        rpm_level_name(static_cast<rpm_level>(level));
                break;
            }
    return text;
}

struct Probed {
    std::string name;
    std::string error; /* "" if it could be probed */
    rpm_facts facts;
};

Probed probe(const char *path)
{
    Probed probed{ path != nullptr ? path : "anonymous memory", "", rpm_facts_init() };
    int err = rpm_probe(path, &probed.facts);

    if (err != 0)
        probed.error = std::string(rpm_error_name(err)) + ": " + rpm_last_error();
    return probed;
}

Json path_json(const Probed &probed)
{
    Json out;

    out["path"] = probed.name;
    if (!probed.error.empty()) {
        out["error"] = probed.error;
        return out;
    }
    out["facts"] = facts::json(probed.facts);
    out["levels"] = reachable(probed.facts);
    out["agent"] = { { "worth", facts::agent_advice(probed.facts).worth },
                     { "why", facts::agent_advice(probed.facts).text } };
    return out;
}

int run(const std::vector<std::string> &paths, bool as_json)
{
    std::vector<Probed> all{ probe(nullptr) };
    Json out;
    int result = cli::kDone;

    for (const std::string &path : paths)
        all.push_back(probe(path.c_str()));
    out["machine"] = machine();
    out["paths"] = Json::array();
    for (const Probed &probed : all) {
        out["paths"].push_back(path_json(probed));
        if (!probed.error.empty()) {
            fprintf(stderr, "rpm-probe: %s: %s\n", probed.name.c_str(), probed.error.c_str());
            result = cli::kFailed;
        }
    }
    if (as_json) {
        printf("%s\n", out.dump(2).c_str());
        return result;
    }
    print_machine(out["machine"]);
    for (const Probed &probed : all)
        if (probed.error.empty())
            printf("\n%s\n%s  levels within reach: %s\n  agent: %s\n", probed.name.c_str(),
                   indented(facts::text(probed.facts)).c_str(), reachable(probed.facts).c_str(),
                   facts::agent_advice(probed.facts).text.c_str());
    return result;
}

/* The error text for a PATH that is a URL; "": it is a path. */
std::string refuse_url(const std::string &path)
{
    static const char *const schemes[] = { "shm:", "unix:", "tcp:", "verbs:", "sim:" };

    for (const char *scheme : schemes)
        if (path.compare(0, strlen(scheme), scheme) == 0 && access(path.c_str(), F_OK) != 0)
            return path + " is a server's address, no path: ask it with rpm-explain --url, or "
                          "rpm-log info for one of its logs";
    return "";
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Print the facts of this machine and of pools", "rpm-probe");
    std::vector<std::string> paths;
    bool as_json = false;
    bool devices = false;

    app.footer(kExamples);
    app.add_option("PATH", paths, "File, directory or device that is, or could hold, a pool")
        ->type_name("PATH")
        ->check(refuse_url, "");
    app.add_flag("--devices", devices,
                 "Print the attributes and capabilities of RDMA devices, alone and with each PATH");
    app.add_flag("--json", as_json, "As JSON");
    return cli::run(app, argc, argv,
                    [&] { return devices ? probe_devices(paths, as_json) : run(paths, as_json); });
}
