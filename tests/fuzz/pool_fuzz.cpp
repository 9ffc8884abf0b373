// SPDX-License-Identifier: BSD-3-Clause
// pool_fuzz.cpp: a whole pool whose bytes were changed: superblock, directory, heads, guards,
// frames. The server opens or refuses it; objects that it opens are listed, read, recovered and
// written through the public API, in the device model. For any change nothing crashes, every loop
// ends, every record is within its log, and an acknowledged record is there after a power cut.
//
// Input: one byte says which checksums to repair afterwards; then edits, see Edits.
#include "fuzz.h"

extern "C" {
#include "base/bytes.h"
#include "transport/sim/sim.h"
#include "wire/frame.h"
#include "wire/head.h"
#include "wire/start.h"
#include "wire/super.h"
}

#include <librpm.h>
#include <librpm/sim.h>
#include <string>
#include <vector>

static const uint64_t POOL_BYTES = 96 * 1024;
static const uint64_t DIR_OFFSET = RPMI_DIR_OFFSET;
static const uint64_t DIRENTS = 4;             // of the directory, are edited
static const uint64_t LOG_A_OFFSET = 9 * 4096; // the first object
static const uint64_t LOG_B_OFFSET = LOG_A_OFFSET + 2 * 4096;
static const uint64_t LOG_A_BYTES = 4096;
static const uint64_t LOG_B_BYTES = 3 * 4096;

static const char APPENDED[] = "appended";

using Image = std::vector<unsigned char>;

enum Repair { kSuper = 1, kDirents = 2, kHeads = 4, kFrames = 8 };

static void append(rpm_log *log, size_t len)
{
    std::string data(len, 'x');

    FUZZ_CHECK(rpm_log_append(log, data.data(), len, nullptr) == 0);
}

// Small buffers, because they are allocated for each input.
static rpm_log_opts log_opts(uint32_t flags)
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = flags;
    opts.inflight_max = 8;
    opts.staging_bytes = 64 << 10;
    return opts;
}

static rpm_log *log_for_writing(rpm_conn *conn, const char *name, uint64_t capacity)
{
    rpm_log_opts opts = log_opts(RPM_LOG_WRITE | RPM_LOG_CREATE);
    rpm_log *log = nullptr;

    opts.capacity_bytes = capacity;
    FUZZ_CHECK(rpm_log_open(conn, name, &opts, &log) == 0);
    return log;
}

static void fill(rpm_conn *conn)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;

    // More than a lap, and two epochs.
    for (size_t len : { 300, 40 }) {
        rpm_log *log = log_for_writing(conn, "a", LOG_A_BYTES);
        struct rpm_log_info info = rpm_log_info_init();

        for (int i = 0; i < 6; i++)
            append(log, len + 64 * static_cast<size_t>(i));
        FUZZ_CHECK(rpm_log_info(log, &info) == 0);
        if (len == 300)
            FUZZ_CHECK(rpm_log_trim(log, info.tail_lsn) == 0);
        rpm_log_close(&log);
    }
    rpm_log *log = log_for_writing(conn, "b", LOG_B_BYTES);
    for (size_t len : { 5000, 1, 100 })
        append(log, len);
    rpm_log_close(&log);
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 1000;
    FUZZ_CHECK(rpm_region_open(conn, "r", &opts, &region) == 0);
    FUZZ_CHECK(rpm_region_write(region, 0, "region", 6) == 0);
    rpm_region_close(&region);
}

static rpm_sim *world()
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;

    opts.pool_bytes = POOL_BYTES;
    opts.preset = "adr-noddio";
    FUZZ_CHECK(rpm_sim_open(&opts, &sim) == 0);
    return sim;
}

// A pool as a server leaves it.
static Image sound_pool()
{
    rpm_sim *sim = world();
    rpm_conn *conn = nullptr;

    FUZZ_CHECK(rpm_sim_connect(sim, 0, nullptr, &conn) == 0);
    fill(conn);
    rpm_conn_close(&conn);
    rpm_sim_power_cut(sim, 0, RPM_CUT_NONE);
    const unsigned char *pool = sim->world->machine[0].media.pool;
    Image image(pool, pool + POOL_BYTES);
    rpm_sim_close(&sim);
    return image;
}

// Changes some bytes, more often in places with a meaning.
class Edits
{
  public:
    Edits(const uint8_t *data, size_t size, Image *image) : input_{ data, size }, image_(image) {}

    void apply()
    {
        unsigned repair = byte();

        while (input_.left > 0)
            edit();
        if ((repair & kSuper) != 0)
            rpmi_store64(at(2040), rpmi_sum(at(8), 2032));
        for (uint64_t i = 0; (repair & kDirents) != 0 && i < DIRENTS; i++)
            rpmi_store64(at(DIR_OFFSET + i * 256 + 248),
                         rpmi_sum(at(DIR_OFFSET + i * 256 + 8), 232));
        for (uint64_t slot :
             { LOG_A_OFFSET, LOG_A_OFFSET + 256, LOG_A_OFFSET + 512, LOG_A_OFFSET + 768,
               LOG_B_OFFSET, LOG_B_OFFSET + 256, LOG_B_OFFSET + 512, LOG_B_OFFSET + 768 })
            if ((repair & kHeads) != 0)
                rpmi_store64(at(slot + 120), rpmi_sum(at(slot), 120));
        for (uint64_t frame : frames_)
            if ((repair & kFrames) != 0)
                repair_frame(frame);
    }

  private:
    uint8_t byte()
    {
        return input_.byte();
    }
    unsigned char *at(uint64_t offset)
    {
        return image_->data() + offset;
    }

    uint64_t place(uint8_t where)
    {
        uint64_t x = byte();

        switch (where % 8) {
        case 0:
            return x < 224 ? x % 64 : RPMI_START_AT + x % 2 * RPMI_START_STRIDE + x / 2 % 8;
        case 1:
            return DIR_OFFSET + where / 8 % DIRENTS * 256 + x;
        case 2:
            return LOG_A_OFFSET + where / 8 % 4 * 256 + x % 128;
        case 3:
            return LOG_B_OFFSET + where / 8 % 4 * 256 + x % 128;
        case 4:
            return LOG_A_OFFSET + 4096 + (x * 64 + where / 8) % LOG_A_BYTES;
        case 5:
            return LOG_B_OFFSET + 4096 + (x * 64 + where / 8) % LOG_B_BYTES;
        case 6:
            return (where / 128 == 0 ? LOG_A_OFFSET : LOG_B_OFFSET) + 1024 + x % 16 * 8;
        default:
            return (x << 8 | byte()) * 2 % POOL_BYTES;
        }
    }

    void edit()
    {
        uint8_t where = byte();
        uint64_t offset = place(where);
        uint8_t what = byte();
        uint64_t n = 1 + what % 8;

        if (where % 8 == 4 || where % 8 == 5)
            frames_.push_back(offset & ~uint64_t{ 63 });
        if (what < 64) { // from the input
            for (uint64_t i = 0; i < n && offset + i < POOL_BYTES; i++)
                *at(offset + i) = byte();
        } else if (what < 128) { // a number near the old one
            offset = (offset & ~uint64_t{ 7 }) % (POOL_BYTES - 8);
            rpmi_store64(at(offset), rpmi_load64(at(offset)) + byte() * 64u - 4096u);
        } else if (what < 192) { // a copy of other bytes
            uint64_t from = (static_cast<uint64_t>(byte()) << 8 | byte()) * 64 % POOL_BYTES;
            uint64_t len = 64u * n;

            for (uint64_t i = 0; i < len && offset + i < POOL_BYTES && from + i < POOL_BYTES; i++)
                *at(offset + i) = *at(from + i);
        } else { // inverts all bits
            for (uint64_t i = 0; i < n && offset + i < POOL_BYTES; i++)
                *at(offset + i) = what < 224 ? 0 : 0xff;
        }
    }

    // Writes a frame of the log whose ring this is, with any header.
    void repair_frame(uint64_t offset)
    {
        bool a = offset < LOG_B_OFFSET;
        uint64_t end = a ? LOG_B_OFFSET : LOG_B_OFFSET + 4096 + LOG_B_BYTES;
        uint64_t id = rpmi_load64(at(DIR_OFFSET + (a ? 0 : 256) + 32));
        uint64_t lsn = rpmi_load64(at(offset));
        rpmi_frame frame;

        if (lsn % 64 == 0 &&
            rpmi_frame_get(at(offset), lsn, end - offset, &frame) == RPMI_FRAME_VALID)
            rpmi_store64(at(offset + 16), rpmi_frame_sum(&frame, id, at(offset + 24)));
    }

    FuzzBytes input_;
    Image *image_;
    std::vector<uint64_t> frames_; // edited
};

// Reads every record. Whether "appended" is there, at this place.
static bool read_log(rpm_log *log, uint64_t capacity, uint64_t lsn)
{
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint64_t next = 0;
    bool found = false;
    unsigned sum = 0;
    rpm_reader_opts opts = rpm_reader_opts_init();

    opts.buffer_bytes = 16 << 10;
    int err = rpm_reader_open(log, &opts, &reader);

    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return false;
    while ((err = rpm_reader_next(reader, &record)) == 1) {
        FUZZ_CHECK(record.lsn >= next && record.next_lsn > record.lsn);
        FUZZ_CHECK(record.len >= 1 && record.len < capacity);
        FUZZ_CHECK(record.next_lsn - record.lsn <= capacity);
        for (size_t i = 0; i < record.len; i++)
            sum += static_cast<const unsigned char *>(record.data)[i];
        next = record.next_lsn;
        found = found || (record.lsn == lsn && record.len == sizeof(APPENDED) &&
                          memcmp(record.data, APPENDED, sizeof(APPENDED)) == 0);
    }
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT || err == RPM_E_RANGE || err == RPM_E_TRIMMED);
    FUZZ_CHECK(sum != 1); // a use of every byte
    rpm_reader_close(&reader);
    return found;
}

// Recovers the log and appends. The LSN of the acknowledged record; false: none was acknowledged.
static bool write_log(rpm_conn *conn, const char *name, uint64_t *lsn)
{
    rpm_log_opts opts = log_opts(RPM_LOG_WRITE);
    struct rpm_log_info info = rpm_log_info_init();
    rpm_log *log = nullptr;

    int err = rpm_log_open(conn, name, &opts, &log);
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return false;
    FUZZ_CHECK(rpm_log_info(log, &info) == 0);
    FUZZ_CHECK(info.tail_lsn - info.head_lsn <= info.capacity_bytes);
    err = rpm_log_append(log, APPENDED, sizeof(APPENDED), lsn);
    if (err == RPM_E_FULL) {
        FUZZ_CHECK(rpm_log_trim(log, info.tail_lsn) == 0);
        err = rpm_log_append(log, APPENDED, sizeof(APPENDED), lsn);
    }
    FUZZ_CHECK(err == 0 && *lsn >= info.tail_lsn);
    rpm_log_close(&log);
    return true;
}

// Computes a lost head from the ring. False: the repair refuses, because numbers are used up.
static bool repair_log(rpm_conn *conn, const rpm_entry &entry)
{
    rpm_repair_opts opts = rpm_repair_opts_init();
    rpm_repair_report report = rpm_repair_report_init();

    opts.flags = RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD;
    int err = rpm_log_repair(conn, entry.name, &opts, &report);
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return false;
    FUZZ_CHECK(report.tail_lsn - report.head_lsn <= entry.bytes);
    FUZZ_CHECK(report.done == (report.state != RPM_REPAIR_SOUND));
    FUZZ_CHECK(rpm_log_repair(conn, entry.name, nullptr, &report) == 0);
    FUZZ_CHECK(report.state == RPM_REPAIR_SOUND);
    return true;
}

static void use_log(rpm_conn *conn, const rpm_entry &entry, bool *wrote, uint64_t *lsn)
{
    rpm_log_opts opts = log_opts(0);
    struct rpm_log_info info = rpm_log_info_init();
    rpm_log *log = nullptr;
    int err = rpm_log_open(conn, entry.name, &opts, &log);

    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err == 0) {
        err = rpm_log_info(log, &info);
        FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
        FUZZ_CHECK(err != 0 || info.tail_lsn - info.head_lsn <= info.capacity_bytes);
        (void)read_log(log, entry.bytes, 0);
        rpm_log_close(&log);
    }
    *wrote = write_log(conn, entry.name, lsn) ||
             (repair_log(conn, entry) && write_log(conn, entry.name, lsn));
}

static void use_region(rpm_conn *conn, const rpm_entry &entry)
{
    rpm_region *region = nullptr;
    uint64_t word = 0;

    FUZZ_CHECK(rpm_region_open(conn, entry.name, nullptr, &region) == 0);
    FUZZ_CHECK(rpm_region_bytes(region) == entry.bytes && entry.bytes > 0);
    for (uint64_t at : { uint64_t{ 0 }, entry.bytes - 1 }) {
        FUZZ_CHECK(rpm_region_read(region, at, &word, 1) == 0);
        FUZZ_CHECK(rpm_region_write(region, at, &word, 1) == 0);
    }
    rpm_region_close(&region);
}

// The record that write_log() acknowledged is durable. Other records may follow it: if a head and
// the claim word beside it are damaged, nothing identifies the frames of an older writer.
static void find_again(rpm_conn *conn, const std::string &name, uint64_t lsn)
{
    rpm_log_opts opts = log_opts(0);
    rpm_log *log = nullptr;

    FUZZ_CHECK(rpm_log_open(conn, name.c_str(), &opts, &log) == 0);
    FUZZ_CHECK(read_log(log, POOL_BYTES, lsn));
    rpm_log_close(&log);
}

static void use(rpm_sim *sim)
{
    std::vector<std::pair<std::string, uint64_t>> written;
    rpm_conn *conn = nullptr;
    rpm_entry entry = rpm_entry_init();
    int err;

    FUZZ_CHECK(rpm_sim_connect(sim, 0, nullptr, &conn) == 0);
    for (uint32_t i = 0; (err = rpm_conn_next(conn, &entry)) == 1; i++) {
        bool wrote = false;
        uint64_t lsn = 0;

        FUZZ_CHECK(i < rpmi_super_entries(POOL_BYTES) && entry.bytes <= POOL_BYTES);
        FUZZ_CHECK(strnlen(entry.name, sizeof(entry.name)) < sizeof(entry.name));
        if (entry.kind == RPM_KIND_REGION)
            use_region(conn, entry);
        else
            use_log(conn, entry, &wrote, &lsn);
        if (wrote)
            written.emplace_back(entry.name, lsn);
    }
    FUZZ_CHECK(err == 0);
    rpm_conn_close(&conn);
    rpm_sim_power_cut(sim, 0, RPM_CUT_DROP);
    FUZZ_CHECK(rpm_sim_restart(sim, 0) == 0);
    FUZZ_CHECK(rpm_sim_connect(sim, 0, nullptr, &conn) == 0);
    for (const auto &one : written)
        find_again(conn, one.first, one.second);
    rpm_conn_close(&conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Image sound = sound_pool();
    Image image = sound;
    rpm_sim *sim = world();
    int err;

    Edits(data, size, &image).apply();
    rpm_sim_power_cut(sim, 0, RPM_CUT_DROP);
    memcpy(sim->world->machine[0].media.pool, image.data(), image.size());
    err = rpm_sim_restart(sim, 0);
    FUZZ_CHECK(err == 0 || err == RPM_E_FOREIGN || err == RPM_E_VERSION || err == RPM_E_CORRUPT ||
               err == RPM_E_NOENT || err == RPM_E_LIMIT);
    if (err == 0)
        use(sim);
    rpm_sim_close(&sim);
    return 0;
}
