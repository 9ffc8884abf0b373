// SPDX-License-Identifier: BSD-3-Clause
// The search for the devices behind a file, in a fake sysfs. tests/tools/media_test searches real
// ones.
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "pmem/backing.h"
}
#include <filesystem>
#include <fstream>
#include <sys/sysmacros.h>

namespace
{

namespace fs = std::filesystem;

class Sysfs
{
  public:
    // A device: its folder below devices/, and its number.
    void add(const std::string &path, const std::string &number)
    {
        fs::path folder = dir_ / ("devices/" + path);

        fs::create_directories(folder);
        std::ofstream(folder / "dev") << number << "\n";
        fs::create_directories(dir_ / "block");
        fs::create_symlink(folder, dir_ / ("block/" + number));
    }
    void partition(const std::string &path, const std::string &number)
    {
        add(path, number);
        std::ofstream(dir_ / ("devices/" + path + "/partition")) << "1\n";
    }
    void slave(const std::string &path, const std::string &of)
    {
        fs::path slaves = dir_ / ("devices/" + path + "/slaves");

        fs::create_directories(slaves);
        fs::create_symlink(dir_ / ("devices/" + of), slaves / fs::path(of).filename());
    }
    // The medium, and in why_ the reason where it is unknown.
    rpm_medium walk(unsigned first, unsigned second)
    {
        rpmi_backing backing;

        rpmi_backing_of_device((dir_ / "block").c_str(), makedev(first, second), &backing);
        why_ = backing.why;
        CHECK((backing.medium == RPM_MEDIUM_UNKNOWN) == !why_.empty());
        return backing.medium;
    }
    std::string why_;

  private:
    support::Dir dir_;
};

} // namespace

TEST_CASE("backing: a block device with a bus is a disk, and so is its partition", "[unit]")
{
    Sysfs sysfs;

    sysfs.add("pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0");
    sysfs.partition("pci0000:00/0000:00:02.0/virtio1/block/vda/vda1", "254:1");
    sysfs.add("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0");
    sysfs.add("LNXSYSTM:00/ndbus0/region0/namespace0.0/block/pmem0", "259:1");
    for (auto number : { std::pair(254, 0), { 254, 1 }, { 259, 0 }, { 259, 1 } })
        CHECK(sysfs.walk(number.first, number.second) == RPM_MEDIUM_FILE);
}

TEST_CASE("backing: memory behind a block device is memory", "[unit]")
{
    Sysfs sysfs;

    sysfs.add("virtual/block/zram0", "252:0");
    sysfs.add("virtual/block/ram3", "1:3");
    sysfs.add("virtual/block/nullb0", "250:0");
    sysfs.add("pseudo_0/adapter0/host0/target0:0:0/0:0:0:0/block/sda", "8:0");
    for (auto number : { std::pair(252, 0), { 1, 3 }, { 250, 0 }, { 8, 0 } })
        CHECK(sysfs.walk(number.first, number.second) == RPM_MEDIUM_TMPFS);
}

TEST_CASE("backing: device mapper and md have the kind of all devices below them", "[unit]")
{
    Sysfs sysfs;

    sysfs.add("pci0000:00/ata1/block/sda", "8:0");
    sysfs.partition("pci0000:00/ata1/block/sda/sda1", "8:1");
    sysfs.add("pci0000:00/ata2/block/sdb", "8:16");
    sysfs.add("virtual/block/zram0", "252:0");
    sysfs.add("virtual/block/nbd0", "43:0");
    sysfs.add("virtual/block/md0", "9:0");
    sysfs.slave("virtual/block/md0", "pci0000:00/ata1/block/sda/sda1");
    sysfs.slave("virtual/block/md0", "pci0000:00/ata2/block/sdb");
    sysfs.add("virtual/block/dm-0", "253:0");
    sysfs.slave("virtual/block/dm-0", "virtual/block/md0");
    CHECK(sysfs.walk(253, 0) == RPM_MEDIUM_FILE);

    sysfs.add("virtual/block/dm-1", "253:1"); // a cache in memory before a disk
    sysfs.slave("virtual/block/dm-1", "virtual/block/dm-0");
    sysfs.slave("virtual/block/dm-1", "virtual/block/zram0");
    CHECK(sysfs.walk(253, 1) == RPM_MEDIUM_TMPFS);

    sysfs.add("virtual/block/dm-2", "253:2");
    sysfs.slave("virtual/block/dm-2", "virtual/block/dm-1");
    sysfs.slave("virtual/block/dm-2", "virtual/block/nbd0");
    CHECK(sysfs.walk(253, 2) == RPM_MEDIUM_UNKNOWN); // whatever other devices there are
    CHECK(sysfs.why_.find("nbd0") != std::string::npos);

    sysfs.add("virtual/block/dm-3", "253:3"); // dm-zero, dm-error
    CHECK(sysfs.walk(253, 3) == RPM_MEDIUM_UNKNOWN);
    CHECK(sysfs.why_.find("dm-3") != std::string::npos);
}

TEST_CASE("backing: an unrecognised device is unknown", "[unit]")
{
    Sysfs sysfs;
    unsigned second = 10;

    for (std::string name : { "nbd0", "ublkb0", "bcache0", "drbd0", "zd0", "loop7777" }) {
        sysfs.add("virtual/block/" + name, "240:" + std::to_string(++second));
        CHECK(sysfs.walk(240, second) == RPM_MEDIUM_UNKNOWN);
        CHECK(sysfs.why_.find(name) != std::string::npos);
    }
    CHECK(sysfs.walk(240, 1) == RPM_MEDIUM_UNKNOWN);
    CHECK(sysfs.why_.find("240:1") != std::string::npos);
}

TEST_CASE("backing: the search ends after the maximum of devices, and at a cycle", "[unit]")
{
    Sysfs sysfs;
    std::string top = "virtual/block/md0";

    sysfs.add(top, "9:0");
    for (int i = 0; i < 40; i++) {
        std::string disk = "pci0000:00/ata" + std::to_string(i) + "/block/sd" + std::to_string(i);

        sysfs.add(disk, "8:" + std::to_string(i));
        sysfs.slave(top, disk);
    }
    CHECK(sysfs.walk(9, 0) == RPM_MEDIUM_UNKNOWN);
    CHECK(sysfs.why_.find("more than 32") != std::string::npos);

    sysfs.add("virtual/block/dm-0", "253:0");
    sysfs.add("virtual/block/dm-1", "253:1");
    sysfs.slave("virtual/block/dm-0", "virtual/block/dm-1");
    sysfs.slave("virtual/block/dm-1", "virtual/block/dm-0");
    CHECK(sysfs.walk(253, 0) != RPM_MEDIUM_UNKNOWN); // the kernel has no such cycle
}
