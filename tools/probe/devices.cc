// SPDX-License-Identifier: BSD-3-Clause
// devices.cc: print every RDMA device of this machine and its capabilities: yes, or no with the
// reason and a remedy.
#include "probe/devices.h"

#include "facts.h"

#include <cinttypes>
#include <memory>

namespace
{

using facts::Json;

/* The probe of one device with one kind of memory. */
struct Memory {
    std::string path; /* "" for anonymous */
    std::string error;
    std::unique_ptr<rpm_device> device;
};

using Device = std::vector<Memory>; /* the first with anonymous memory */

std::string error_text(int err)
{
    return std::string(rpm_error_name(err)) + ": " + rpm_last_error();
}

Memory probe_memory(uint32_t index, const std::string &path, int *err)
{
    Memory memory{ path, "", std::make_unique<rpm_device>(rpm_device_init()) };

    *err = rpm_device_probe(index, path.empty() ? nullptr : path.c_str(), memory.device.get());
    if (*err != 0)
        memory.error = error_text(*err);
    return memory;
}

Json or_null(const char *text)
{
    return *text == '\0' ? Json() : Json(text);
}

Json answer_json(const rpm_device_answer &answer)
{
    return { { "answer", facts::answer(answer.answer) }, { "why", or_null(answer.why) } };
}

/* The name of a capability as a JSON key: "native FLUSH" is native_flush. */
std::string key_of(int capability)
{
    std::string key = rpm_device_capability_name(static_cast<rpm_device_capability>(capability));

    for (char &letter : key)
        letter = letter == ' ' ? '_' : static_cast<char>(tolower(letter));
    return key;
}

Json port_json(const rpm_device_port &port)
{
    Json out = { { "port", port.number },
                 { "state", port.state },
                 { "link", port.link },
                 { "mtu", port.mtu },
                 { "addresses", Json::array() } };

    for (uint32_t i = 0; i < port.addresses_n && i < RPM_DEVICE_ADDRESSES; i++)
        out["addresses"].push_back(port.address[i]);
    return out;
}

Json memory_json(const Memory &memory)
{
    Json out;

    out["path"] = memory.path.empty() ? Json() : Json(memory.path);
    if (!memory.error.empty()) {
        out["error"] = memory.error;
        return out;
    }
    out["medium"] = rpm_medium_name(static_cast<rpm_medium>(memory.device->medium));
    out["bytes"] = memory.device->memory_bytes;
    for (int i = RPM_DEVICE_MEMORY_READ; i < RPM_DEVICE_CAPABILITIES; i++)
        out[key_of(i)] = answer_json(memory.device->can[i]);
    return out;
}

Json device_json(const Device &all)
{
    const rpm_device &device = *all[0].device;
    Json out = { { "name", device.name },
                 { "driver", or_null(device.driver) },
                 { "firmware", or_null(device.firmware) },
                 { "node", facts::node(device.node) },
                 { "software", device.software != 0 },
                 { "ports", Json::array() } };

    for (uint32_t i = 0; i < device.ports_n && i < RPM_DEVICE_PORTS; i++)
        out["ports"].push_back(port_json(device.port[i]));
    out["limits"] = {
        { "queue_pairs", device.queue_pairs_max },   { "requests", device.requests_max },
        { "completions", device.completions_max },   { "regions", device.regions_max },
        { "region_bytes", device.region_max_bytes }, { "reads", device.reads_max },
        { "inline_bytes", device.inline_bytes }
    };
    for (int i = 0; i < RPM_DEVICE_MEMORY_READ; i++)
        out["can"][key_of(i)] = answer_json(device.can[i]);
    out["memory"] = Json::array();
    for (const Memory &memory : all)
        out["memory"].push_back(memory_json(memory));
    return out;
}

void print_answer(const char *indent, int capability, const rpm_device_answer &answer)
{
    printf("%s%s: %s%s%s\n", indent,
           rpm_device_capability_name(static_cast<rpm_device_capability>(capability)),
           answer.answer == RPM_YES  ? "yes"
           : answer.answer == RPM_NO ? "no"
                                     : "unknown",
           answer.why[0] != '\0' ? ": " : "", answer.why);
}

void print_port(const rpm_device_port &port)
{
    printf("  port %" PRIu32 ": %s, %s, mtu %" PRIu32 ", addresses", port.number, port.state,
           port.link, port.mtu);
    for (uint32_t i = 0; i < port.addresses_n && i < RPM_DEVICE_ADDRESSES; i++)
        printf(" %s", port.address[i]);
    printf("%s\n", port.addresses_n == 0                     ? " none"
                   : port.addresses_n > RPM_DEVICE_ADDRESSES ? " and more"
                                                             : "");
}

void print_memory(const Memory &memory)
{
    const char *medium = rpm_medium_name(static_cast<rpm_medium>(memory.device->medium));

    if (!memory.error.empty())
        return;
    if (memory.path.empty())
        printf("  anonymous memory\n");
    else
        printf("  %s: %s, %" PRIu64 " bytes\n", memory.path.c_str(), medium,
               memory.device->memory_bytes);
    for (int i = RPM_DEVICE_MEMORY_READ; i < RPM_DEVICE_CAPABILITIES; i++)
        print_answer("    ", i, memory.device->can[i]);
}

void print_device(const Device &all)
{
    const rpm_device &device = *all[0].device;

    printf("%s\n", device.name);
    printf("  driver %s%s, firmware %s, node %s\n", *device.driver ? device.driver : "unknown",
           device.software != 0
               ? " (software: this machine's CPU writes for it, through its caches)"
               : "",
           *device.firmware ? device.firmware : "unknown",
           device.node < 0 ? "unknown" : std::to_string(device.node).c_str());
    for (uint32_t i = 0; i < device.ports_n && i < RPM_DEVICE_PORTS; i++)
        print_port(device.port[i]);
    if (device.ports_n > RPM_DEVICE_PORTS)
        printf("  %" PRIu32 " more ports\n", device.ports_n - RPM_DEVICE_PORTS);
    printf("  at most %" PRIu32 " queue pairs, %" PRIu32 " requests in one, %" PRIu32
           " completions in a queue, %" PRIu32 " regions of %" PRIu64 " bytes, %" PRIu32
           " READs at once\n  %" PRIu32 " bytes copied into a request\n",
           device.queue_pairs_max, device.requests_max, device.completions_max, device.regions_max,
           device.region_max_bytes, device.reads_max, device.inline_bytes);
    for (int i = 0; i < RPM_DEVICE_MEMORY_READ; i++)
        print_answer("  ", i, device.can[i]);
    for (const Memory &memory : all)
        print_memory(memory);
}

/* Probe all devices. Returns those that could be probed; @none: why there is none. */
std::vector<Device> probe_all(const std::vector<std::string> &paths, std::string *none,
                              bool *failed)
{
    std::vector<Device> devices;

    for (uint32_t index = 0;; index++) {
        Device device;
        int err;

        device.push_back(probe_memory(index, "", &err));
        if (err == RPM_E_RANGE)
            return devices;
        if (err == RPM_E_NOCAP) {
            *none = rpm_last_error();
            return devices;
        }
        if (err != 0) {
            *failed = true;
            fprintf(stderr, "rpm-probe: %s\n", device[0].error.c_str());
            continue;
        }
        for (const std::string &path : paths)
            device.push_back(probe_memory(index, path, &err));
        devices.push_back(std::move(device));
    }
}

/* Without a device, report only the medium of @path. */
bool print_medium(const std::string &path, bool as_json)
{
    rpm_facts facts = rpm_facts_init();
    int err = rpm_probe(path.c_str(), &facts);

    if (err != 0)
        fprintf(stderr, "rpm-probe: %s: %s\n", path.c_str(), error_text(err).c_str());
    else if (!as_json)
        printf("%s: %s; there is no device to try it with (rpm-probe %s prints its facts)\n",
               path.c_str(), rpm_medium_name(static_cast<rpm_medium>(facts.medium)), path.c_str());
    return err == 0;
}

} // namespace

int probe_devices(const std::vector<std::string> &paths, bool as_json)
{
    std::string none;
    bool failed = false;
    std::vector<Device> devices = probe_all(paths, &none, &failed);

    for (const Device &device : devices)
        for (const Memory &memory : device)
            if (!memory.error.empty()) {
                failed = true;
                fprintf(stderr, "rpm-probe: %s with %s: %s\n", device[0].device->name,
                        memory.path.c_str(), memory.error.c_str());
            }
    if (!none.empty() && !as_json)
        printf("%s\n", none.c_str());
    if (!none.empty())
        for (const std::string &path : paths)
            failed = !print_medium(path, as_json) || failed;
    if (as_json) {
        Json out = { { "devices", Json::array() }, { "none", or_null(none.c_str()) } };

        for (const Device &device : devices)
            out["devices"].push_back(device_json(device));
        printf("%s\n", out.dump(2).c_str());
        return failed ? cli::kFailed : cli::kDone;
    }
    for (const Device &device : devices)
        print_device(device);
    return failed ? cli::kFailed : cli::kDone;
}
