// SPDX-License-Identifier: BSD-3-Clause
// replay.cpp: run a fuzz target over files and folders of inputs, in a build without libFuzzer.
#include "fuzz.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

static void run(const fs::path &path)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    // Exactly as large as the input, so that a sanitizer detects a read beyond its end.
    std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);

    std::copy(bytes.begin(), bytes.end(), exact.get());
    LLVMFuzzerTestOneInput(exact.get(), bytes.size());
}

int main(int argc, char **argv)
{
    std::vector<fs::path> inputs;

    for (int i = 1; i < argc; i++) {
        if (!fs::is_directory(argv[i])) {
            inputs.emplace_back(argv[i]);
            continue;
        }
        for (const auto &entry : fs::directory_iterator(argv[i]))
            if (entry.is_regular_file())
                inputs.push_back(entry.path());
    }
    std::sort(inputs.begin(), inputs.end());
    for (const auto &path : inputs) {
        // Printed before it runs, so that the last line names an input that crashes.
        printf("input %s\n", path.c_str());
        fflush(stdout);
        run(path);
    }
    printf("inputs %zu\n", inputs.size());
    return inputs.empty() ? 1 : 0; // an empty corpus would test nothing
}
