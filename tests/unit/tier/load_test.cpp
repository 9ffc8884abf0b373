// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

extern "C" {
#include "base/bytes.h"
#include "base/sum.h"
}

using namespace loop;

namespace
{

// A log whose records are in segments.
struct Stored : Stage {
    std::vector<Record> wrote;

    explicit Stored(const char *codec = nullptr) : Stage(1u << 20, false, codec)
    {
        Archiver archiver(tier, log);

        wrote = fill(log, 2 * SPAN);
        archiver.all();
    }
    // What reading the log from its segments ends with.
    int reading(size_t *records = nullptr)
    {
        int error;
        std::vector<Record> found = stored_records(tier, id(), &error);

        REQUIRE(found.size() <= wrote.size());
        CHECK(found ==
              std::vector<Record>(wrote.begin(), wrote.begin() + static_cast<long>(found.size())));
        if (records != nullptr)
            *records = found.size();
        return error;
    }
};

} // namespace

TEST_CASE("load: a byte that is damaged anywhere is found, and no wrong record is read", "[unit]")
{
    std::string codec = GENERATE(from_range(codecs()));
    CAPTURE(codec);
    Stored stored(codec.c_str());
    std::vector<std::string> all = files(stored.dir / "");
    std::string whole = bytes_of(all[1]);
    std::set<int> errors;

    for (size_t at = 0; at < whole.size(); at += at < 300 ? 1 : 997) {
        std::string damaged = whole;

        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        write_bytes(all[1], damaged);
        int error = stored.reading();
        CHECK(error < 0);
        errors.insert(error);
        std::string text = rpm_last_error();
        CHECK(text.find(all[1].substr((stored.dir / "").size())) != std::string::npos);
        CHECK((text.find("from a backup") != std::string::npos) == (error != RPM_E_VERSION));
    }
    CHECK(errors == std::set<int>{ RPM_E_CORRUPT, RPM_E_FOREIGN, RPM_E_VERSION });
    write_bytes(all[1], whole);
    CHECK(stored.reading() == 0);
}

TEST_CASE("load: a file that was cut off, made longer, or renamed is refused", "[unit]")
{
    std::string codec = GENERATE(from_range(codecs()));
    CAPTURE(codec);
    Stored stored(codec.c_str());
    std::vector<std::string> all = files(stored.dir / "");
    std::string whole = bytes_of(all[1]);

    for (size_t bytes : { size_t(0), size_t(1), size_t(255), size_t(256), whole.size() - 1 }) {
        write_bytes(all[1], whole.substr(0, bytes));
        CHECK(stored.reading() == RPM_E_CORRUPT);
    }
    write_bytes(all[1], whole + "x");
    CHECK(stored.reading() == RPM_E_CORRUPT);
    write_bytes(all[1], bytes_of(all[0]));
    CHECK(stored.reading() == RPM_E_CORRUPT);
    std::filesystem::remove(all[1]);
    size_t records;
    CHECK(stored.reading(&records) == 0); // the segments have a gap there
    CHECK(records < stored.wrote.size());
    std::filesystem::create_directory(all[1]);
    CHECK(stored.reading() == RPM_E_CORRUPT);
}

TEST_CASE("load: a header that asks for too much memory is refused before it gets any", "[unit]")
{
    std::string codec = GENERATE(from_range(codecs()));
    CAPTURE(codec);
    Stored stored(codec.c_str());
    std::vector<std::string> all = files(stored.dir / "");
    std::string bomb = bytes_of(all[0]);
    rpmi_segment segment;

    // Its checksums are right, as in a segment that was made on purpose.
    REQUIRE(rpmi_segment_get(bomb.data(), &segment) == 0);
    rpmi_store64(&bomb[64], 1ull << 40);
    rpmi_store64(&bomb[248], rpmi_sum(bomb.data(), 248));
    write_bytes(all[0], bomb);
    CHECK(stored.reading() == RPM_E_CORRUPT);
    rpmi_store64(&bomb[64], RPMI_SEGMENT_RAW_MAX);
    rpmi_store64(&bomb[248], rpmi_sum(bomb.data(), 248));
    write_bytes(all[0], bomb);
    CHECK(stored.reading() == RPM_E_CORRUPT);
}

// A segment's header with another codec, and its checksum made right.
static void set_codec(const std::string &file, uint32_t codec)
{
    std::string bytes = bytes_of(file);

    rpmi_store32(&bytes[60], codec);
    rpmi_store64(&bytes[248], rpmi_sum(bytes.data(), 248));
    write_bytes(file, bytes);
}

TEST_CASE("load: a segment by a codec that librpm does not know, or lacks, is named", "[unit]")
{
    Stored stored(codecs().back().c_str());
    std::string file = files(stored.dir / "").front();

    set_codec(file, RPMI_SEGMENT_ZSTD + 1);
    CHECK(stored.reading() == RPM_E_VERSION);
    CHECK(std::string(rpm_last_error())
              .find("codec 3, this library knows 0 to 2: read it with the "
                    "librpm that wrote it") != std::string::npos);
    if (RPMI_WITH_LZ4 || RPMI_WITH_ZSTD)
        return;
    std::string bytes = bytes_of(file);
    rpmi_store64(&bytes[64], rpmi_load64(&bytes[64]) + 8); // so that it is shorter than its frames
    write_bytes(file, bytes);
    for (uint32_t codec : { RPMI_SEGMENT_LZ4, RPMI_SEGMENT_ZSTD }) {
        set_codec(file, codec);
        CHECK(stored.reading() == RPM_E_NOCAP);
        CHECK(std::string(rpm_last_error()).find(codec == RPMI_SEGMENT_LZ4 ? "lz4" : "zstd") !=
              std::string::npos);
    }
}

TEST_CASE("load: frames that cannot be compressed are read as they are", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    std::string data = payload(1, 3000); // random bytes
    std::vector<Record> wrote = { { data, append(log, data), 1 } };
    rpmi_segment segment;
    int error;

    archiver.all();
    REQUIRE(rpmi_segment_get(bytes_of(files(dir / "").front()).data(), &segment) == 0);
    CHECK(segment.codec == RPMI_SEGMENT_PLAIN);
    CHECK(stored_records(tier, stage.id(), &error) == wrote);
}
