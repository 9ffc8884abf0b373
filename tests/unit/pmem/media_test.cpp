// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "base/mem.h"
#include "pmem/cpu_copy.h"
#include "pmem/media.h"
#include "wire/super.h"
}
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace
{

struct Media {
    rpmi_media media = {};

    ~Media()
    {
        rpmi_media_close(&media);
    }
    int open(const std::string &path, uint64_t bytes, bool create = true, uint32_t domain = 0)
    {
        rpmi_media_opts opts = {};

        opts.path = path.empty() ? nullptr : path.c_str();
        opts.bytes = bytes;
        opts.create = create;
        opts.domain = domain;
        return rpmi_media_open(&opts, &media);
    }
};

bool exists(const std::string &path)
{
    return access(path.c_str(), F_OK) == 0;
}

uint64_t size_of(const std::string &path)
{
    struct stat st;

    return stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : UINT64_MAX;
}

void fill(const std::string &path, const std::string &text)
{
    std::ofstream(path, std::ios::binary) << text;
}

void format(rpmi_media *media)
{
    static unsigned char block[RPMI_SUPER_BYTES];
    rpmi_super super = {};

    super.version = RPMI_FORMAT_VERSION;
    super.pool_id = 1;
    super.pool_bytes = media->mem.bytes;
    super.dir_offset = 4096;
    super.data_offset = 65536;
    super.entries = rpmi_super_entries(media->mem.bytes);
    uint64_t magic = rpmi_super_put(block, &super);
    memcpy(block, &magic, sizeof(magic));
    memcpy(media->base, block, sizeof(block));
}

const uint64_t kBytes = 1 << 20;

} // namespace

TEST_CASE("media: anonymous memory is not durable, unless a domain is declared for it", "[unit]")
{
    Media plain;
    Media declared;

    REQUIRE(plain.open("", kBytes) == 0);
    CHECK(plain.media.facts.medium == RPM_MEDIUM_DRAM);
    CHECK(plain.media.facts.domain == RPM_DOMAIN_NONE);
    CHECK(plain.media.facts.domain_declared == 0);
    REQUIRE(declared.open("", kBytes, true, RPM_DOMAIN_EADR) == 0);
    CHECK(declared.media.facts.domain == RPM_DOMAIN_EADR);
    CHECK(declared.media.facts.domain_declared == 1);
}

TEST_CASE("media: a CPU that cannot flush its caches opens no pool in the domain ADR", "[unit]")
{
    support::Dir dir;
    Media media;
    const struct rpmi_cpu before = rpmi_cpu;

    rpmi_cpu.can_flush = false;
    int anonymous = media.open("", kBytes, true, RPM_DOMAIN_ADR);
    int mapped = media.open(dir / "p", kBytes, true, RPM_DOMAIN_ADR);
    std::string why = rpm_last_error();
    rpmi_media_close(&media.media);
    int eadr = media.open(dir / "p", kBytes, true, RPM_DOMAIN_EADR); // needs no more than a fence
    rpmi_cpu = before;
    CHECK(anonymous == RPM_E_INVAL);
    CHECK(mapped == RPM_E_INVAL);
    CHECK(why.find("dc cvap") != std::string::npos);
    CHECK(why.find("declare msync") != std::string::npos);
    CHECK(eadr == 0);
}

TEST_CASE("media: a client cannot shrink lent anonymous memory", "[unit]")
{
    Media media;

    REQUIRE(media.open("", kBytes) == 0);
    CHECK(ftruncate(media.media.fd, 4096) != 0);
    CHECK(errno == EPERM);
}

TEST_CASE("media: more anonymous memory than there is gets FULL", "[unit]")
{
    Media media;

    CHECK(media.open("", 1ull << 50) == RPM_E_NOSPACE);
}

TEST_CASE("media: huge pages or a clear error", "[unit]")
{
    rpmi_media_opts opts = {};
    Media media;

    opts.bytes = 4 << 20;
    opts.huge = true;
    int err = rpmi_media_open(&opts, &media.media);
    if (err == 0) {
        CHECK(media.media.facts.medium == RPM_MEDIUM_HUGE);
        media.media.base[(4 << 20) - 1] = 1;
    } else {
        CHECK(err == RPM_E_NOSPACE);
        CHECK(std::string(rpm_last_error()).find("nr_hugepages") != std::string::npos);
    }
}

TEST_CASE("media: a file in memory is created, kept, and opened again", "[unit]")
{
    support::Dir dir;
    {
        Media media;

        REQUIRE(media.open(dir / "p", kBytes) == 0);
        CHECK(media.media.created);
        CHECK(media.media.facts.medium == RPM_MEDIUM_TMPFS);
        CHECK(media.media.facts.domain == RPM_DOMAIN_NONE);
        CHECK(media.media.mem.bytes == kBytes);
        format(&media.media);
        media.media.base[kBytes - 1] = 7;
    }
    Media again;

    REQUIRE(again.open(dir / "p", 0, false) == 0);
    CHECK_FALSE(again.media.created);
    CHECK(again.media.base[kBytes - 1] == 7);
}

TEST_CASE("media: a file on a disk takes msync and no other domain", "[unit]")
{
    support::Dir dir(support::Dir::kDisk);
    struct statfs fs;
    Media media;

    REQUIRE(statfs((dir / ".").c_str(), &fs) == 0);
    if (fs.f_type == 0x01021994) // TMPFS_MAGIC
        SKIP("/var/tmp lies in memory here");
    CHECK(media.open(dir / "p", kBytes, true, RPM_DOMAIN_ADR) == RPM_E_INVAL);
    CHECK_FALSE(exists(dir / "p"));
    REQUIRE(media.open(dir / "p", kBytes) == 0);
    CHECK(media.media.facts.domain == RPM_DOMAIN_MSYNC);
    CHECK(media.media.facts.granularity_bytes == 4096);
    CHECK_FALSE(rpmi_media_by_cpu(&media.media));
    media.media.base[5000] = 1;
    CHECK(rpmi_mem_persist(&media.media.mem, 5000, 1) == 0);
}

TEST_CASE("media: room is allocated at once, not when it is written", "[unit]")
{
    support::Dir dir;
    struct stat st;
    Media media;

    REQUIRE(media.open(dir / "p", kBytes) == 0);
    REQUIRE(stat((dir / "p").c_str(), &st) == 0);
    CHECK(static_cast<uint64_t>(st.st_blocks) * 512 >= kBytes);
}

TEST_CASE("media: no room in the file system gets FULL and leaves nothing behind", "[unit]")
{
    support::Dir dir;
    struct statfs fs;
    Media media;

    REQUIRE(statfs((dir / ".").c_str(), &fs) == 0);
    uint64_t room = static_cast<uint64_t>(fs.f_blocks) * static_cast<uint64_t>(fs.f_bsize);
    if (room == 0)
        SKIP("this tmpfs has no limit");
    CHECK(media.open(dir / "p", (room + (1ull << 30)) & ~4095ull) == RPM_E_NOSPACE);
    CHECK_FALSE(exists(dir / "p"));
}

TEST_CASE("media: a second opener is refused while the first lives", "[unit]")
{
    support::Dir dir;
    Media first;
    Media second;

    REQUIRE(first.open(dir / "p", kBytes) == 0);
    CHECK(second.open(dir / "p", kBytes) == RPM_E_OWNED);
    CHECK(exists(dir / "p"));
    rpmi_media_close(&first.media);
    CHECK(second.open(dir / "p", kBytes) == 0);
}

TEST_CASE("media: a descriptor that was lent does not keep the lock", "[unit]")
{
    support::Dir dir;
    Media first;
    Media second;

    REQUIRE(first.open(dir / "p", kBytes) == 0);
    int lent = dup(first.media.fd);
    rpmi_media_close(&first.media);
    CHECK(second.open(dir / "p", kBytes) == 0);
    close(lent);
}

TEST_CASE("media: a file that is not a pool is refused and unchanged", "[unit]")
{
    support::Dir dir;
    Media media;
    std::string text(8192, 'x');

    fill(dir / "text", text);
    CHECK(media.open(dir / "text", kBytes) == RPM_E_FOREIGN);
    CHECK(size_of(dir / "text") == 8192);

    std::string image(65536, '\0'); // a disk image: its first blocks are empty
    image[40000] = 1;
    fill(dir / "image", image);
    CHECK(media.open(dir / "image", kBytes) == RPM_E_FOREIGN);

    fill(dir / "short", "RPM");
    CHECK(media.open(dir / "short", kBytes) == RPM_E_FOREIGN);
    CHECK(size_of(dir / "short") == 3);
}

TEST_CASE("media: a pool whose superblock is lost is formatted only if it never had an object",
          "[unit]")
{
    support::Dir dir;
    {
        Media media;

        REQUIRE(media.open(dir / "p", kBytes) == 0);
        format(&media.media);
    }
    uint64_t lost = GENERATE(64u, 4096u); // bytes from the start that read as zeros
    bool used = GENERATE(false, true);    // an object was there, and was removed
    int fd = open((dir / "p").c_str(), O_RDWR);
    std::string zeros(lost, '\0');

    REQUIRE(fd >= 0);
    REQUIRE(pwrite(fd, zeros.data(), lost, 0) == static_cast<ssize_t>(lost));
    REQUIRE((!used || pwrite(fd, "name", 4, 4096 + 5 * 256 + 40) == 4));
    close(fd);
    Media media;
    CAPTURE(lost, used);
    CHECK(media.open(dir / "p", kBytes) == (used ? RPM_E_FOREIGN : 0));
}

TEST_CASE("media: a pool cut short is refused", "[unit]")
{
    support::Dir dir;
    {
        Media media;

        REQUIRE(media.open(dir / "p", kBytes) == 0);
        format(&media.media);
    }
    uint64_t left = GENERATE(uint64_t{ 1 }, uint64_t{ 4095 }, uint64_t{ 4096 }, kBytes / 2,
                             kBytes - 4096, kBytes - 1);
    Media media;

    REQUIRE(truncate((dir / "p").c_str(), static_cast<off_t>(left)) == 0);
    int err = media.open(dir / "p", kBytes);
    CAPTURE(left, rpm_last_error());
    CHECK((err == RPM_E_CORRUPT || err == RPM_E_FOREIGN));
    CHECK(size_of(dir / "p") == left);
}

TEST_CASE("media: a missing or empty file needs create", "[unit]")
{
    support::Dir dir;
    Media media;

    CHECK(media.open(dir / "p", kBytes, false) == RPM_E_NOENT);
    fill(dir / "empty", "");
    CHECK(media.open(dir / "empty", kBytes, false) == RPM_E_NOENT);
    REQUIRE(media.open(dir / "empty", kBytes) == 0);
    rpmi_media_undo(&media.media);
    CHECK(size_of(dir / "empty") == 0);
}

TEST_CASE("media: invalid sizes are refused before a file is created", "[unit]")
{
    support::Dir dir;
    Media media;
    uint64_t bytes = GENERATE(uint64_t{ 0 }, uint64_t{ 4096 }, uint64_t{ (1 << 20) + 1 },
                              UINT64_MAX, UINT64_MAX - 4095);

    CHECK(media.open(dir / "p", bytes) == RPM_E_INVAL);
    CHECK_FALSE(exists(dir / "p"));
}

TEST_CASE("media: a read-only file, a directory and a foreign device are refused", "[unit]")
{
    support::Dir dir;
    Media media;

    fill(dir / "p", std::string(kBytes, '\0'));
    REQUIRE(chmod((dir / "p").c_str(), 0444) == 0);
    CHECK(media.open(dir / "p", kBytes) == RPM_E_DENIED);
    CHECK(media.open(dir / ".", kBytes) == RPM_E_INVAL);
    CHECK(media.open("/dev/null", kBytes) == RPM_E_INVAL);
    CHECK(media.open(dir / "no/such", kBytes) == RPM_E_NOENT);
}

TEST_CASE("media: every failed allocation is an error, and leaves nothing behind", "[unit]")
{
    support::Dir dir;

    for (uint64_t nth = 1; nth < 10; nth++) {
        Media media;

        rpmi_mem_fail_at(nth);
        int err = media.open(dir / "p", kBytes);
        rpmi_mem_fail_at(0);
        if (err == 0)
            return;
        CHECK(err == RPM_E_NOMEM);
        CHECK_FALSE(exists(dir / "p"));
    }
    FAIL("it allocates without end");
}

TEST_CASE("media: load and store of a word, compare and swap", "[unit]")
{
    Media media;
    uint64_t word = 41;

    REQUIRE(media.open("", kBytes) == 0);
    rpmi_mem_store(&media.media.mem, 64, &word, 8);
    CHECK(media.media.mem.ops->cas(&media.media.mem, 64, 40, 50) == 41);
    CHECK(media.media.mem.ops->cas(&media.media.mem, 64, 41, 50) == 41);
    rpmi_mem_load(&media.media.mem, 64, &word, 8);
    CHECK(word == 50);
}

TEST_CASE("media: after one failed persist every later one fails", "[unit]")
{
    Media media;

    REQUIRE(media.open("", kBytes, true, RPM_DOMAIN_MSYNC) == 0);
    CHECK(rpmi_mem_persist(&media.media.mem, 0, 64) == 0);
    REQUIRE(munmap(media.media.base, 4096) == 0); // msync of a hole fails
    CHECK(rpmi_mem_persist(&media.media.mem, 0, 64) == RPM_E_IO);
    CHECK(rpmi_mem_persist(&media.media.mem, 8192, 64) == RPM_E_IO);
}
