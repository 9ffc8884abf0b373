// SPDX-License-Identifier: BSD-3-Clause
// hex.h: a golden file, as bytes.
#ifndef TESTS_GOLDEN_HEX_H
#define TESTS_GOLDEN_HEX_H

#include "support/catch.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

// "size N", then lines "offset: bytes # note" with numbers in hex; bytes without a line are zero.
inline Bytes golden(const std::string &name)
{
    std::ifstream file(std::string(GOLDEN_DIR) + "/" + name + ".hex");
    std::string line;
    Bytes bytes;

    while (std::getline(file, line)) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string first;
        std::string cell;

        if (!(words >> first))
            continue;
        words >> cell;
        if (first == "size") {
            bytes.resize(std::stoul(cell));
            continue;
        }
        size_t at = std::stoul(first, nullptr, 16);
        do {
            bytes.at(at++) = static_cast<unsigned char>(std::stoul(cell, nullptr, 16));
        } while (words >> cell);
    }
    INFO("golden file " << name);
    REQUIRE_FALSE(bytes.empty());
    return bytes;
}

#endif
