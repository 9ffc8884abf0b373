/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h: control messages: a client's call asks the server for something other than access to
 * memory (open, claim, seal, trim, close, ...), and the server's reply answers it.
 *
 * Format: FORMAT.md, section 7.   Tests: tests/unit/wire/call_test.cpp
 */
#ifndef RPMI_CALL_H
#define RPMI_CALL_H

#include "wire/certificate.h"
#include "wire/head.h"

#include <librpm/objects.h>
#include <stdbool.h>
#include <stdint.h>

#define RPMI_CALL_BYTES 128u
#define RPMI_REPLY_BYTES 320u
#define RPMI_REPLY_TEXT_BYTES 160u

/* What a key allows; bits, also in a grant (message.h). */
enum rpmi_right { RPMI_RIGHT_READ = 1, RPMI_RIGHT_WRITE = 2, RPMI_RIGHT_ATOMIC = 4 };

/* What the key allows that OPEN grants to an object of @kind (enum rpm_kind). The key to a log only
 * reads; a claim grants one that writes. */
uint32_t rpmi_rights_of(uint32_t kind);

/* Are objects of @kind in the DRAM area, and not in the pool? */
static inline bool rpmi_kind_is_volatile(uint32_t kind)
{
    return kind == RPM_KIND_DRAM || kind == RPM_KIND_LOCKS;
}

/* Key 0 of every client: 64 bytes of DRAM that a READ may use to push earlier writes out. */
#define RPMI_KEY_SCRATCH 0u

struct rpmi_layout; /* wire/layout.h */

enum rpmi_call_kind {
    RPMI_CALL_OPEN = 1,      /* name, kind, bytes, lsn, id, epoch (when created), set, flags, key
                                (GUARDED): get a key */
    RPMI_CALL_CLAIM = 2,     /* key, flags, epoch, token: fence others, get a write key and the next
                                epoch, or the one asked for */
    RPMI_CALL_SEAL = 3,      /* key (write), lsn: the recovered tail; makes the epoch durable */
    RPMI_CALL_TRIM = 4,      /* key, lsn: new head, durable when answered */
    RPMI_CALL_CLOSE = 5,     /* key: revoke it; that of a claim ends the claim */
    RPMI_CALL_REMOVE = 6,    /* name */
    RPMI_CALL_OWNER = 8,     /* client, epoch: is that client connected? value is 1 or 0 */
    RPMI_CALL_ROOM = 9,      /* object: the room in the area where objects of that kind are */
    RPMI_CALL_NEXT = 10,     /* name: the first object whose name is behind it, RPM_E_RANGE past the
                             last */
    RPMI_CALL_AGENT = 11,    /* name: this client is the declared agent of that name */
    RPMI_CALL_DELEGATE = 12, /* key (write), name: that agent may CARRY records into the log until
                                  the claim ends; key 0: only ask whether the agent is declared */
    RPMI_CALL_UNDELEGATE = 13, /* key (write): once answered, no agent carries records into it */
    RPMI_CALL_KINDS = 14
};

enum rpmi_call_flag {
    RPMI_CALL_CREATE = 1,
    RPMI_CALL_EXCL = 2,
    RPMI_CALL_TAKEOVER = 4,
    RPMI_CALL_GUARDED = 8, /* OPEN of a region: by the claim whose write key is @key; once that has
                              ended, the new key only reads */
    RPMI_CALL_REPAIR = 16, /* CLAIM, SEAL: of a log whose head cannot be read or is an old one */
    RPMI_CALL_RESUME = 32, /* CLAIM: go on from the claim that was given epoch @lsn; RPM_E_FENCED if
                              another claim without this flag was granted after it */
    RPMI_CALL_DURABLE = 64 /* SEAL: everything before @lsn is durable */
};

/* In a reply; CREATE is RPMI_CALL_CREATE. OPEN of a log: does the life in its head still last? */
enum rpmi_reply_flag { RPMI_REPLY_RUN_LASTS = 2, RPMI_REPLY_BOOT_LASTS = 4 };

struct rpmi_call {
    uint32_t kind;  /* enum rpmi_call_kind */
    uint32_t flags; /* enum rpmi_call_flag */
    uint32_t key;
    uint32_t object; /* enum rpm_kind */
    uint64_t bytes;  /* OPEN: size; of a log its capacity; with REPAIR, CLAIM: an epoch that the new
                        one must exceed, SEAL: trim_lsn */
    uint64_t lsn;    /* SEAL, TRIM; OPEN: where a log begins that is created; CLAIM with RESUME: an
                        epoch; OWNER: client << 32 | epoch */
    char name[RPM_NAME_MAX + 1];
    uint64_t id;    /* OPEN of a log: the one that it has, or is created with; 0: any */
    uint32_t epoch; /* CLAIM: the one to be granted; 0: the next. OPEN: the claim word of a log
                       that is created */
    struct rpmi_membership set; /* OPEN of a log: the one that it belongs to, or is created for */
    uint64_t token; /* CLAIM of that epoch once more: what its CLAIM was answered with; else 0 */
};

struct rpmi_reply {
    int32_t status;  /* 0 or negative errno: then of the fields below only text has a meaning */
    uint32_t key;    /* OPEN, CLAIM; ROOM: objects in the area */
    uint32_t object; /* OPEN, NEXT: enum rpm_kind */
    uint32_t epoch;  /* CLAIM: the new one; OPEN of LOCKS: the server's; ROOM: objects at most */
    uint32_t writer; /* NEXT: client that holds the log */
    uint32_t flags;  /* OPEN: RPMI_CALL_CREATE if it was created now; enum rpmi_reply_flag */
    uint64_t bytes;  /* OPEN, NEXT: of the object; of a log its capacity; ROOM: free */
    uint64_t offset; /* OPEN, CLAIM: of the object in the pool or DRAM area; a log: its header;
                        ROOM: bytes of the area */
    uint64_t id;     /* OPEN: log_id */
    uint64_t value;  /* OWNER; SEAL, TRIM: where the log begins, durably; ROOM: bytes of the largest
                        object that can be created; of a log its capacity */
    uint64_t token;  /* CLAIM: by which the same writer may claim the epoch again; OPEN: if it was
                        created with an epoch */
    char name[RPM_NAME_MAX + 1];                          /* NEXT */
    char text[RPMI_REPLY_TEXT_BYTES];                     /* why, when status is not 0 */
    uint64_t certificate_key[RPMI_CERTIFICATE_KEY_WORDS]; /* CLAIM: of its certificates */
};

extern const struct rpmi_layout rpmi_call_layout;
extern const struct rpmi_layout rpmi_reply_layout;

void rpmi_call_put(void *bytes, const struct rpmi_call *call);
void rpmi_reply_put(void *bytes, const struct rpmi_reply *reply);

/* 0, or RPM_E_PROTO: unknown kind or flag, unterminated string. */
int rpmi_call_get(const void *bytes, struct rpmi_call *call);
int rpmi_reply_get(const void *bytes, struct rpmi_reply *reply);

#endif
