/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directories.cc: follow what the kernel does with its entries of directories.
 *
 * Invariant
 *   a place has one number, that of the entry whose place it is
 *
 * Tests: tests/unit/fs/mount/directories_test.cpp, tests/fs/two_mounts
 */
#include "mount/directories.h"

#include "core/base/assert.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rfs
{

static uint32_t inode_of(Directories::Number number)
{
    return static_cast<uint32_t>(number);
}

/* Never 0. If two places had the same hash, a call could fail with ESTALE. */
uint64_t Directories::hash_of(Place place)
{
    uint64_t hash = std::hash<std::string_view>{}(place.name);

    hash = (hash ^ place.directory * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 31;
    return std::max<uint64_t>(hash, 1);
}

Directories::Entry *Directories::find(Number number)
{
    auto found = by_ino_.find(inode_of(number));

    if (found == by_ino_.end())
        return nullptr;
    for (Entry &entry : found->second)
        if (entry.number == number)
            return &entry;
    return nullptr;
}

void Directories::prove(Entry &entry)
{
    entry.unproven = false;
    entry.instead_of = 0;
}

void Directories::put(Entry &entry, uint64_t place)
{
    auto left = at_.find(entry.place);

    if (left != at_.end() && left->second == entry.number)
        at_.erase(left);
    if (place != 0) {
        auto [there, is_new] = at_.try_emplace(place, entry.number);

        if (!is_new)
            if (Entry *other = find(std::exchange(there->second, entry.number)))
                other->place = 0;
    }
    entry.place = place;
}

/* The kernel could not move its entry, and has it where it was. */
Directories::Number Directories::further(Entries &entries, size_t at, pid_t thread, uint64_t now_ns)
{
    uint64_t upper = kFirstFurther;
    Entry next{};

    for (const Entry &entry : entries)
        upper = std::max(upper, (entry.number >> 32) + 1);
    next.number = upper << 32 | inode_of(entries[at].number);
    next.unproven = true;
    next.thread = thread;
    next.told_ns = now_ns;
    next.instead_of = entries[at].number;

    uint64_t place = entries[at].place;

    prove(entries[at]);
    put(entries[at], entries[at].before);
    entries.push_back(next);
    put(entries.back(), place);
    return next.number;
}

Directories::Number Directories::looked_up(uint32_t ino, Place place, pid_t thread, uint64_t now_ns)
{
    uint64_t hash = hash_of(place);
    auto found = by_ino_.find(ino);

    if (found == by_ino_.end())
        return ino;

    Entries &entries = found->second;

    for (size_t i = 0; i < entries.size(); i++) {
        Entry &entry = entries[i];

        if (entry.place != hash)
            continue;
        if (entry.unproven && entry.instead_of == 0 && entry.thread == thread &&
            now_ns - entry.told_ns < kAgainNs)
            return further(entries, i, thread, now_ns);
        entry.thread = thread;
        entry.told_ns = now_ns;
        return entry.number;
    }

    Entry &moves = entries.back();

    prove(moves);
    moves.before = moves.place;
    put(moves, hash);
    moves.unproven = true;
    moves.thread = thread;
    moves.told_ns = now_ns;
    return moves.number;
}

Directories::Number Directories::listed(uint32_t ino, Place place) const
{
    auto found = by_ino_.find(ino);
    uint64_t hash = hash_of(place);

    if (found == by_ino_.end())
        return ino;
    for (const Entry &entry : found->second)
        if (entry.place == hash)
            return entry.number;
    return found->second.back().number;
}

bool Directories::known(Number number, Place place)
{
    Entries &entries = by_ino_[inode_of(number)];
    bool is_new = entries.empty();

    if (is_new) {
        entries.push_back({ number });
        put(entries.back(), hash_of(place));
    }

    Entry *entry = find(number);

    RFS_ASSERT(entry != nullptr);
    entry->times++;
    return is_new;
}

/* The kernel has its entry where it was told, and so does not take a further number. */
void Directories::refused(const Entry &further)
{
    Entry *first = find(further.instead_of);

    if (first == nullptr)
        return;
    prove(*first);
    put(*first, further.place);
}

bool Directories::forgotten(Number number, uint64_t times)
{
    auto found = by_ino_.find(inode_of(number));
    Entry *entry = find(number);

    if (entry == nullptr)
        return false;
    RFS_ASSERT(entry->times >= times);
    entry->times -= times;
    if (entry->times != 0)
        return false;

    Entry gone = *entry;

    put(*entry, 0);
    std::erase_if(found->second, [number](const Entry &each) { return each.number == number; });
    if (gone.instead_of != 0)
        refused(gone);
    if (!found->second.empty())
        return false;
    by_ino_.erase(found);
    return true;
}

void Directories::used(Number number, pid_t thread)
{
    Entry *entry = find(number);

    if (entry != nullptr && entry->thread == thread)
        prove(*entry);
}

void Directories::moved(Place from, Place to)
{
    auto found = at_.find(hash_of(from));

    if (found == at_.end())
        return; /* a file that is no directory */

    Entry *entry = find(found->second);

    RFS_ASSERT(entry != nullptr);
    prove(*entry);
    put(*entry, hash_of(to));
}

void Directories::exchanged(Place one, Place other)
{
    Entry *entries[2] = { nullptr, nullptr };
    const Place places[2] = { one, other };

    for (size_t i = 0; i < 2; i++) {
        auto found = at_.find(hash_of(places[i]));

        if (found != at_.end())
            entries[i] = find(found->second);
    }
    for (Entry *entry : entries)
        if (entry != nullptr)
            put(*entry, 0);
    for (size_t i = 0; i < 2; i++)
        if (entries[i] != nullptr) {
            prove(*entries[i]);
            put(*entries[i], hash_of(places[1 - i]));
        }
}

} // namespace rfs
