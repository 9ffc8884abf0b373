/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h: an RDMA device: its capabilities, memory registered with it, and its queue pairs.
 *
 * Native FLUSH and ATOMIC WRITE need a device that has them, which the library queries at run time,
 * and an rdma-core whose headers have them when librpm is compiled.
 */
#ifndef RPMI_VERBS_NIC_H
#define RPMI_VERBS_NIC_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#define RPMI_SGE_MAX 3u        /* head, body, zeros */
#define RPMI_INLINE_BYTES 128u /* asked for; a device may give less */
#define RPMI_READS_AT_ONCE 16u /* READs and atomics outstanding, asked for */

struct rpmi_nic {
    struct ibv_context *verbs;
    uint64_t region_max; /* bytes of one registration */
    uint32_t wr_max;     /* work requests in one queue */
    uint32_t cqe_max;
    uint32_t sge_max;
    uint8_t reads_max; /* READs and atomics that a queue pair accepts at once */
    uint8_t reads_out; /* that it sends at once */
    bool flush;        /* native FLUSH(persistence), by device and by rdma-core */
    bool atomic_write;
    bool on_demand; /* WRITE and READ of pages that are not pinned */
    bool window;    /* memory windows of type 2 */
    bool software;  /* Soft-RoCE: this machine's CPU writes, through its caches */
};

/* Query the capabilities of @verbs. RPM_E_IO. */
int rpmi_nic_probe(struct ibv_context *verbs, struct rpmi_nic *nic);

/* What the remote side may do with registered memory. */
enum rpmi_nic_access {
    RPMI_NIC_LOCAL = 0, /* no access: buffers that only this side's NIC uses */
    RPMI_NIC_READ = 1,
    RPMI_NIC_WRITE = 2,
    RPMI_NIC_ATOMIC = 4,
    RPMI_NIC_FLUSH = 8 /* to persistence; the region must be reported persistent */
};

/*
 * Register memory. RPM_E_TOOBIG (more than the device takes), RPM_E_NOMEM (memlock limit, with what
 * to do about it), RPM_E_NOCAP (this kind of memory cannot be pinned for this device, or takes no
 * FLUSH), each with a reason. Relaxed ordering is never asked for.
 */
int rpmi_nic_register(const struct rpmi_nic *nic, struct ibv_pd *pd, void *base, uint64_t bytes,
                      uint32_t access, struct ibv_mr **mr);

struct rpmi_qp_attr {
    struct ibv_pd *pd;
    struct ibv_cq *cq; /* for both queues */
    uint32_t send_wrs;
    uint32_t recv_wrs;
    bool flush; /* FLUSH will be posted */
    bool words; /* ATOMIC WRITE will be */
};

/* A queue pair of @id, with what was granted. */
struct rpmi_qp {
    struct ibv_qp *qp;
    struct ibv_qp_ex *ex; /* NULL: it posts neither FLUSH nor ATOMIC WRITE */
    uint32_t inline_bytes;
};

/* RPM_E_NOMEM, RPM_E_NOCAP (more than the device has). */
int rpmi_qp_create(struct rdma_cm_id *id, const struct rpmi_qp_attr *wanted, struct rpmi_qp *qp);

/* One work request. Some versions of rdma-core have no opcodes for FLUSH and ATOMIC WRITE, hence
 * fields. */
struct rpmi_wr {
    struct ibv_send_wr wr;
    struct ibv_sge sge[RPMI_SGE_MAX];
    uint64_t flush_bytes; /* not 0: a FLUSH of this many bytes replaces the request in wr */
    bool word;            /* an ATOMIC WRITE of the word at sge[0] replaces the request in wr */
};

/* Post a chain behind one doorbell. 0 or RPM_E_LOST: then any number of them may have been sent. */
int rpmi_qp_post(const struct rpmi_qp *qp, struct rpmi_wr *chain, uint32_t n);

#endif
