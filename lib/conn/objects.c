/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.c: list and remove the objects of a server, and learn how much room it has for more.
 *
 * Tests: tests/unit/conn/objects_test.cpp
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opts.h"
#include "wire/super.h"

#include <string.h>

int rpm_conn_next(struct rpm_conn *conn, struct rpm_entry *entry)
{
    rpmi_begin();

    struct rpmi_call call = { .kind = RPMI_CALL_NEXT };
    struct rpm_entry ours = rpm_entry_init();
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(conn != NULL && entry != NULL);
    err = rpmi_opts_in(&ours, sizeof(ours), entry);
    if (err != 0)
        return err;
    if (memchr(ours.name, '\0', sizeof(ours.name)) == NULL)
        return rpmi_fail(RPM_E_NAME, "the name in the entry has no end: begin a listing with an "
                                     "entry of rpm_entry_init()");
    memcpy(call.name, ours.name, strlen(ours.name));
    err = rpmi_conn_call(conn, &call, &reply);
    if (err != 0)
        return err == RPM_E_RANGE ? 0 : err;
    /* Else a faulty server could keep the caller in an endless listing. */
    if (memchr(reply.name, '\0', sizeof(reply.name)) == NULL || strcmp(reply.name, call.name) <= 0)
        return rpmi_fail(RPM_E_PROTO,
                         "the server lists '%.*s' after '%s', expected a name behind it in the "
                         "order of bytes; the server is faulty: update it",
                         (int)sizeof(reply.name) - 1, reply.name, call.name);
    ours.kind = reply.object;
    ours.bytes = reply.bytes;
    ours.writer = reply.writer;
    memcpy(ours.name, reply.name, sizeof(ours.name));
    err = rpmi_opts_out(entry, &ours, sizeof(ours));
    return err != 0 ? err : 1;
}

int rpm_conn_room(struct rpm_conn *conn, enum rpm_kind kind, struct rpm_room *room)
{
    rpmi_begin();

    struct rpmi_call call = { .kind = RPMI_CALL_ROOM, .object = (uint32_t)kind };
    struct rpm_room ours = rpm_room_init();
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(conn != NULL && room != NULL);
    if ((uint32_t)kind < RPM_KIND_LOG || (uint32_t)kind > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_INVAL, "room for objects of kind %u; kinds are 1 to %d",
                         (unsigned)kind, RPM_KIND_LOCKS);
    err = rpmi_conn_call(conn, &call, &reply);
    if (err != 0)
        return err;
    ours.bytes = reply.offset;
    ours.free_bytes = reply.bytes;
    ours.largest_bytes = reply.value;
    ours.objects = reply.key;
    ours.objects_max = reply.epoch;
    return rpmi_opts_out(room, &ours, sizeof(ours));
}

int rpm_conn_remove(struct rpm_conn *conn, const char *name)
{
    rpmi_begin();

    struct rpmi_call call = { .kind = RPMI_CALL_REMOVE };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL);
    err = rpmi_name_check(name);
    if (err != 0)
        return err;
    memcpy(call.name, name, strlen(name) + 1);
    return rpmi_conn_call(conn, &call, &reply);
}
