/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * second_thread.h: calls that block, on a thread of their own.
 *
 * Calls that connect, claim logs, recover for a dead coordinator, or close a connection block their
 * thread until the server answers, at most for Options::timeout_us. On the session's thread no
 * coroutine would run meanwhile; so Session::on_second_thread() (session_join.cc) has a second
 * thread make these calls, which writes to an eventfd when they have returned.
 *
 * Tests: tests/unit/dtx/engine/base/second_thread_test.cpp
 */
#ifndef DTX_ENGINE_SECOND_THREAD_H
#define DTX_ENGINE_SECOND_THREAD_H

#include <exception>
#include <functional>
#include <thread>

namespace dtx
{

class SecondThread
{
  public:
    /* Starts @body, which uses nothing that another thread uses at the same time; a librpm
     * connection belongs to one thread at a time. Throws Error, RPM_E_NOMEM: no descriptor or no
     * thread is left. */
    explicit SecondThread(std::function<void()> body);
    /* Waits for its end. */
    ~SecondThread();
    SecondThread(const SecondThread &) = delete;
    SecondThread &operator=(const SecondThread &) = delete;

    /* Becomes readable when @body has ended. */
    int fd() const
    {
        return ended_;
    }
    /* Waits for the end: what @body has written can be read, and connections that it has opened
     * belong to the caller's thread. Throws what @body threw. Called once. */
    void finish();

  private:
    std::function<void()> body_;
    int ended_; /* an eventfd */
    std::exception_ptr thrown_;
    std::thread thread_;
};

} // namespace dtx
#endif
