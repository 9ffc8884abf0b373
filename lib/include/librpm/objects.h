/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.h: the objects of a server, which are logs, regions and lock tables: list and remove
 * them, and learn how much room there is for more.
 */
#ifndef LIBRPM_OBJECTS_H
#define LIBRPM_OBJECTS_H

#include <librpm/conn.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_kind {
    RPM_KIND_LOG = 1,    /* persistent log */
    RPM_KIND_REGION = 2, /* persistent bytes, for region writes */
    RPM_KIND_DRAM = 3,   /* volatile words, for atomics: lost when the server ends */
    RPM_KIND_LOCKS = 4   /* volatile lock table: the server frees the locks of a dead client */
};

struct rpm_entry {
    size_t size; /* sizeof this struct as the caller compiled it */
    char name[RPM_NAME_MAX + 1];
    uint32_t kind;   /* enum rpm_kind */
    uint64_t bytes;  /* log: capacity; region: length; locks: 8 x their number */
    uint32_t writer; /* log: client id that holds it for writing, 0: none */
};

static inline struct rpm_entry rpm_entry_init(void)
{
    struct rpm_entry entry;

    memset(&entry, 0, sizeof(entry));
    entry.size = sizeof(entry);
    return entry;
}

/* The room of the pool, or of the DRAM area, for objects. */
struct rpm_room {
    size_t size;            /* sizeof this struct as the caller compiled it */
    uint64_t bytes;         /* size of the area, used and free; without superblock and directory */
    uint64_t free_bytes;    /* that no object takes up; may be in several pieces */
    uint64_t largest_bytes; /* of the largest object that can be created; of a log its capacity */
    uint32_t objects;       /* that exist */
    uint32_t objects_max;
};

static inline struct rpm_room rpm_room_init(void)
{
    struct rpm_room room;

    memset(&room, 0, sizeof(room));
    room.size = sizeof(room);
    return room;
}

/**
 * rpm_conn_next: describe the object whose name follows that in @entry, in the order of the bytes
 * of names. So a loop over one entry lists all objects:
 *
 *     struct rpm_entry entry = rpm_entry_init();
 *
 *     while ((err = rpm_conn_next(conn, &entry)) == 1)
 *         puts(entry.name);
 *
 * An object that exists from the first call to the last is listed once, whatever is created or
 * removed meanwhile.
 *
 * @conn   Borrowed.
 * @entry  in: its size field (rpm_entry_init()), and the name behind which to look, which need not
 *         exist; empty: from the first. out: the object, when 1 is returned; else unchanged.
 *
 * Returns 1 with an entry, 0 past the last one.
 * Errors:   RPM_E_INVAL, RPM_E_OPTS, RPM_E_NAME, RPM_E_LOST, RPM_E_TIMEDOUT; RPM_E_PROTO: the
 *           server answers with a name that is not behind that in @entry.
 * Threads:  one per conn.
 * Cost:     one message round trip.
 */
RPM_MUST_CHECK int rpm_conn_next(struct rpm_conn *conn, struct rpm_entry *entry);

/**
 * rpm_conn_room: how much room the server has for objects of a kind.
 *
 * @conn  Borrowed.
 * @kind  logs and regions share the pool; DRAM regions and lock tables share another area.
 * @room  in: its size field (rpm_room_init()); out: the rest, set only on 0. Other clients may take
 *        the room meanwhile.
 *
 * Errors:   RPM_E_INVAL, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one message round trip.
 */
RPM_MUST_CHECK int rpm_conn_room(struct rpm_conn *conn, enum rpm_kind kind, struct rpm_room *room);

/**
 * rpm_conn_remove: delete an object and free its space.
 *
 * @conn  Borrowed.
 * @name  Borrowed.
 *
 * Durable:  on 0 the object stays deleted after power loss; on RPM_E_LOST it may or may not.
 * Errors:   RPM_E_NOENT, RPM_E_OWNED (the object is open, or a process that has not noticed the
 *           death of its server still maps it), RPM_E_NAME, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one message round trip.
 */
RPM_MUST_CHECK int rpm_conn_remove(struct rpm_conn *conn, const char *name);

#ifdef __cplusplus
}
#endif
#endif
