// SPDX-License-Identifier: BSD-3-Clause
// pool_world.cpp: see pool_world.h.
#include "damage/pool_world.h"

extern "C" {
#include "wire/frame.h"
#include "wire/super.h"
}

namespace damage
{

using namespace loop;

namespace
{

class Builder
{
  public:
    World build();

  private:
    LogModel &model(const std::string &name);
    void open(const std::string &name, uint64_t capacity = 8192);
    void close();
    void add(size_t len);
    void add_group(uint32_t n, size_t len);
    void trim(size_t keep);
    void note(const std::string &data, uint64_t lsn, uint64_t acked);
    void region(const char *name, bool remove);
    void snapshot()
    {
        world_.past.push_back(server_.pool.bytes);
    }

    Server server_{ POOL_BYTES };
    Conn conn_{ server_, queued() };
    World world_;
    Log log_;
    LogModel *now_ = nullptr;
    uint64_t seed_ = 1;
};

LogModel &Builder::model(const std::string &name)
{
    for (LogModel &log : world_.logs)
        if (log.name == name)
            return log;
    world_.logs.push_back({});
    world_.logs.back().name = name;
    return world_.logs.back();
}

void Builder::open(const std::string &name, uint64_t capacity)
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = WRITER;
    opts.capacity_bytes = capacity;
    REQUIRE(log_.open(conn_, name.c_str(), opts) == 0);
    now_ = &model(name);
    now_->capacity = capacity;
    now_->base_lsn = info(log_).tail_lsn;
}

void Builder::close()
{
    log_.close();
    now_ = nullptr;
}

// The LSN that a frame at @lsn proves, if all before @acked was acknowledged (FORMAT.md, section
// 5).
uint64_t proven_by(uint64_t lsn, uint64_t acked)
{
    uint64_t lag = 64;

    while (lag < lsn - acked)
        lag *= 4;
    return lsn == acked ? lsn : lag <= lsn ? lsn - lag : 0;
}

void Builder::note(const std::string &data, uint64_t lsn, uint64_t acked)
{
    uint64_t end = lsn + rpmi_frame_stride(static_cast<uint32_t>(data.size()), 0);

    now_->kept.push_back({ data, lsn, end, proven_by(lsn, acked) });
}

void Builder::add(size_t len)
{
    std::string data = payload(seed_++, len);
    uint64_t tail = info(log_).tail_lsn;
    uint64_t lsn;
    int err;

    while ((err = rpm_log_append(log_, data.data(), data.size(), &lsn)) == RPM_E_FULL)
        trim(now_->kept.size() / 2);
    REQUIRE(err == 0);
    note(data, lsn, tail);
}

// All outstanding together.
void Builder::add_group(uint32_t n, size_t len)
{
    uint64_t tail = info(log_).tail_lsn;

    for (uint32_t i = 0; i < n; i++) {
        std::string data = payload(seed_++, len + i);
        uint64_t lsn;

        REQUIRE(append_async(log_, data, i, RPM_MORE, &lsn) == 0);
        note(data, lsn, tail);
    }
    REQUIRE(rpm_log_persist(log_) == 0);
    (void)reap(log_, n);
}

void Builder::trim(size_t keep)
{
    std::vector<Kept> &kept = now_->kept;

    REQUIRE(keep < kept.size());
    REQUIRE(rpm_log_trim(log_, kept[kept.size() - keep - 1].end_lsn) == 0);
    kept.erase(kept.begin(), kept.end() - static_cast<ptrdiff_t>(keep));
}

void Builder::region(const char *name, bool remove)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    std::string data = payload(seed_++, 5000);

    if (remove) {
        REQUIRE(rpm_conn_remove(conn_, name) == 0);
        return;
    }
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = data.size();
    REQUIRE(rpm_region_open(conn_, name, &opts, &region) == 0);
    REQUIRE(rpm_region_write(region, 0, data.data(), data.size()) == 0);
    rpm_region_close(&region);
    world_.region = { name, 0, data };
}

World Builder::build()
{
    snapshot();
    region("gone", false);
    open("plain", 16384);
    for (size_t len : { 1u, 40u, 41u, 300u, 2000u, 64u, 104u, 4500u })
        add(len);
    close();
    open("trimmed");
    for (size_t i = 0; i < 12; i++)
        add(30 + 37 * i);
    close();
    snapshot();
    region("gone", true);
    region("kept", false);
    open("gone.log", 4096);
    add(100);
    close();
    world_.logs.pop_back();
    for (unsigned turn = 0; turn < 3; turn++) {
        open("wrapped");
        for (size_t i = 0; i < 20 + turn; i++)
            add(100 + 61 * i % 700);
        close();
        open("epochs");
        add(50);
        add(500);
        close();
        snapshot();
    }
    REQUIRE(rpm_conn_remove(conn_, "gone.log") == 0);
    open("trimmed");
    trim(5);
    add(200);
    trim(4);
    close();
    snapshot();
    open("grouped", 12288);
    for (unsigned turn = 0; turn < 6; turn++)
        add_group(5, 70 * turn + 10);
    close();
    open("epochs"); // sealed by a writer that appended nothing
    close();
    open("fresh", 4096);
    close();
    conn_.close();
    world_.pool = server_.pool.bytes;
    return world_;
}

} // namespace

World make_world()
{
    World world = Builder().build();
    Image &pool = world.pool;

    for (uint32_t i = 0; i < rpmi_super_entries(POOL_BYTES); i++) {
        rpmi_dirent entry = {};

        if (rpmi_dirent_get(&pool[RPMI_DIR_OFFSET + i * RPMI_DIRENT_BYTES], POOL_BYTES, &entry) !=
            RPMI_DIRENT_USED)
            continue;
        for (LogModel &log : world.logs)
            log.at = log.name == entry.name ? entry.offset : log.at;
        if (world.region.name == entry.name)
            world.region.at = entry.offset;
    }
    return world;
}

} // namespace damage
