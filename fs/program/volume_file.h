/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_file.h: where a volume is: NAME.conf in /etc/librpm/fs, or the options of a command.
 *
 * A line of the file is "key = value", or begins with #. Keys:
 *
 *   server       URL of a server; one line for each, in the order in which the volume was made
 *   secret-file  file with the secret that the servers ask for
 *   patience     seconds that a call waits for servers that do not answer
 *
 * Tests: tests/unit/fs/program/volume_file_test.cpp, tests/fuzz/fs_volume_file_fuzz.cpp
 */
#ifndef FS_PROGRAM_VOLUME_FILE_H
#define FS_PROGRAM_VOLUME_FILE_H

#include <string>
#include <vector>

namespace rfs
{

struct VolumePlace {
    std::vector<std::string> servers;
    std::string secret_file;
    double patience_s = 0; /* 0: that of the command */
};

/* Above 0 and below 10^9; 0: it is no such number. */
double seconds_of(const std::string &text);

/* The contents of such a file. @path: for error texts. Throws std::runtime_error, which names the
 * line. */
VolumePlace parse_volume_file(const std::string &path, const std::string &text);

/* The file of a volume. Throws std::runtime_error. */
VolumePlace read_volume_file(const std::string &path);

/* Where the file of a volume is by default. */
std::string volume_file(const std::string &name);

} // namespace rfs
#endif
