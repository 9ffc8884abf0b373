/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regions.c: register the memory of a client's keys in the client's own protection domain: the
 * whole object for reading, and for writing the part behind the bytes that only the server writes.
 * When a writer is fenced, the server deregisters its memory for writing, of the log and of the
 * regions that its claim guards, before it grants the next claim: the NIC refuses later requests of
 * the old writer. The registrations for reading stay.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

static int register_part(struct rpmi_verbs_session *session, unsigned char *base, uint64_t bytes,
                         uint32_t access, struct ibv_mr **mr)
{
    return rpmi_nic_register(&session->nic->nic, session->pd, base, bytes, access, mr);
}

static int register_key(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                        uint32_t key, const struct rpmi_extent *extent)
{
    struct rpm_server *server = listener->base.server;
    bool pool = extent->area == RPMI_AREA_POOL;
    unsigned char *base = (pool ? server->pool.base : server->dram.base) + extent->offset;
    uint32_t reading = RPMI_NIC_READ;
    uint32_t writing = 0;
    int err;

    RPM_ASSERT(session->read_mr[key] == NULL && session->write_mr[key] == NULL);
    RPM_ASSERT(extent->bytes > extent->guarded_bytes);
    RPM_ASSERT(rpmi_in_bounds(extent->offset, extent->bytes,
                              pool ? server->pool.mem.bytes : server->dram.mem.bytes));
    if (pool && session->nic->flushes)
        reading |= RPMI_NIC_FLUSH;
    if ((extent->rights & RPMI_RIGHT_WRITE) != 0 && (!pool || session->nic->writes))
        writing |= RPMI_NIC_WRITE;
    if ((extent->rights & RPMI_RIGHT_ATOMIC) != 0)
        writing |= RPMI_NIC_ATOMIC;
    err = register_part(session, base, extent->bytes, reading, &session->read_mr[key]);
    if (err == 0 && writing != 0)
        err =
            register_part(session, base + extent->guarded_bytes,
                          extent->bytes - extent->guarded_bytes, writing, &session->write_mr[key]);
    return err;
}

int rpmi_regions_grant(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                       uint32_t key, struct rpmi_grant_key *grant)
{
    struct rpm_server *server = listener->base.server;
    struct rpmi_extent extent;
    int err;

    rpmi_serve_lock(server);
    err = rpmi_service_extent(server->service, session->base.client, key, &extent);
    rpmi_serve_unlock(server);
    if (err == 0)
        err = register_key(listener, session, key, &extent);
    if (err != 0) {
        (void)rpmi_regions_drop(session, key);
        return err;
    }
    /* Set before the reply is sent: rpmi_regions_quiesce() finds the key by it. */
    RPM_ASSERT(session->read_mr[key] != NULL && session->claimed[key] == 0);
    session->claimed[key] = extent.claim_header;
    *grant = (struct rpmi_grant_key){
        .address = (uintptr_t)session->read_mr[key]->addr,
        .bytes = extent.bytes,
        .guarded_bytes = extent.guarded_bytes,
        .read_rkey = session->read_mr[key]->rkey,
        .write_rkey = session->write_mr[key] != NULL ? session->write_mr[key]->rkey : 0,
        .rights = extent.rights,
    };
    return 0;
}

static bool drop(struct ibv_mr **mr)
{
    if (*mr == NULL)
        return true;
    if (ibv_dereg_mr(*mr) != 0) {
        rpmi_diag(RPM_DIAG_ERROR, "the NIC cannot deregister a memory region: %s", strerror(errno));
        return false;
    }
    *mr = NULL;
    return true;
}

bool rpmi_regions_drop(struct rpmi_verbs_session *session, uint32_t key)
{
    bool read;
    bool write;

    RPM_ASSERT(key < RPMI_KEYS_MAX);
    read = drop(&session->read_mr[key]);
    write = drop(&session->write_mr[key]);
    session->claimed[key] = 0;
    return read && write;
}

void rpmi_regions_drop_all(struct rpmi_verbs_session *session)
{
    for (uint32_t key = 0; key < RPMI_KEYS_MAX; key++)
        (void)rpmi_regions_drop(session, key);
}

/* Send the old writer a fenced message before its memory is deregistered: it arrives first, so the
 * writer learns why the NIC refuses its requests. If it does not arrive, the writer only sees a
 * lost connection, and stops as well. */
static bool fence(struct rpmi_verbs_session *session, uint32_t key)
{
    unsigned char *message = rpmi_verbs_fenced_at(session, key);

    if (session->write_mr[key] == NULL)
        return true;
    rpmi_fenced_put(message, key);
    (void)rpmi_msg_send(session, message, RPMI_FENCED_BYTES);
    return drop(&session->write_mr[key]);
}

int rpmi_regions_quiesce(struct rpmi_listener *listener, uint64_t header_offset)
{
    struct rpmi_verbs_listener *ours = rpmi_verbs_listener_of(listener);

    RPM_ASSERT(rpmi_serve_has_lock(listener->server)); /* no key is granted meanwhile */
    RPM_ASSERT(header_offset != 0);                    /* 0 marks the keys without a claim */
    for (uint32_t i = 0; i < ours->sessions_n; i++) {
        struct rpmi_verbs_session *session = &ours->sessions[i];

        if (rpmi_verbs_session_state(session) != RPMI_VERBS_SESSION_LIVE)
            continue;
        for (uint32_t key = 0; key < RPMI_KEYS_MAX; key++)
            if (session->claimed[key] == header_offset && !fence(session, key))
                return rpmi_fail(
                    RPM_E_OWNED,
                    "the NIC did not revoke the memory region of the fenced writer; try again");
    }
    return 0;
}
