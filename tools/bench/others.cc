/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * others.cc: the contenders that librpm is compared with: the limit, a bare ring, libpmemlog.
 */
#include "bench/contender.h"
#include "bench/limit.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/uio.h>
#include <thread>

namespace bench
{
namespace
{

class Limit : public Contender
{
  public:
    Limit(const MemoryDir &dir, Shape shape, uint64_t capacity)
        : shape_(shape), file_(dir / "limit", capacity, true), payload_(shape.bytes, 'x')
    {
        const LimitKernel *kernels;
        size_t count = limit_kernels(&kernels);
        double best = 0;

        (void)unlink((dir / "limit").c_str());
        ring_.base = file_.data();
        ring_.capacity = capacity / limit_stride(shape.bytes) * limit_stride(shape.bytes);
        for (size_t i = 0; i < count; i++) {
            std::vector<double> times;

            kernel_ = &kernels[i];
            for (int k = 0; k < 9; k++)
                times.push_back(burst(*this, std::min<uint64_t>(1024, burst_max()), shape.depth));
            if (choice_ == nullptr || median(times) < best) {
                best = median(times);
                choice_ = kernel_;
            }
        }
        kernel_ = choice_;
    }

    void append(uint64_t n) override
    {
        kernel_->append(&ring_, payload_.data(), shape_.bytes, n, shape_.depth);
    }
    uint64_t burst_max() const override
    {
        return 1u << 20;
    }

  private:
    Shape shape_;
    Mapping file_;
    std::vector<unsigned char> payload_;
    LimitRing ring_ = {};
    const LimitKernel *kernel_ = nullptr;
    const LimitKernel *choice_ = nullptr;
};

/* A request of the bare ring: a sequence number and an offset; the payload is in other memory. */
struct alignas(64) Request {
    std::atomic<uint32_t> turn;
    uint32_t last; /* 1: fence and answer after this request */
    uint64_t len;
    uint64_t to;
};

class BareRing : public Contender
{
  public:
    /* Delegates, so that the object is complete before the first burst: if that burst throws, the
     * destructor ends the thread. */
    BareRing(const MemoryDir &dir, Shape shape, uint64_t capacity, int cpu)
        : BareRing(Start(), dir, shape, capacity, cpu)
    {
        choose_kernel();
    }

    ~BareRing() override
    {
        awake_.store(false);
        stop_.store(true);
        engine_.join();
    }

    void append(uint64_t n) override
    {
        awake_.store(true);
        for (uint64_t i = 0; i < n; i += shape_.depth) {
            for (uint32_t k = 0; k < shape_.depth; k++)
                post(k + 1 == shape_.depth);
            while (done_.load(std::memory_order_acquire) != posted_)
                continue;
        }
        awake_.store(false);
    }
    uint64_t burst_max() const override
    {
        return 1u << 20;
    }

  private:
    static constexpr uint32_t kSlots = 64;
    struct Start {
    };

    BareRing(Start, const MemoryDir &dir, Shape shape, uint64_t capacity, int cpu)
        : shape_(shape), stride_((shape.bytes + 63) / 64 * 64),
          capacity_(capacity / stride_ * stride_), file_(dir / "ring", capacity, true),
          requests_(kSlots), staging_(kSlots * stride_ + 64), payload_(shape.bytes, 'x')
    {
        (void)unlink((dir / "ring").c_str());
        stage_ = staging_.data() + (64 - reinterpret_cast<uintptr_t>(staging_.data()) % 64);
        engine_ = std::thread([this, cpu] {
            pin(cpu);
            ready_.store(true);
            serve();
        });
        /* The new thread may start on this CPU: sleep, so that it can run and move. */
        while (!ready_.load())
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }

    /* Choose the way to store that is faster for this size. */
    void choose_kernel()
    {
        const LimitKernel *kernels;
        size_t count = limit_kernels(&kernels);

        for (size_t i = 0; i < count; i++) {
            double ns;

            kernel_.store(&kernels[i]);
            ns = burst(*this, 32 * shape_.depth, shape_.depth);
            if (choice_ == nullptr || ns < best_ns_) {
                best_ns_ = ns;
                choice_ = &kernels[i];
            }
        }
        kernel_.store(choice_);
    }

    void post(bool last)
    {
        Request &request = requests_[posted_ % kSlots];

        memcpy(stage_ + posted_ % kSlots * stride_, payload_.data(), shape_.bytes);
        request.len = shape_.bytes;
        request.to = position_;
        request.last = last;
        position_ = position_ + stride_ == capacity_ ? 0 : position_ + stride_;
        posted_++;
        request.turn.store(static_cast<uint32_t>(posted_), std::memory_order_release);
    }

    void serve()
    {
        uint64_t next = 0;

        while (!stop_.load(std::memory_order_relaxed)) {
            Request &request = requests_[next % kSlots];

            if (request.turn.load(std::memory_order_acquire) != static_cast<uint32_t>(next + 1)) {
                if (!awake_.load(std::memory_order_relaxed))
                    std::this_thread::sleep_for(std::chrono::microseconds(20));
                continue;
            }
            kernel_.load(std::memory_order_relaxed)
                ->copy(file_.data() + request.to, stage_ + next % kSlots * stride_, request.len);
            next++;
            if (request.last != 0) {
                limit_fence();
                done_.store(next, std::memory_order_release);
            }
        }
    }

    Shape shape_;
    uint64_t stride_;
    uint64_t capacity_;
    Mapping file_;
    std::vector<Request> requests_;
    std::vector<unsigned char> staging_;
    unsigned char *stage_;
    std::vector<unsigned char> payload_;
    std::atomic<const LimitKernel *> kernel_{ nullptr };
    const LimitKernel *choice_ = nullptr;
    double best_ns_ = 0;
    uint64_t posted_ = 0;
    uint64_t position_ = 0;
    alignas(64) std::atomic<uint64_t> done_{ 0 };
    alignas(64) std::atomic<bool> awake_{ false };
    std::atomic<bool> stop_{ false };
    std::atomic<bool> ready_{ false };
    std::thread engine_;
};

/* Calls of libpmemlog, looked up when first used. */
struct PmemlogCalls {
    void *(*create)(const char *path, size_t bytes, mode_t mode);
    int (*append)(void *log, const void *data, size_t len);
    int (*appendv)(void *log, const struct iovec *iov, int count);
    void (*rewind)(void *log);
    void (*close)(void *log);
    size_t (*nbyte)(void *log);
};

/* The memory is declared persistent, as to librpm's server: otherwise libpmemlog would call
 * msync. */
const PmemlogCalls *pmemlog_calls()
{
    static PmemlogCalls calls;
    static bool tried = false;
    static void *library = nullptr;

    if (tried)
        return library == nullptr ? nullptr : &calls;
    tried = true;
    setenv("PMEM_IS_PMEM_FORCE", "1", 1);
    library = dlopen("libpmemlog.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return nullptr;
    calls.create = reinterpret_cast<decltype(calls.create)>(dlsym(library, "pmemlog_create"));
    calls.append = reinterpret_cast<decltype(calls.append)>(dlsym(library, "pmemlog_append"));
    calls.appendv = reinterpret_cast<decltype(calls.appendv)>(dlsym(library, "pmemlog_appendv"));
    calls.rewind = reinterpret_cast<decltype(calls.rewind)>(dlsym(library, "pmemlog_rewind"));
    calls.close = reinterpret_cast<decltype(calls.close)>(dlsym(library, "pmemlog_close"));
    calls.nbyte = reinterpret_cast<decltype(calls.nbyte)>(dlsym(library, "pmemlog_nbyte"));
    if (calls.create == nullptr || calls.append == nullptr || calls.appendv == nullptr ||
        calls.rewind == nullptr || calls.close == nullptr || calls.nbyte == nullptr)
        library = nullptr;
    return library == nullptr ? nullptr : &calls;
}

class Pmemlog : public Contender
{
  public:
    Pmemlog(const PmemlogCalls &calls, const std::string &path, Shape shape, uint64_t capacity)
        : calls_(calls), shape_(shape), payload_(shape.bytes, 'x'),
          slices_(shape.depth, iovec{ payload_.data(), shape.bytes })
    {
        (void)unlink(path.c_str());
        log_ = calls.create(path.c_str(), capacity, 0600);
        if (log_ == nullptr)
            throw cli::Failure("libpmemlog: " + std::string(strerror(errno)));
        (void)unlink(path.c_str());
        burst_max_ = calls.nbyte(log_) / shape.bytes / 2;
        append(calls.nbyte(log_) / shape.bytes / shape.depth * shape.depth);
    }
    ~Pmemlog() override
    {
        calls_.close(log_);
    }

    void append(uint64_t n) override
    {
        int err = 0;

        for (uint64_t i = 0; i < n && err == 0; i += shape_.depth)
            err = shape_.depth == 1
                      ? calls_.append(log_, payload_.data(), shape_.bytes)
                      : calls_.appendv(log_, slices_.data(), static_cast<int>(shape_.depth));
        if (err != 0)
            throw cli::Failure("libpmemlog: " + std::string(strerror(errno)));
    }
    void reset() override
    {
        calls_.rewind(log_);
    }
    uint64_t burst_max() const override
    {
        return burst_max_;
    }

  private:
    const PmemlogCalls &calls_;
    Shape shape_;
    std::vector<unsigned char> payload_;
    std::vector<iovec> slices_;
    void *log_;
    uint64_t burst_max_;
};

} // namespace

ContenderPtr make_limit(const MemoryDir &dir, Shape shape, uint64_t capacity)
{
    const LimitKernel *kernels;

    return limit_kernels(&kernels) == 0 ? nullptr : std::make_unique<Limit>(dir, shape, capacity);
}

ContenderPtr make_bare_ring(const MemoryDir &dir, Shape shape, uint64_t capacity, int cpu)
{
    const LimitKernel *kernels;

    return limit_kernels(&kernels) == 0 ? nullptr
                                        : std::make_unique<BareRing>(dir, shape, capacity, cpu);
}

ContenderPtr make_pmemlog(const MemoryDir &dir, Shape shape, uint64_t capacity)
{
    const PmemlogCalls *calls = pmemlog_calls();

    return calls == nullptr ? nullptr
                            : std::make_unique<Pmemlog>(*calls, dir / "pmemlog", shape, capacity);
}

} // namespace bench
