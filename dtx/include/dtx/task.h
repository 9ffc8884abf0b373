/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.h: a coroutine that another one awaits. It starts when it is awaited, and the awaiting
 * coroutine goes on when it ends; an exception is thrown there.
 *
 * Coroutine frames are small and many: each thread keeps lists of free ones.
 *
 * Tests: tests/unit/dtx/engine/base/task_test.cpp
 */
#ifndef DTX_TASK_H
#define DTX_TASK_H

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace dtx
{

/* Memory for coroutine frames of this thread. */
void *allocate_frame(size_t bytes);
void free_frame(void *frame, size_t bytes);

template <class T> class Task;

struct PromiseBase {
    std::coroutine_handle<> awaiting = std::noop_coroutine();
    std::exception_ptr thrown;

    static void *operator new(size_t bytes)
    {
        return allocate_frame(bytes);
    }
    static void operator delete(void *frame, size_t bytes)
    {
        free_frame(frame, bytes);
    }
    std::suspend_always initial_suspend() noexcept
    {
        return {};
    }
    auto final_suspend() noexcept
    {
        struct Resume {
            bool await_ready() noexcept
            {
                return false;
            }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept
            {
                return awaiting;
            }
            void await_resume() noexcept {}
            std::coroutine_handle<> awaiting;
        };
        return Resume{ awaiting };
    }
    void unhandled_exception() noexcept
    {
        thrown = std::current_exception();
    }
};

template <class T> struct Promise : PromiseBase {
    std::optional<T> value;

    Task<T> get_return_object() noexcept;
    template <class U> void return_value(U &&given)
    {
        value.emplace(std::forward<U>(given));
    }
    T result()
    {
        if (thrown)
            std::rethrow_exception(thrown);
        return std::move(*value);
    }
};

template <> struct Promise<void> : PromiseBase {
    Task<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void result()
    {
        if (thrown)
            std::rethrow_exception(thrown);
    }
};

template <class T = void> class [[nodiscard]] Task
{
  public:
    using promise_type = Promise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    explicit Task(Handle handle) noexcept : handle_(handle) {}
    Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task(const Task &) = delete;
    Task &operator=(const Task &) = delete;
    Task &operator=(Task &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task()
    {
        if (handle_)
            handle_.destroy();
    }

    bool await_ready() const noexcept
    {
        return false;
    }
    /* Most tasks need not wait: they run to their end within this call, so the depth of the stack
     * is that of nested awaits, however many tasks are awaited in sequence. */
    bool await_suspend(std::coroutine_handle<> awaiting)
    {
        handle_.resume();
        if (handle_.done())
            return false;
        handle_.promise().awaiting = awaiting;
        return true;
    }
    T await_resume()
    {
        return handle_.promise().result();
    }

    /* For a caller that is not a coroutine: resume the task, ask whether it has ended, take its
     * result. */
    Handle handle() const noexcept
    {
        return handle_;
    }
    bool done() const noexcept
    {
        return handle_.done();
    }

  private:
    Handle handle_;
};

template <class T> Task<T> Promise<T>::get_return_object() noexcept
{
    return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() noexcept
{
    return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

/* Awaited: the result of @Operation::now() if it has one, without a coroutine; else the result of
 * the task that later() begins. */
template <class Operation> class [[nodiscard]] AtOnce
{
  public:
    explicit AtOnce(Operation operation) : operation_(std::move(operation)) {}

    bool await_ready()
    {
        now_ = operation_.now();
        return now_.has_value();
    }
    bool await_suspend(std::coroutine_handle<> awaiting)
    {
        task_.emplace(operation_.later());
        return task_->await_suspend(awaiting);
    }
    auto await_resume()
    {
        return now_ ? *std::move(now_) : task_->await_resume();
    }

  private:
    Operation operation_;
    decltype(std::declval<Operation &>().now()) now_;
    std::optional<decltype(std::declval<Operation &>().later())> task_;
};

/* Awaited: what @Function makes of the result of @First, without a coroutine. */
template <class First, class Function> class [[nodiscard]] Then
{
  public:
    Then(First first, Function function) : first_(std::move(first)), function_(std::move(function))
    {
    }

    bool await_ready()
    {
        return first_.await_ready();
    }
    bool await_suspend(std::coroutine_handle<> awaiting)
    {
        return first_.await_suspend(awaiting);
    }
    decltype(auto) await_resume()
    {
        return function_(first_.await_resume());
    }

  private:
    First first_;
    Function function_;
};

} // namespace dtx
#endif
