// SPDX-License-Identifier: BSD-3-Clause
// The texts about devices; tests/live/devices_test uses real ones.
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "base/err.h"
#include "transport/verbs/device.h"
}

#include <cstring>
#include <fstream>
#include <memory>
#include <sys/stat.h>

namespace
{

// A fake sysfs tree, and the text about it.
struct Kernel {
    support::Dir dir;
    std::string class_ = dir / "class";
    std::string verbs = dir / "verbs";
    std::string dev = dir / "dev";

    void make(const std::string &path) const
    {
        REQUIRE(mkdir(path.c_str(), 0700) == 0);
    }
    std::string why() const
    {
        rpmi_device_roots roots = { class_.c_str(), verbs.c_str(), dev.c_str() };

        CHECK(rpmi_device_none(&roots) == RPM_E_NOCAP);
        return rpm_last_error();
    }
};

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

struct Judged {
    std::unique_ptr<rpm_device> device = std::make_unique<rpm_device>(rpm_device_init());

    Judged(uint64_t flags, ibv_atomic_cap atomics, const rpmi_nic &nic)
    {
        ibv_device_attr_ex attr = {};

        attr.device_cap_flags_ex = flags;
        attr.orig_attr.atomic_cap = atomics;
        attr.orig_attr.max_qp = 7;
        rpmi_device_judge(&attr, &nic, device.get());
    }
    bool says(rpm_device_capability capability, rpm_answer answer, const std::string &why) const
    {
        INFO(rpm_device_capability_name(capability) << ": " << device->can[capability].why);
        CHECK(device->can[capability].answer == static_cast<uint32_t>(answer));
        return has(device->can[capability].why, why) &&
               (why.empty() == (*device->can[capability].why == '\0'));
    }
};

} // namespace

TEST_CASE("device: without a device, the text says what is missing, step by step", "[verbs]")
{
    Kernel kernel;

    CHECK(has(kernel.why(), "kernel has no RDMA"));
    kernel.make(kernel.class_);
    CHECK(has(kernel.why(), "rdma link add"));
    kernel.make(kernel.class_ + "/mlx5_0");
    CHECK(has(kernel.why(), "load ib_uverbs"));
    kernel.make(kernel.verbs);
    std::ofstream(kernel.verbs + "/abi_version") << 6;
    CHECK(has(kernel.why(), "load ib_uverbs"));
    kernel.make(kernel.verbs + "/uverbs0");
    CHECK(has(kernel.why(), "no file in " + kernel.dev));
    kernel.make(kernel.dev);
    std::ofstream(kernel.dev + "/uverbs0") << "";
    CHECK(has(kernel.why(), "ibverbs-providers"));
}

TEST_CASE("device: every missing capability has a reason, and no other has one", "[verbs]")
{
    rpmi_nic able = {};

    able.flush = able.atomic_write = able.on_demand = able.window = true;
    for (const Judged &judged :
         { Judged(0, IBV_ATOMIC_NONE, rpmi_nic{}), Judged(0, IBV_ATOMIC_GLOB, able) })
        for (int capability = RPM_DEVICE_FLUSH; capability <= RPM_DEVICE_ON_DEMAND; capability++) {
            const rpm_device_answer &answer = judged.device->can[capability];

            INFO(rpm_device_capability_name(static_cast<rpm_device_capability>(capability))
                 << ": " << answer.why);
            REQUIRE(answer.answer != RPM_UNKNOWN);
            CHECK((answer.answer == RPM_YES) == (answer.why[0] == '\0'));
        }
}

TEST_CASE("device: a FLUSH that only the headers lack differs from one that the device lacks",
          "[verbs]")
{
    rpmi_nic nic = {};

    CHECK(Judged(1ull << 39, IBV_ATOMIC_HCA, nic)
              .says(RPM_DEVICE_FLUSH, RPM_NO, "headers of rdma-core"));
    CHECK(Judged(0, IBV_ATOMIC_HCA, nic).says(RPM_DEVICE_FLUSH, RPM_NO, "READ with DDIO off"));
    nic.flush = true;
    CHECK(Judged(1ull << 39, IBV_ATOMIC_HCA, nic).says(RPM_DEVICE_FLUSH, RPM_YES, ""));
    CHECK(Judged(1ull << 40, IBV_ATOMIC_HCA, nic)
              .says(RPM_DEVICE_ATOMIC_WRITE, RPM_NO, "headers of rdma-core"));
}

TEST_CASE("device: atomics among its own requests are not global", "[verbs]")
{
    Judged own(0, IBV_ATOMIC_HCA, rpmi_nic{});
    Judged global(0, IBV_ATOMIC_GLOB, rpmi_nic{});
    Judged none(0, IBV_ATOMIC_NONE, rpmi_nic{});

    CHECK(own.says(RPM_DEVICE_ATOMICS, RPM_YES, ""));
    CHECK(own.says(RPM_DEVICE_ATOMICS_GLOBAL, RPM_NO, "only among requests through this device"));
    CHECK(global.says(RPM_DEVICE_ATOMICS_GLOBAL, RPM_YES, ""));
    CHECK(none.says(RPM_DEVICE_ATOMICS, RPM_NO, "has none"));
    CHECK(none.says(RPM_DEVICE_ATOMICS_GLOBAL, RPM_NO, "has none"));
    CHECK(own.device->queue_pairs_max == 7);
}

TEST_CASE("device: a probe names a device or says why there is none", "[verbs]")
{
    auto device = std::make_unique<rpm_device>(rpm_device_init());
    int err = rpm_device_probe(0, nullptr, device.get());

    if (err == 0) {
        CHECK(device->name[0] != '\0');
        CHECK(rpm_device_probe(1000, nullptr, device.get()) == RPM_E_RANGE);
    } else {
        CHECK(err == RPM_E_NOCAP);
        CHECK(has(rpm_last_error(), "RDMA"));
        CHECK(device->name[0] == '\0');
    }
    device->size = 0;
    CHECK(rpm_device_probe(0, nullptr, device.get()) == RPM_E_INVAL);
    CHECK(rpm_device_probe(0, nullptr, nullptr) == RPM_E_INVAL);
}

TEST_CASE("device: every capability has a name", "[verbs]")
{
    for (int capability = 0; capability < RPM_DEVICE_CAPABILITIES; capability++)
        CHECK(std::string(rpm_device_capability_name(
                  static_cast<rpm_device_capability>(capability))) != "unknown");
    CHECK(std::string(rpm_device_capability_name(RPM_DEVICE_CAPABILITIES)) == "unknown");
}
