/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error.h: one error space. Every function that can fail returns 0 or a count on success and a
 * negative errno on failure; the conditions that errno words badly have a name here.
 */
#ifndef LIBRPM_ERROR_H
#define LIBRPM_ERROR_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RPM_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RPM_MUST_CHECK
#endif

enum rpm_error {
    RPM_E_INVAL = -EINVAL,            /* an argument is out of its documented range */
    RPM_E_FULL = -ENOBUFS,            /* the log is full: trim it, then retry */
    RPM_E_NOSPACE = -ENOSPC,          /* no room to create it: remove objects or enlarge the pool */
    RPM_E_LIMIT = -EMFILE,            /* a maximum count is reached: the text names it */
    RPM_E_TORN = -EBADMSG,            /* bytes failed their checksum */
    RPM_E_FENCED = -ESTALE,           /* a newer writer owns this log (a region: its guard log);
                                         result of in-flight operations unknown */
    RPM_E_LOST = -ENOTCONN,           /* connection lost: result of in-flight operations unknown */
    RPM_E_TIMEDOUT = -ETIMEDOUT,      /* deadline passed: result of in-flight operations unknown */
    RPM_E_BUSY = -EBUSY,              /* queue full: poll, then retry */
    RPM_E_NOCAP = -EOPNOTSUPP,        /* cannot be done, or cannot be proven, on this link */
    RPM_E_RANGE = -ERANGE,            /* offset, length or LSN outside the object */
    RPM_E_TRIMMED = -ENODATA,         /* the LSN was trimmed away */
    RPM_E_TOOBIG = -EMSGSIZE,         /* record larger than rpm_log_record_max() */
    RPM_E_NOENT = -ENOENT,            /* no object of that name */
    RPM_E_EXISTS = -EEXIST,           /* the name is taken, or the object there is another */
    RPM_E_NAME = -ENAMETOOLONG,       /* name empty, too long or with a forbidden byte */
    RPM_E_OWNED = -EUSERS,            /* another writer, server or lock owner holds it */
    RPM_E_QUORUM = -EHOSTUNREACH,     /* too few members of a set of copies can be used: the text
                                         names the others */
    RPM_E_DENIED = -EACCES,           /* not permitted: credentials, secret or rights */
    RPM_E_VERSION = -EPROTONOSUPPORT, /* the other side or the file has another version */
    RPM_E_PROTO = -EPROTO,            /* the peer sent a message that librpm never sends */
    RPM_E_FOREIGN = -EMEDIUMTYPE,     /* file or object with data of another program */
    RPM_E_CORRUPT = -EUCLEAN,         /* a pool structure or a durable record is damaged */
    RPM_E_OPTS = -E2BIG,              /* option struct newer than this library, with a field set */
    RPM_E_REFUSED = -ECONNREFUSED,    /* no server there, or it takes no more clients */
    RPM_E_NOMEM = -ENOMEM,            /* out of memory */
    RPM_E_IO = -EIO                   /* the medium, or a system call, failed: after a failure of
                                         the medium no promise holds */
};

/**
 * rpm_strerror: the fixed sentence for an error code.
 *
 * @err   negative code returned by any rpm function; 0 or a count is "success".
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_strerror(int err);

/**
 * rpm_error_name: the symbolic name of an error code, such as "RPM_E_FULL".
 *
 * @err   negative code; a plain errno gives "E<number>", 0 or a count "success".
 *
 * Returns a string that is never NULL. Returned, static or thread-local.
 * Threads:  any.
 */
const char *rpm_error_name(int err);

/**
 * rpm_last_error: the detailed error text of this thread's last call.
 *
 * The code is the contract, this text is for people. Call it right after a call that failed: every
 * function that can fail discards the text of the call before it. After a call that succeeded the
 * text has no meaning.
 *
 * Returns "" if no call has failed yet, or if the failed call has no detail to add to
 * rpm_strerror(), as is common for RPM_E_BUSY. Returned, thread-local: valid until the next call of
 * a librpm function in this thread.
 *
 * Threads:  any.
 */
const char *rpm_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
