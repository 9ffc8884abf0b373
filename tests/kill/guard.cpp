// SPDX-License-Identifier: BSD-3-Clause
// guard.cpp: a writer of regions that its claim of a log guards is stopped by SIGSTOP at a random
// moment, another writer takes the log over and writes the regions, and the first one continues.
// The bytes of the new writer must stay, and the old one must get RPM_E_FENCED.
//
// The seed determines the delay, but not where the writer is when it is stopped.
#include "kill/bench.h"
#include "kill/payload.h"

#include <cstdio>
#include <librpm.h>
#include <memory>

using namespace kill_suite;

namespace
{

const uint64_t kBytes = 64 << 10;
const uint64_t kWords = 64;
const unsigned char kNew = 0xbb;

void nap(uint64_t ns)
{
    timespec time = { 0, static_cast<long>(ns) };

    nanosleep(&time, nullptr);
}

// A client with the handles of a writer.
struct Writer {
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_region *rows = nullptr;
    rpm_region *words = nullptr;

    Writer() = default;
    Writer(const Writer &) = delete;
    ~Writer()
    {
        close();
    }
    void close()
    {
        rpm_region_close(&rows);
        rpm_region_close(&words);
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int claim(const char *url)
    {
        int err = RPM_E_REFUSED;

        rpm_conn_opts conn_opts = rpm_conn_opts_init();
        rpm_log_opts opts = rpm_log_opts_init();

        close();
        conn_opts.timeout_us = 10000000;
        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
        opts.capacity_bytes = 64 << 10;
        for (int i = 0; i < 12000 && err == RPM_E_REFUSED; i++) { // the server is starting
            err = rpm_conn_open(url, &conn_opts, &conn);
            if (err == RPM_E_REFUSED)
                nap(5000000);
        }
        return err != 0 ? err : rpm_log_open(conn, "log", &opts, &log);
    }
    int open()
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = kBytes;
        opts.claim = log;
        int err = rpm_region_open(conn, "rows", &opts, &rows);
        opts.flags |= RPM_REGION_DRAM;
        opts.bytes = kWords * sizeof(uint64_t);
        return err != 0 ? err : rpm_region_open(conn, "words", &opts, &words);
    }
};

// An operation of the writer that is stopped later; it repeats it until the server refuses.
int operate(Writer *writer, uint64_t *state, const unsigned char *data)
{
    uint64_t len = mix(*state) % 4 == 0 ? mix(*state) % 16384 + 1 : mix(*state) % 256 + 1;
    uint64_t at = mix(*state) % (kBytes - len);
    uint64_t found;
    rpm_completion done[16];

    switch (mix(*state) % 8) {
    case 0:
        return rpm_region_faa(writer->words, mix(*state) % kWords * 8, 1, &found);
    case 1:
        return rpm_region_write(writer->words, mix(*state) % kWords * 8, data, 8);
    case 2:
    case 3: {
        int n = rpm_region_poll(writer->rows, done, 16);
        int err = 0;

        for (int i = 0; i < n && err == 0; i++)
            err = done[i].status;
        if (err == 0)
            err = rpm_region_write_async(writer->rows, at, data, len, nullptr);
        return err == RPM_E_BUSY ? 0 : err;
    }
    default:
        return rpm_region_write(writer->rows, at, data, len);
    }
}

int write_on(const char *url, uint64_t seed)
{
    std::vector<unsigned char> data(16384, 0xaa);
    uint64_t state = seed;
    Writer writer;
    int err = writer.claim(url);

    if (err == 0)
        err = writer.open();
    if (err != 0) {
        fprintf(stderr, "writer: %s: %s\n", rpm_error_name(err), rpm_last_error());
        return kViolation;
    }
    for (uint64_t i = 0; err == 0; i++) {
        err = operate(&writer, &state, data.data());
        for (uint64_t spin = mix(state) % 2000; spin > 0; spin--)
            __asm__ volatile("" ::: "memory");
        if (i == 20 && ::write(STDOUT_FILENO, "r", 1) != 1)
            return kViolation;
    }
    // The writer stays fenced, whichever call it makes.
    for (int i = 0; i < 50 && err == RPM_E_FENCED; i++)
        err = operate(&writer, &state, data.data());
    if (err != RPM_E_FENCED)
        fprintf(stderr, "writer: %s: %s\n", rpm_error_name(err), rpm_last_error());
    return err == RPM_E_FENCED ? kFenced : kViolation;
}

class Round
{
  public:
    Round(Bench *bench, uint64_t seed, uint64_t number)
        : url_(bench->url(bench->setup.mode)), state_(seed * 1000003u + number)
    {
        mix(state_);
    }
    // "", or which check failed.
    std::string run()
    {
        start();
        if (trouble_.empty())
            take_over();
        if (trouble_.empty())
            write_anew();
        if (trouble_.empty())
            let_go_on();
        return trouble_;
    }
    bool was_inside() const
    {
        return inside_;
    }

  private:
    void complain(const std::string &what, int err)
    {
        if (trouble_.empty())
            trouble_ =
                what +
                (err != 0 ? std::string(": ") + rpm_error_name(err) + ": " + rpm_last_error() : "");
    }
    void start()
    {
        old_.start({ "/proc/self/exe", "write", url_, std::to_string(mix(state_)) });
        pollfd entry = { old_.output(), POLLIN, 0 };
        char ready = 0;

        if (poll(&entry, 1, 30000) != 1 || ::read(old_.output(), &ready, 1) != 1)
            complain("the writer did not begin", 0);
        nap(mix(state_) % 3000 * 1000);
        old_.signal(SIGSTOP);
    }
    // A writer stopped in its guarded section blocks every claim until it has left the section.
    void take_over()
    {
        int err = new_.claim(url_.c_str());
        uint64_t until = now_ns() + 60000 * kMs;

        while (err == RPM_E_OWNED && now_ns() < until) {
            inside_ = true;
            old_.signal(SIGCONT);
            nap(1000000);
            old_.signal(SIGSTOP);
            err = new_.claim(url_.c_str());
        }
        if (err == 0)
            err = new_.open();
        if (err != 0)
            complain("taking over", err);
    }
    void write_anew()
    {
        std::vector<unsigned char> bytes(kBytes, kNew);
        int err = rpm_region_write(new_.rows, 0, bytes.data(), bytes.size());

        if (err == 0)
            err = rpm_region_write(new_.words, 0, bytes.data(), kWords * sizeof(uint64_t));
        if (err != 0)
            complain("writing anew", err);
    }
    void let_go_on()
    {
        old_.signal(SIGCONT);
        int code = old_.wait(60000 * kMs);
        if (code == -1) {
            check();
            complain("the writer goes on", 0);
        } else if (code != kFenced) {
            complain("the writer ended with " + std::to_string(code), 0);
        }
        check();
    }
    void check()
    {
        std::vector<unsigned char> bytes(kBytes);

        check_region(new_.rows, &bytes, "the region");
        bytes.resize(kWords * sizeof(uint64_t));
        check_region(new_.words, &bytes, "the words");
    }
    void check_region(rpm_region *region, std::vector<unsigned char> *bytes, const char *what)
    {
        int err = rpm_region_read(region, 0, bytes->data(), bytes->size());

        if (err != 0)
            complain(std::string("reading ") + what, err);
        for (unsigned char byte : *bytes)
            if (byte != kNew) {
                complain(std::string("a fenced writer wrote to ") + what, 0);
                return;
            }
    }

    std::string url_;
    uint64_t state_;
    Process old_;
    Writer new_;
    bool inside_ = false;
    std::string trouble_;
};

int run(const Options &options)
{
    uint64_t wrong = 0, inside = 0;
    std::vector<std::unique_ptr<Bench>> benches;

    for (const Setup &setup : kSetups)
        for (const char *name : { "tmpfs direct", "tmpfs ring", "tmpfs unix" })
            if (std::string(setup.name) == name)
                benches.push_back(std::make_unique<Bench>(setup, options));
    for (uint64_t number = options.first; number < options.first + options.rounds; number++) {
        Bench *bench = benches[number % benches.size()].get();
        Round round(bench, options.seed, number);

        bench->serve();
        std::string trouble = round.run();
        inside += round.was_inside() ? 1 : 0;
        if (trouble.empty())
            continue;
        wrong++;
        printf("round %llu: %s: %s\n", static_cast<unsigned long long>(number), bench->setup.name,
               trouble.c_str());
        fflush(stdout);
    }
    printf("seed %llu, rounds %llu, stopped in a guarded section %llu, wrong %llu\n",
           static_cast<unsigned long long>(options.seed),
           static_cast<unsigned long long>(options.rounds), static_cast<unsigned long long>(inside),
           static_cast<unsigned long long>(wrong));
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    Options options;

    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && std::string(argv[1]) == "write")
        return write_on(argv[2], strtoull(argv[3], nullptr, 10));
    if (argc < 3) {
        fprintf(stderr, "usage: kill_guard SERVER ROUNDS [SEED [FIRST]]\n");
        return 2;
    }
    options.server = argv[1];
    options.rounds = strtoull(argv[2], nullptr, 10);
    options.seed = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1;
    options.first = argc > 4 ? strtoull(argv[4], nullptr, 10) : 0;
    try {
        return run(options);
    } catch (const std::exception &failure) {
        fprintf(stderr, "kill_guard: %s\n", failure.what());
        return 1;
    }
}
