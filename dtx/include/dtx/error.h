/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error.h: exceptions that end a transaction, or a whole session. Thrown inside this library and
 * its coroutines; no exception crosses the C boundary of librpm.
 */
#ifndef DTX_ERROR_H
#define DTX_ERROR_H

#include <stdexcept>
#include <string>

namespace dtx
{

/* An error that trying again does not repair. */
class Error : public std::runtime_error
{
  public:
    /* @code: an rpm_error, or 0 for a mistake in the program or the schema. */
    Error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}
    int code() const
    {
        return code_;
    }

  private:
    int code_;
};

/* A conflict with another transaction: the session runs the body again from its start. It is not
 * derived from Error, so that a program's catch for errors does not catch it. */
struct Conflict {
};

/* The objects that a transaction read do not fit together. Either they were read at different
 * times: then the transaction runs again. Or, if all of them are still as they were read, some are
 * damaged, and the transaction ends with RPM_E_CORRUPT and this text. */
struct Inconsistent : Conflict {
    std::string what = "an index and the object that it leads to do not fit together";
};

/* Another session or a recovery took this coordinator's logs over, or a server was lost:
 * RPM_E_FENCED, RPM_E_LOST, RPM_E_TIMEDOUT or RPM_E_REFUSED. Of the transactions that the
 * coordinator had under way, only those take effect whose record is in all its logs on live
 * servers. A session catches this exception and joins again; calls of Cluster pass it on as an
 * Error. */
class Fenced : public Error
{
  public:
    using Error::Error;
};

/* A call of librpm failed in another way, and its connection may be unusable: the session closes
 * all its connections and joins again before its next transaction. */
class Failed : public Error
{
  public:
    using Error::Error;
};

/* Throws the text of librpm's last failed call after @doing, which says what was being done: as
 * Fenced if @code says that this coordinator was fenced or a server was lost, else as Failed. */
[[noreturn]] void fail(int code, const std::string &doing);

/* Returns @code if it is 0 or a count; else throws as fail(). */
inline int check(int code, const char *doing)
{
    if (code < 0)
        fail(code, doing);
    return code;
}

} // namespace dtx
#endif
