/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checksum.h: the two checksums of a history: of a line, and, line by line, of the whole file.
 */
#ifndef DTX_HISTORY_CHECKSUM_H
#define DTX_HISTORY_CHECKSUM_H

#include <cstdint>
#include <memory>
#include <string_view>
#include <xxhash.h>

namespace dtx::history
{

inline constexpr char kHexDigits[] = "0123456789abcdef";

/* @digits lower-case hex digits of @value, the highest first. */
inline void put_hex(char *out, uint64_t value, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++)
        out[i] = kHexDigits[value >> 4 * (digits - 1 - i) & 15];
}

inline uint32_t line_sum(std::string_view text)
{
    return static_cast<uint32_t>(XXH3_64bits(text.data(), text.size()));
}

/* XXH3, 64 bits, of all bytes so far. */
class FileSum
{
  public:
    FileSum() : state_(XXH3_createState())
    {
        if (!state_)
            throw std::bad_alloc();
        XXH3_64bits_reset(state_.get());
    }

    void add(std::string_view bytes)
    {
        XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
    }

    uint64_t value() const
    {
        return XXH3_64bits_digest(state_.get());
    }

  private:
    struct Free {
        void operator()(XXH3_state_t *state) const
        {
            XXH3_freeState(state);
        }
    };
    std::unique_ptr<XXH3_state_t, Free> state_;
};

} // namespace dtx::history
#endif
