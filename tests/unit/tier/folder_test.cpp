// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

#include <sched.h>
#include <sys/mount.h>

struct Folder {
    support::Dir dir;
    rpmi_store *store = nullptr;

    Folder()
    {
        REQUIRE(rpmi_folder_open((dir / "").c_str(), &store) == 0);
    }
    ~Folder()
    {
        store->ops->close(store);
    }
    int put(const rpmi_segment_name &name, const std::string &bytes)
    {
        return store->ops->put(store, &name, bytes.data(), bytes.size());
    }
    uint32_t count(uint64_t log_id)
    {
        uint32_t n = 0;

        REQUIRE(store->ops->segments(
                    store, log_id, 0,
                    [](void *context, const rpmi_segment_name *) {
                        ++*static_cast<uint32_t *>(context);
                        return 0;
                    },
                    &n) == 0);
        return n;
    }
};

TEST_CASE("folder: a segment is put, found, read and removed", "[unit]")
{
    Folder folder;
    rpmi_segment_name name = { 0xabc, 64, 640 };
    std::string bytes(10000, 'b');
    char piece[5];
    uint64_t length;

    CHECK(folder.count(0xabc) == 0);
    CHECK(folder.store->ops->bytes(folder.store, &name, &length) == RPM_E_NOENT);
    REQUIRE(folder.put(name, bytes) == 0);
    CHECK(files(folder.dir / "") ==
          std::vector<std::string>{ folder.dir / ""
                                                 "0000000000000abc/0000000000000040-"
                                                 "0000000000000280.seg" });
    CHECK(folder.count(0xabc) == 1);
    CHECK(folder.count(0xabd) == 0);
    REQUIRE(folder.store->ops->bytes(folder.store, &name, &length) == 0);
    CHECK(length == 10000);
    REQUIRE(folder.store->ops->get(folder.store, &name, 9995, piece, 5) == 0);
    CHECK(std::string(piece, 5) == "bbbbb");
    CHECK(folder.store->ops->get(folder.store, &name, 9996, piece, 5) == RPM_E_CORRUPT);
    CHECK(folder.store->ops->settle(folder.store, 0xabc) == 0);
    CHECK(folder.put(name, "other") == RPM_E_EXISTS); // by another archiver
    REQUIRE(folder.store->ops->bytes(folder.store, &name, &length) == 0);
    CHECK(length == 10000);
    CHECK(files(folder.dir / "").size() == 1);
    REQUIRE(folder.store->ops->remove(folder.store, &name) == 0);
    CHECK(folder.store->ops->remove(folder.store, &name) == RPM_E_NOENT);
    CHECK(folder.count(0xabc) == 0);
}

TEST_CASE("folder: other files are no segments", "[unit]")
{
    Folder folder;

    REQUIRE(folder.put({ 0xabc, 64, 640 }, "x") == 0);
    for (const char *name :
         { "0000000000000040-0000000000000280.seg.77.tmp", "0000000000000040-0000000000000280",
           "0000000000000280-0000000000000040.seg", "0000000000000040-00000000000002G0.seg",
           "0000000000000040-0000000000000ABC.seg", "x" })
        write_bytes(folder.dir / "0000000000000abc/" + std::string(name), "x");
    write_bytes(folder.dir / "0000000000000abd", "");
    CHECK(folder.count(0xabc) == 1);
}

TEST_CASE("folder: a file system that is full leaves no segment", "[unit]")
{
    Folder folder;

    // Mounts of a namespace of its own end with this process.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", (folder.dir / "").c_str(), "tmpfs", 0, "size=64k") != 0)
        SKIP("needs the right to mount");
    rpmi_store *store = nullptr;
    REQUIRE(rpmi_folder_open((folder.dir / "").c_str(), &store) == 0);
    rpmi_segment_name name = { 0xabc, 64, 640 };
    std::string bytes(100000, 'b');

    CHECK(store->ops->put(store, &name, bytes.data(), bytes.size()) == RPM_E_NOSPACE);
    CHECK(std::string(rpm_last_error()).find("No space left") != std::string::npos);
    CHECK(files(folder.dir / "").empty());
    REQUIRE(mount("none", (folder.dir / "").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) ==
            0);
    CHECK(store->ops->put(store, &name, "x", 1) == RPM_E_DENIED);
    store->ops->close(store);
    REQUIRE(umount((folder.dir / "").c_str()) == 0);
}

TEST_CASE("folder: a folder that is not there is named", "[unit]")
{
    support::Dir dir;
    rpm_tier *tier = nullptr;

    CHECK(rpm_tier_open((dir / "none").c_str(), nullptr, &tier) == RPM_E_NOENT);
    CHECK(std::string(rpm_last_error()).find(dir / "none") != std::string::npos);
    write_bytes(dir / "file", "");
    CHECK(rpm_tier_open((dir / "file").c_str(), nullptr, &tier) == RPM_E_NOENT);
    CHECK(tier == nullptr);
}
