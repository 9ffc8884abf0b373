/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp.c: create a queue pair, and post chains of work requests, each chain behind one doorbell.
 *
 * A chain with a FLUSH or an ATOMIC WRITE in it is posted by rdma-core's newer interface
 * (ibv_wr_*), which alone has them; any other by ibv_post_send(), which every provider has.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/nic.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>

static int create_failed(struct rdma_cm_id *id, const struct rpmi_qp_attr *wanted)
{
    const char *name = ibv_get_device_name(id->verbs->device);

    if (errno == ENOMEM || errno == EAGAIN)
        return rpmi_fail(RPM_E_NOMEM, "device %s has no room for another queue pair: %s", name,
                         strerror(errno));
    return rpmi_fail(RPM_E_NOCAP, "device %s makes no queue pair of %u + %u requests: %s", name,
                     wanted->send_wrs, wanted->recv_wrs, strerror(errno));
}

static void attr_fill(const struct rpmi_qp_attr *wanted, struct ibv_qp_init_attr_ex *attr)
{
    *attr = (struct ibv_qp_init_attr_ex){
        .send_cq = wanted->cq,
        .recv_cq = wanted->cq,
        .cap = { .max_send_wr = wanted->send_wrs,
                 .max_recv_wr = wanted->recv_wrs,
                 .max_send_sge = RPMI_SGE_MAX,
                 .max_recv_sge = 1,
                 .max_inline_data = RPMI_INLINE_BYTES },
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = wanted->pd,
    };
#ifdef RPMI_HAVE_WR_FLUSH
    if (wanted->flush || wanted->words) {
        attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr->send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                               IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ |
                               IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                               IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    }
    if (wanted->flush)
        attr->send_ops_flags |= IBV_QP_EX_WITH_FLUSH;
#ifdef RPMI_HAVE_WR_ATOMIC_WRITE
    if (wanted->words)
        attr->send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#endif
#endif
}

int rpmi_qp_create(struct rdma_cm_id *id, const struct rpmi_qp_attr *wanted, struct rpmi_qp *qp)
{
    struct ibv_qp_init_attr_ex attr;

    attr_fill(wanted, &attr);
    if (rdma_create_qp_ex(id, &attr) != 0) {
        /* Some devices copy nothing into a request. */
        attr_fill(wanted, &attr);
        attr.cap.max_inline_data = 0;
        if (rdma_create_qp_ex(id, &attr) != 0)
            return create_failed(id, wanted);
    }
    qp->qp = id->qp;
    qp->inline_bytes = attr.cap.max_inline_data;
    qp->ex = NULL;
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0)
        qp->ex = ibv_qp_to_qp_ex(id->qp);
    return 0;
}

static int post_linked(struct ibv_qp *qp, struct rpmi_wr *chain, uint32_t n)
{
    struct ibv_send_wr *bad;
    int err;

    for (uint32_t i = 0; i < n; i++) {
        RPM_ASSERT(chain[i].flush_bytes == 0 && !chain[i].word);
        chain[i].wr.next = i + 1 < n ? &chain[i + 1].wr : NULL;
    }
    err = ibv_post_send(qp, &chain[0].wr, &bad);
    if (err != 0)
        return rpmi_fail(RPM_E_LOST, "the device refuses a request: %s", strerror(err));
    return 0;
}

#ifdef RPMI_HAVE_WR_FLUSH
static void put_data(struct ibv_qp_ex *ex, const struct rpmi_wr *wr)
{
    struct ibv_data_buf buf[RPMI_SGE_MAX];
    size_t n = (size_t)wr->wr.num_sge;

    if ((wr->wr.send_flags & IBV_SEND_INLINE) == 0) {
        ibv_wr_set_sge_list(ex, n, wr->wr.sg_list);
        return;
    }
    for (size_t i = 0; i < n; i++)
        buf[i] = (struct ibv_data_buf){ .addr = (void *)(uintptr_t)wr->wr.sg_list[i].addr,
                                        .length = wr->wr.sg_list[i].length };
    ibv_wr_set_inline_data_list(ex, n, buf);
}

static void put_request(struct ibv_qp_ex *ex, const struct rpmi_wr *wr)
{
    const struct ibv_send_wr *from = &wr->wr;

    ex->wr_id = from->wr_id;
    ex->wr_flags = from->send_flags & ~(unsigned)IBV_SEND_INLINE;
    if (wr->flush_bytes != 0) {
        ibv_wr_flush(ex, from->wr.rdma.rkey, from->wr.rdma.remote_addr, wr->flush_bytes,
                     IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
        return;
    }
#ifdef RPMI_HAVE_WR_ATOMIC_WRITE
    if (wr->word) {
        ibv_wr_atomic_write(ex, from->wr.rdma.rkey, from->wr.rdma.remote_addr,
                            (const void *)(uintptr_t)from->sg_list[0].addr);
        return;
    }
#endif
    switch (from->opcode) {
    case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(ex, from->wr.rdma.rkey, from->wr.rdma.remote_addr);
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(ex, from->wr.rdma.rkey, from->wr.rdma.remote_addr, from->imm_data);
        break;
    case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(ex, from->wr.rdma.rkey, from->wr.rdma.remote_addr);
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(ex, from->wr.atomic.rkey, from->wr.atomic.remote_addr,
                              from->wr.atomic.compare_add, from->wr.atomic.swap);
        break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        ibv_wr_atomic_fetch_add(ex, from->wr.atomic.rkey, from->wr.atomic.remote_addr,
                                from->wr.atomic.compare_add);
        break;
    default:
        RPM_ASSERT(from->opcode == IBV_WR_SEND);
        ibv_wr_send(ex);
        break;
    }
    put_data(ex, wr);
}

static int post_started(struct ibv_qp_ex *ex, const struct rpmi_wr *chain, uint32_t n)
{
    int err;

    RPM_ASSERT(ex != NULL); /* a queue pair without FLUSH is never asked for one */
    ibv_wr_start(ex);
    for (uint32_t i = 0; i < n; i++)
        put_request(ex, &chain[i]);
    err = ibv_wr_complete(ex);
    if (err != 0)
        return rpmi_fail(RPM_E_LOST, "the device refuses a request: %s", strerror(err));
    return 0;
}
#endif

int rpmi_qp_post(const struct rpmi_qp *qp, struct rpmi_wr *chain, uint32_t n)
{
    RPM_ASSERT(n > 0);
#ifdef RPMI_HAVE_WR_FLUSH
    for (uint32_t i = 0; i < n; i++)
        if (chain[i].flush_bytes != 0 || chain[i].word)
            return post_started(qp->ex, chain, n);
#endif
    return post_linked(qp->qp, chain, n);
}
