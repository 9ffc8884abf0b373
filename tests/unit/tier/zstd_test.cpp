// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/packed.h"

#if RPMI_WITH_ZSTD
#include <fstream>

namespace
{

constexpr size_t BLOCK_MAX = 128u << 10;

std::string little(uint64_t value, size_t bytes)
{
    std::string text;

    for (size_t i = 0; i < bytes; i++)
        text += static_cast<char>(value >> 8 * i);
    return text;
}

// A frame by hand, of RFC 8878.
class Frame
{
  public:
    // @descriptor: of the frame, with the fields that it announces behind it.
    explicit Frame(const std::string &descriptor, const std::string &magic = "\x28\xb5\x2f\xfd")
    {
        put(magic + descriptor);
    }
    Frame &raw(const std::string &data)
    {
        header(0, data.size());
        put(data);
        return *this;
    }
    Frame &again(char byte, size_t times)
    {
        header(2, times);
        put(std::string(1, byte));
        return *this;
    }
    // The last block of all is marked as such.
    std::vector<char> end()
    {
        bytes_[last_] = static_cast<char>(bytes_[last_] | 1);
        return bytes_;
    }

  private:
    void put(const std::string &data)
    {
        bytes_.insert(bytes_.end(), data.begin(), data.end());
    }
    void header(uint32_t type, size_t size)
    {
        last_ = bytes_.size();
        put(little(type | size << 3, 3));
    }

    std::vector<char> bytes_;
    size_t last_ = 0;
};

// The window is as large as the content.
std::string of_size(uint64_t content)
{
    return "\xa0" + little(content, 4);
}

std::vector<char> operator+(std::vector<char> one, const std::vector<char> &other)
{
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

std::string frames_of(const std::vector<char> &stored, size_t raw_bytes = 1010)
{
    return unpacked(segment_of(RPMI_SEGMENT_ZSTD, raw_bytes, 0), stored);
}

// The most memory that this process ever had mapped, in bytes.
uint64_t mapped_most()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    uint64_t kib = 0;

    while (status >> word && word != "VmPeak:")
        ;
    status >> kib;
    return kib << 10;
}

const std::string FRAMES = "some bytes" + std::string(1000, 'a');

} // namespace

TEST_CASE("zstd: a frame by hand is read", "[unit]")
{
    CHECK(frames_of(Frame(of_size(1010)).raw("some bytes").again('a', 1000).end()) == FRAMES);
}

TEST_CASE("zstd: a frame that has more bytes than it says, or fewer, is refused", "[unit]")
{
    auto frame = [](uint64_t says, size_t has) {
        return Frame(of_size(says)).raw("some bytes").again('a', has - 10).end();
    };
    CHECK(frames_of(frame(1010, 1010)) == FRAMES);
    CHECK(frames_of(frame(1010, 1009)).empty());
    CHECK(frames_of(frame(1010, 1011)).empty());
    CHECK(frames_of(frame(1009, 1010)).empty());
    CHECK(frames_of(frame(1011, 1010)).empty());
}

TEST_CASE("zstd: a frame that has a thousand times what it says is refused", "[unit]")
{
    Frame bomb(std::string("\x80\x38") + little(BLOCK_MAX, 4)); // a window of 128 KiB

    for (int i = 0; i < 1000; i++)
        bomb.again('a', BLOCK_MAX);
    CHECK(frames_of(bomb.end(), BLOCK_MAX).empty());
}

TEST_CASE("zstd: a frame that asks for much memory gets no more than its frames need", "[unit]")
{
    uint64_t before = mapped_most();
    auto windowed = [](char window) {
        return Frame(std::string("\x80") + window + little(1010, 4))
            .raw("some bytes")
            .again('a', 1000)
            .end();
    };
    CHECK(frames_of(windowed('\x00')) == FRAMES);
    CHECK(frames_of(windowed('\x88')) == FRAMES); // 2^27
    frames_of(windowed('\xa8'));                  // 2^31: refused or not
    CHECK(frames_of(windowed('\xff')).empty());   // more than zstd knows
    std::string endless("\x00\xa8", 2);           // 2^31, of a size that is not known
    CHECK(frames_of(Frame(endless).raw("some bytes").again('a', 1000).end()).empty());
    CHECK(before > 0);
    CHECK(mapped_most() - before < 64u << 20);
}

TEST_CASE("zstd: more than one frame, and frames of other formats, are refused", "[unit]")
{
    std::vector<char> whole = Frame(of_size(1010)).raw("some bytes").again('a', 1000).end();
    std::vector<char> half = Frame(of_size(505)).again('a', 505).end();
    std::vector<char> empty = Frame(of_size(0)).raw("").end();
    std::string skipped = "\x50\x2a\x4d\x18" + little(4, 4) + "skip";
    std::vector<char> skip(skipped.begin(), skipped.end());

    CHECK(frames_of(half + half).empty());
    CHECK(frames_of(whole + empty).empty());
    CHECK(frames_of(empty + whole).empty());
    CHECK(frames_of(whole + skip).empty());
    CHECK(frames_of(skip + whole).empty());
}

TEST_CASE("zstd: a frame of the format before zstd 1.0 is refused, which libzstd may read",
          "[unit]")
{
    std::string v07 = "\x27\xb5\x2f\xfd" + of_size(1010);

    v07 += std::string("\x40\x00\x0a", 3) + "some bytes"; // as they are
    v07 += std::string("\x80\x03\xe8\x61", 4);            // 1000 times 'a'
    v07 += std::string("\xc0\x00\x00", 3);                // the end
    CHECK(frames_of(std::vector<char>(v07.begin(), v07.end())).empty());
}

TEST_CASE("zstd: a frame without its size, or with a dictionary, is refused", "[unit]")
{
    std::string small(1, 0); // a descriptor without a size, and the least window behind it

    CHECK(frames_of(Frame(small + small).raw("some bytes").again('a', 1000).end()).empty());
    CHECK(frames_of(Frame("\xa1\x07" + little(1010, 4)).raw("some bytes").again('a', 1000).end())
              .empty());
}
#endif
