// SPDX-License-Identifier: BSD-3-Clause
// devdax.h: makes a devdax device of persistent memory look as if it never had a pool.
#ifndef TESTS_SUPPORT_DEVDAX_H
#define TESTS_SUPPORT_DEVDAX_H

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace support
{

// Overwrites the superblock, which says that the device holds a pool.
inline void wipe_device(const std::string &device)
{
    const size_t bytes = 2 << 20; // the size of its pages
    int fd = open(device.c_str(), O_RDWR | O_CLOEXEC);
    void *front = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (front == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "cannot map " + device);
    std::memset(front, 0, bytes);
    munmap(front, bytes);
    close(fd);
}

} // namespace support

#endif
