// SPDX-License-Identifier: BSD-3-Clause
// saved.h: the rows of a volume, so that a test can put them back.
#ifndef TESTS_UNIT_FS_CHECK_SAVED_H
#define TESTS_UNIT_FS_CHECK_SAVED_H

#include "unit/fs/check/filled.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

// The rows of a table, by key.
template <class Row> class SavedTable
{
  public:
    SavedTable(const TestVolume &volume, dtx::Table<Row> table) : table_(table), rows_(now(volume))
    {
    }
    // Forgets rows that have not changed since: other clients may change them from here on.
    void keep_changed(const TestVolume &volume)
    {
        std::map<uint64_t, Row> found = now(volume);

        only_.emplace();
        for (const auto &[key, row] : found)
            if (rows_.count(key) == 0 || std::memcmp(&rows_.at(key), &row, sizeof(row)) != 0)
                only_->insert(key);
        for (const auto &[key, row] : rows_)
            if (found.count(key) == 0)
                only_->insert(key);
        std::erase_if(rows_, [this](const auto &each) { return only_->count(each.first) == 0; });
    }
    bool is_unchanged(const TestVolume &volume) const
    {
        std::map<uint64_t, Row> found = now(volume);

        return found.size() == rows_.size() &&
               std::all_of(rows_.begin(), rows_.end(), [&](const auto &each) {
                   auto same = found.find(each.first);

                   return same != found.end() &&
                          std::memcmp(&same->second, &each.second, sizeof(Row)) == 0;
               });
    }
    // Makes the rows as they were.
    void put_back(TestVolume &volume) const
    {
        std::map<uint64_t, Row> found = now(volume);

        if (only_)
            std::erase_if(found,
                          [this](const auto &each) { return only_->count(each.first) == 0; });
        volume.as_root([&](rfs::Call &call) -> dtx::Task<> {
            for (const auto &[key, row] : found)
                if (rows_.count(key) == 0)
                    co_await erase_row(call, table_, key);
            for (const auto &[key, row] : rows_)
                if (found.count(key) == 0)
                    (void)co_await call.txn.insert(table_, key, row);
                else if (std::memcmp(&found.at(key), &row, sizeof(row)) != 0)
                    (void)co_await call.txn.write(table_, key, row);
        });
    }

  private:
    std::map<uint64_t, Row> now(const TestVolume &volume) const
    {
        std::map<uint64_t, Row> rows;

        volume.open->cluster->each_row(table_.number, 0,
                                       [&](uint64_t key, const void *bytes, size_t) {
                                           std::memcpy(&rows[key], bytes, sizeof(Row));
                                       });
        return rows;
    }

    dtx::Table<Row> table_;
    std::map<uint64_t, Row> rows_;
    std::optional<std::set<uint64_t>> only_; // keys of rows to put back
};

// All tables, so that one volume serves for all damage.
class SavedVolume
{
  public:
    explicit SavedVolume(const TestVolume &volume) : SavedVolume(volume, volume.open->volume.tables)
    {
    }
    void keep_changed(const TestVolume &volume)
    {
        std::apply([&](auto &...tables) { (tables.keep_changed(volume), ...); }, tables_);
    }
    bool is_unchanged(const TestVolume &volume) const
    {
        return std::apply(
            [&](const auto &...tables) { return (tables.is_unchanged(volume) && ...); }, tables_);
    }
    void put_back(TestVolume &volume) const
    {
        std::apply([&](const auto &...tables) { (tables.put_back(volume), ...); }, tables_);
    }

  private:
    SavedVolume(const TestVolume &volume, const rfs::Tables &of)
        : tables_({ volume, of.volume }, { volume, of.mounts }, { volume, of.inodes },
                  { volume, of.names }, { volume, of.long_names }, { volume, of.maps },
                  { volume, of.blobs }, { volume, of.slabs }, { volume, of.orphans },
                  { volume, of.locks }, { volume, of.locked_files })
    {
    }

    std::tuple<SavedTable<rfs::VolumeRow>, SavedTable<rfs::MountsRow>, SavedTable<rfs::InodeRow>,
               SavedTable<rfs::NameRow>, SavedTable<rfs::LongNameRow>, SavedTable<rfs::MapRow>,
               SavedTable<rfs::BlobRow>, SavedTable<rfs::SlabRow>, SavedTable<rfs::OrphanRow>,
               SavedTable<rfs::LockRow>, SavedTable<rfs::LockedFileRow>>
        tables_;
};

#endif
