// SPDX-License-Identifier: BSD-3-Clause
// dir.h: a new directory for a test, removed with its contents at the end.
#ifndef TESTS_SUPPORT_DIR_H
#define TESTS_SUPPORT_DIR_H

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace support
{

// In memory (tmpfs) or on the disk.
class Dir
{
  public:
    enum Place { kMemory, kDisk };

    explicit Dir(Place place = kMemory)
        : path_(place == kMemory ? "/dev/shm/rpm_test_XXXXXX" : "/var/tmp/rpm_test_XXXXXX")
    {
        if (mkdtemp(&path_[0]) == nullptr)
            throw std::system_error(errno, std::generic_category(), "cannot make " + path_);
    }
    Dir(const Dir &) = delete;
    Dir &operator=(const Dir &) = delete;
    ~Dir()
    {
        std::error_code ignored;

        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string &name) const
    {
        return path_ + "/" + name;
    }

  private:
    std::string path_;
};

} // namespace support

#endif
