/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c: the memory that the client's NIC reads and writes: staging memory that ops refer to,
 * and the link's own buffers. Both keep their addresses for as long as the link lives; a reconnect
 * through another device registers them there.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>

/* Requests that an op can turn into, on the average: a write with a long tail of zeros and a COPY
 * of many messages take more, and wait for room. */
#define WRS_EACH 2u
#define RECEIVES_SPARE 4u

static unsigned char *map(uint64_t bytes)
{
    void *ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return ptr == MAP_FAILED ? NULL : ptr;
}

int rpmi_verbs_memory_open(struct rpmi_verbs *verbs, uint32_t depth, uint64_t staging_bytes)
{
    int err;

    RPM_ASSERT(verbs->own == NULL); /* a reconnect registers the same memory */
    verbs->send_wrs = depth * WRS_EACH + RPMI_CHAIN_MAX;
    verbs->receives_n = RPMI_MESSAGES_MAX + RECEIVES_SPARE;
    verbs->own_bytes = rpmi_align_up(RPMI_ZEROS_BYTES + RPMI_CALL_SLOT_BYTES +
                                         (uint64_t)verbs->send_wrs * RPMI_SLOT_BYTES +
                                         (uint64_t)verbs->receives_n * RPMI_MSG_TO_CLIENT,
                                     RPMI_PAGE_BYTES);
    verbs->sent = rpmi_alloc(depth * sizeof(verbs->sent[0]), RPMI_LINE_BYTES);
    if (verbs->sent == NULL)
        return RPM_E_NOMEM;
    verbs->own = map(verbs->own_bytes);
    if (verbs->own == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no memory for %llu bytes of requests and messages",
                         (unsigned long long)verbs->own_bytes);
    err = rpmi_stage_map(&verbs->stage, rpmi_align_up(staging_bytes, RPMI_PAGE_BYTES));
    if (err != 0)
        return err;
    verbs->call_slot = verbs->own + RPMI_ZEROS_BYTES;
    verbs->slots = verbs->call_slot + RPMI_CALL_SLOT_BYTES;
    verbs->receives = verbs->slots + (uint64_t)verbs->send_wrs * RPMI_SLOT_BYTES;
    RPM_ASSERT(verbs->receives + (uint64_t)verbs->receives_n * RPMI_MSG_TO_CLIENT <=
               verbs->own + verbs->own_bytes);
    verbs->link.depth = depth;
    return 0;
}

void rpmi_verbs_memory_close(struct rpmi_verbs *verbs)
{
    if (verbs->own != NULL)
        (void)munmap(verbs->own, verbs->own_bytes);
    rpmi_stage_unmap(&verbs->stage);
    rpmi_free(verbs->sent);
}

int rpmi_verbs_memory_register(struct rpmi_verbs *verbs)
{
    int err = 0;

    RPM_ASSERT(verbs->pd != NULL);
    if (verbs->own_mr == NULL)
        err = rpmi_nic_register(&verbs->nic, verbs->pd, verbs->own, verbs->own_bytes,
                                RPMI_NIC_LOCAL, &verbs->own_mr);
    if (err == 0 && verbs->stage_mr == NULL)
        err = rpmi_nic_register(&verbs->nic, verbs->pd, verbs->stage.base, verbs->stage.bytes,
                                RPMI_NIC_LOCAL, &verbs->stage_mr);
    return err;
}

int rpmi_verbs_receive(struct rpmi_verbs *verbs, uint32_t i)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)(verbs->receives + (uint64_t)i * RPMI_MSG_TO_CLIENT),
        .length = RPMI_MSG_TO_CLIENT,
        .lkey = verbs->own_mr->lkey,
    };
    struct ibv_recv_wr wr = {
        .wr_id = RPMI_RECEIVE_ID | i,
        .sg_list = &sge,
        .num_sge = 1,
    };
    struct ibv_recv_wr *bad;

    RPM_ASSERT(i < verbs->receives_n); /* the NIC stores what the server sends there */
    if (ibv_post_recv(verbs->qp.qp, &wr, &bad) != 0)
        return rpmi_fail(RPM_E_LOST, "the device refuses a receive: %s", strerror(errno));
    return 0;
}
