/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.c: list and remove the objects of a server.
 *
 * Tests: tests/unit/conn/objects_test.cpp
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "wire/super.h"

#include <string.h>

static void entry_out(struct rpm_entry *entry, const struct rpmi_reply *reply)
{
    struct rpm_entry ours = {
        .size = sizeof(ours),
        .kind = reply->object,
        .bytes = reply->bytes,
        .writer = reply->writer,
    };

    memcpy(ours.name, reply->name, sizeof(ours.name));
    *entry = ours;
}

int rpm_conn_list(struct rpm_conn *conn, struct rpm_entry *entries, uint32_t room, uint32_t *count)
{
    struct rpmi_call call = { .kind = RPMI_CALL_LIST };
    struct rpmi_reply reply;

    RPM_ASSERT(conn != NULL && count != NULL && (entries != NULL || room == 0));
    for (uint32_t n = 0; n < RPMI_POOL_ENTRIES + RPMI_DRAM_ENTRIES + 1; n++) {
        int err;

        call.lsn = n;
        err = rpmi_conn_call(conn, &call, &reply);
        if (err == RPM_E_RANGE) {
            *count = n;
            return 0;
        }
        if (err != 0)
            return err;
        if (n < room)
            entry_out(&entries[n], &reply);
    }
    return RPM_E_PROTO;
}

int rpm_conn_remove(struct rpm_conn *conn, const char *name)
{
    struct rpmi_call call = { .kind = RPMI_CALL_REMOVE };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL);
    err = rpmi_name_check(name);
    if (err != 0)
        return err;
    strcpy(call.name, name);
    return rpmi_conn_call(conn, &call, &reply);
}
