// SPDX-License-Identifier: BSD-3-Clause
#include "support/region_oracle.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace cuts
{

static const uint64_t WORD = 8;
static const uint64_t LINE = 64;
static const uint64_t PACKET = 1024; // a write is cut into packets of this size on the wire

RegionOracle::RegionOracle(std::string given, uint64_t length, uint32_t slot)
    : name(std::move(given)), bytes(length), slot_bytes(slot)
{
    reset();
}

RegionOracle::~RegionOracle() = default;

// As created: zeros.
void RegionOracle::reset()
{
    words_.assign((bytes + WORD - 1) / WORD, Word{ { { 0, 0, false } } });
    for (Write &write : writes_)
        write.open = false;
}

std::string RegionOracle::bytes_of(uint32_t write, const Piece &piece) const
{
    std::string data(piece.len, '\0');

    for (size_t i = 0; i < piece.len; i++) {
        uint64_t mix = (piece.offset + i) * 0x9e3779b97f4a7c15ull + write * 0xff51afd7ed558ccdull;

        mix ^= mix >> 29;
        data[i] = static_cast<char>((mix * 0xc4ceb9fe1a85ec53ull) >> 40 | 1);
    }
    return data;
}

// The end to which a write may have been padded with zeros, within a slot that its writer owns.
uint64_t RegionOracle::padded_end(const Piece &piece) const
{
    uint64_t full = (piece.len + LINE - 1) / LINE * LINE;

    if (slot_bytes == 0 || piece.offset % slot_bytes != 0 || full > slot_bytes ||
        piece.offset + full > bytes)
        return piece.offset + piece.len;
    return piece.offset + full;
}

void RegionOracle::add(uint32_t write, uint64_t index, uint64_t value, bool passing)
{
    words_[index].versions.push_back({ write, value, passing });
}

static uint64_t merge(uint64_t word, const std::string &data, const Piece &piece, uint64_t at,
                      uint64_t from, uint64_t to)
{
    unsigned char byte[WORD];

    memcpy(byte, &word, WORD);
    for (uint64_t i = 0; i < WORD; i++)
        if (at + i >= from && at + i < to)
            byte[i] = static_cast<unsigned char>(data[at + i - piece.offset]);
    memcpy(&word, byte, WORD);
    return word;
}

void RegionOracle::put(uint32_t write, const Piece &piece)
{
    std::string data = bytes_of(write, piece);
    uint64_t end = piece.offset + piece.len;

    for (uint64_t at = piece.offset / WORD * WORD; at < end; at += WORD) {
        uint64_t old = words_[at / WORD].versions.back().value;
        uint64_t lead = (PACKET - (at - piece.offset) % PACKET) % PACKET;

        // A packet ends within this word: its two parts arrive one after the other, in any order.
        if (at > piece.offset && lead > 0 && lead < WORD && at + lead < end) {
            add(write, at / WORD, merge(old, data, piece, at, piece.offset, at + lead), true);
            add(write, at / WORD, merge(old, data, piece, at, at + lead, end), true);
        }
        add(write, at / WORD, merge(old, data, piece, at, piece.offset, end));
    }
    data.resize(padded_end(piece) - piece.offset, '\0');
    for (uint64_t at = end / WORD * WORD; at < padded_end(piece); at += WORD)
        add(write, at / WORD,
            merge(words_[at / WORD].versions.back().value, data, piece, at, end,
                  padded_end(piece)));
}

uint32_t RegionOracle::submit(const std::vector<Piece> &pieces)
{
    uint32_t number = static_cast<uint32_t>(writes_.size() + 1);

    writes_.push_back({ pieces, true });
    for (const Piece &piece : pieces)
        put(number, piece);
    return number;
}

void RegionOracle::acked(uint32_t number)
{
    Write &write = writes_[number - 1];

    write.open = false;
    for (const Piece &piece : write.pieces) {
        for (uint64_t at = piece.offset / WORD; at * WORD < padded_end(piece); at++) {
            auto &versions = words_[at].versions;

            while (versions.front().write < number && versions.size() > 1)
                versions.pop_front();
            versions.erase(std::remove_if(versions.begin(), versions.end(),
                                          [number](const Version &version) {
                                              return version.passing && version.write == number;
                                          }),
                           versions.end());
        }
    }
}

void RegionOracle::refused(uint32_t number)
{
    writes_[number - 1].open = false;
    for (Word &word : words_)
        while (word.versions.size() > 1 && word.versions.back().write == number)
            word.versions.pop_back();
}

void RegionOracle::persisted()
{
    for (Word &word : words_)
        while (word.versions.size() > 1 && word.versions.front().write < word.versions.back().write)
            word.versions.pop_front();
    for (Write &write : writes_)
        write.open = false;
}

void RegionOracle::creating()
{
    existence_ = existence_ == Existence::yes ? Existence::yes : Existence::maybe;
}

void RegionOracle::created()
{
    existence_ = Existence::yes;
}

void RegionOracle::removing()
{
    existence_ = Existence::maybe;
}

void RegionOracle::removed()
{
    existence_ = Existence::no;
    reset();
}

// The newest version with this value, or nullptr.
const RegionOracle::Version *RegionOracle::match(uint64_t index, uint64_t value) const
{
    const auto &versions = words_[index].versions;

    for (auto version = versions.rbegin(); version != versions.rend(); ++version)
        if (version->value == value)
            return &*version;
    return nullptr;
}

static uint64_t word_of(const std::string &seen, uint64_t index)
{
    uint64_t value = 0;
    uint64_t at = index * WORD;

    memcpy(&value, seen.data() + at, std::min<uint64_t>(WORD, seen.size() - at));
    return value;
}

// A piece with RPM_PATCH_AFTER must not be there unless all pieces before it are.
void RegionOracle::check_order(const Write &write, uint32_t number, const std::string &seen) const
{
    bool all_new = true; // the pieces before the last AFTER
    bool group_new = true;

    for (const Piece &piece : write.pieces) {
        if (piece.after)
            all_new = all_new && group_new;
        for (uint64_t at = piece.offset / WORD; at * WORD < piece.offset + piece.len; at++) {
            const Version *version = match(at, word_of(seen, at));
            bool is_new = version != nullptr && version->write >= number;

            if (is_new && !all_new)
                violate("region %s: bytes at %" PRIu64 " of write %u are there without what they "
                        "vouch for",
                        name.c_str(), at * WORD, number);
            group_new = group_new && is_new;
        }
    }
}

void RegionOracle::compare(Run &run, const std::string &seen, bool settle)
{
    for (uint64_t i = 0; i < words_.size(); i++) {
        if (match(i, word_of(seen, i)) != nullptr)
            continue;
        violate("region %s: the word at %" PRIu64 " is %016" PRIx64
                ", which it never was; acknowledged %016" PRIx64 " of write %u, %zu later ones",
                name.c_str(), i * WORD, word_of(seen, i), words_[i].versions.front().value,
                words_[i].versions.front().write, words_[i].versions.size() - 1);
    }
    for (uint32_t number = 1; number <= writes_.size(); number++)
        if (writes_[number - 1].open && writes_[number - 1].pieces.size() > 1)
            check_order(writes_[number - 1], number, seen);
    run.say("region %s compared%s", name.c_str(), settle ? ", settled" : "");
    if (!settle)
        return;
    for (uint64_t i = 0; i < words_.size(); i++)
        words_[i].versions = { *match(i, word_of(seen, i)) };
    for (Write &write : writes_)
        write.open = false;
}

void RegionOracle::keep(const std::string &seen)
{
    for (uint64_t i = 0; i < words_.size(); i++)
        while (words_[i].versions.front().value != word_of(seen, i))
            words_[i].versions.pop_front();
}

void RegionOracle::check_existence(int err)
{
    if (err == RPM_E_NOENT && existence_ == Existence::yes)
        violate("region %s was created and is gone", name.c_str());
    if (err == 0 && existence_ == Existence::no)
        violate("region %s was removed and is back", name.c_str());
    if (err == 0)
        existence_ = Existence::yes;
    if (err == RPM_E_NOENT) {
        existence_ = Existence::no;
        reset();
    }
}

// Compares twice. Until the server has cleaned up after a dead client, writes that this client had
// sent may still arrive: bytes that were read and made durable may then change from old to new,
// never back.
void RegionOracle::look(Run &run, rpm_region *region)
{
    std::string seen(bytes, '\0');

    run.must(rpm_region_read(region, 0, &seen[0], bytes), "read the region");
    compare(run, seen, false);
    if (run.cleanup_pending()) {
        run.must(rpm_region_persist(region, 0, bytes), "persist what may still change");
        keep(seen);
        run.await_cleanup();
        run.must(rpm_region_read(region, 0, &seen[0], bytes), "read the region again");
        compare(run, seen, false);
    }
    run.must(rpm_region_persist(region, 0, bytes), "persist the region");
    compare(run, seen, true);
}

void RegionOracle::verify(Run &run)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;

    opts.level = run.setup.level;
    int err = rpm_region_open(run.client(CHECKER), name.c_str(), &opts, &region);
    if (err == RPM_E_NOENT || err == 0)
        check_existence(err);
    if (err == RPM_E_NOENT)
        return;
    run.must(err, "open the region");
    try {
        if (rpm_region_bytes(region) != bytes)
            violate("region %s has %" PRIu64 " bytes", name.c_str(), rpm_region_bytes(region));
        look(run, region);
    } catch (...) {
        rpm_region_close(&region);
        throw;
    }
    rpm_region_close(&region);
}

void RegionOracle::use_again(Run &run)
{
    user_ = std::make_unique<RegionUser>(run, CHECKER, *this);
    user_->write(run.chance.below(bytes / 2), 1 + run.chance.below(bytes / 2));
    user_->async(run.chance.below(bytes / 2), 1 + run.chance.below(bytes / 2));
}

void RegionOracle::close_handles()
{
    user_.reset();
}

RegionUser::RegionUser(Run &run, unsigned who, RegionOracle &oracle, uint32_t level)
    : run_(run), oracle_(oracle), level_(level != RPM_LEVEL_DEFAULT ? level : run.setup.level)
{
    rpm_region_opts opts = rpm_region_opts_init();

    opts.flags = RPM_REGION_CREATE;
    opts.level = level_;
    opts.bytes = oracle.bytes;
    opts.slot_bytes = oracle.slot_bytes;
    oracle.creating();
    run.must(rpm_region_open(run.client(who), oracle.name.c_str(), &opts, &region_), "open region");
    oracle.created();
    run.say("client %u uses region %s", who, oracle.name.c_str());
}

RegionUser::~RegionUser()
{
    rpm_region_close(&region_);
}

// Whether this handle's level is the one that the run checks, or above.
bool RegionUser::promises() const
{
    return level_ >= run_.setup.level;
}

void RegionUser::writev(const std::vector<Piece> &pieces)
{
    uint32_t number = oracle_.submit(pieces);
    std::vector<std::string> data;
    std::vector<rpm_patch> patches;

    for (const Piece &piece : pieces)
        data.push_back(oracle_.bytes_of(number, piece));
    for (size_t i = 0; i < pieces.size(); i++)
        patches.push_back({ pieces[i].offset, data[i].data(), pieces[i].len,
                            pieces[i].after ? uint32_t{ RPM_PATCH_AFTER } : 0 });
    run_.must(rpm_region_writev(region_, patches.data(), static_cast<uint32_t>(patches.size())),
              "write");
    run_.say("write %u of %zu pieces, the first at %" PRIu64, number, pieces.size(),
             pieces[0].offset);
    if (promises())
        oracle_.acked(number);
}

void RegionUser::write(uint64_t offset, size_t len)
{
    writev({ { offset, len, false } });
}

void RegionUser::async(uint64_t offset, size_t len)
{
    Piece piece = { offset, len, false };
    uint32_t number = oracle_.submit({ piece });
    std::string data = oracle_.bytes_of(number, piece);
    int err;

    while ((err = rpm_region_write_async(region_, offset, data.data(), len,
                                         reinterpret_cast<void *>(uintptr_t{ number }))) ==
           RPM_E_BUSY)
        poll(false);
    if (err != 0)
        oracle_.refused(number);
    run_.must(err, "write async");
    run_.say("write %u of %zu bytes at %" PRIu64 " submitted", number, len, offset);
    flying_.push_back(number);
}

void RegionUser::steps(const std::vector<Piece> &pieces, bool async)
{
    uint32_t number = oracle_.submit(pieces);
    uint32_t n = static_cast<uint32_t>(pieces.size());
    uint32_t done = 0;
    std::vector<std::string> data;
    std::vector<rpm_step> list;

    for (const Piece &piece : pieces)
        data.push_back(oracle_.bytes_of(number, piece));
    for (size_t i = 0; i < pieces.size(); i++) {
        rpm_step step = {};

        step.kind = RPM_STEP_WRITE;
        step.region = region_;
        step.offset = pieces[i].offset;
        step.data = data[i].data();
        step.len = pieces[i].len;
        list.push_back(step);
    }
    if (!async) {
        run_.must(rpm_steps_run(region_, list.data(), n, &done), "steps");
        if (done != n)
            violate("%u steps were carried out of %u", done, n);
        run_.say("write %u of %u steps, the first at %" PRIu64, number, n, pieces[0].offset);
        if (promises())
            oracle_.acked(number);
        return;
    }
    lists_.push_back(list);
    run_.must(rpm_steps_async(region_, lists_.back().data(), n,
                              reinterpret_cast<void *>(uintptr_t{ number })),
              "steps async");
    run_.say("write %u of %u steps submitted, the first at %" PRIu64, number, n, pieces[0].offset);
    flying_.push_back(number);
}

void RegionUser::poll(bool all)
{
    static const int POLLS_MAX = 200000;
    rpm_completion done[4];

    for (int turn = 0;; turn++) {
        int n = run_.must(rpm_region_poll(region_, done, 4), "poll");

        for (int i = 0; i < n; i++) {
            if (flying_.empty() || reinterpret_cast<uintptr_t>(done[i].context) != flying_.front())
                violate("completion of a write out of order");
            run_.must(done[i].status, "asynchronous write");
            run_.say("write %u acknowledged", flying_.front());
            if (promises())
                oracle_.acked(flying_.front());
            flying_.pop_front();
        }
        if (!all || flying_.empty())
            return;
        if (turn == POLLS_MAX)
            violate("%zu writes never complete", flying_.size());
    }
}

void RegionUser::persist()
{
    run_.must(rpm_region_persist(region_, 0, oracle_.bytes), "persist");
    run_.say("region persisted");
    if (promises() && flying_.empty())
        oracle_.persisted();
}

void RegionUser::settle()
{
    std::string seen(oracle_.bytes, '\0');

    run_.must(rpm_region_read(region_, 0, &seen[0], seen.size()), "read");
    run_.must(rpm_region_persist(region_, 0, seen.size()), "persist");
    oracle_.compare(run_, seen, true);
}

} // namespace cuts
