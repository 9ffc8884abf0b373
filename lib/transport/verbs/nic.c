/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.c: query the capabilities of a device, and register memory with it.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/nic.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>
#include <sys/resource.h>

/* Device capabilities that older headers have no names for. */
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE (1ull << 40)
#define VENDOR_SOFTWARE 0xffffffu /* Soft-RoCE gives itself this number */

#define ACCESS_FLUSH_PERSISTENT (1u << 9)

int rpmi_nic_probe(struct ibv_context *verbs, struct rpmi_nic *nic)
{
    struct ibv_device_attr_ex ex;
    const struct ibv_device_attr *attr = &ex.orig_attr;
    const uint32_t on_demand = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;

    memset(&ex, 0, sizeof(ex));
    if (ibv_query_device_ex(verbs, NULL, &ex) != 0)
        return rpmi_fail(RPM_E_IO, "cannot query the capabilities of device %s: %s",
                         ibv_get_device_name(verbs->device), strerror(errno));
    *nic = (struct rpmi_nic){
        .verbs = verbs,
        .region_max = attr->max_mr_size,
        .wr_max = (uint32_t)attr->max_qp_wr,
        .cqe_max = (uint32_t)attr->max_cqe,
        .sge_max = (uint32_t)attr->max_sge,
        .reads_max =
            (uint8_t)(attr->max_qp_rd_atom < (int)RPMI_READS_AT_ONCE ? attr->max_qp_rd_atom
                                                                     : (int)RPMI_READS_AT_ONCE),
        .reads_out = (uint8_t)(attr->max_qp_init_rd_atom < (int)RPMI_READS_AT_ONCE
                                   ? attr->max_qp_init_rd_atom
                                   : (int)RPMI_READS_AT_ONCE),
        .on_demand = (ex.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0 &&
                     (ex.odp_caps.per_transport_caps.rc_odp_caps & on_demand) == on_demand,
        .window = (attr->device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0 ||
                  (attr->device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A) != 0,
        .software = attr->vendor_id == VENDOR_SOFTWARE,
    };
#ifdef RPMI_HAVE_WR_FLUSH
    nic->flush = (ex.device_cap_flags_ex & CAP_FLUSH_PERSISTENT) != 0;
#endif
#if defined(RPMI_HAVE_WR_FLUSH) && defined(RPMI_HAVE_WR_ATOMIC_WRITE)
    nic->atomic_write = (ex.device_cap_flags_ex & CAP_ATOMIC_WRITE) != 0;
#endif
    return 0;
}

static unsigned access_flags(uint32_t access)
{
    unsigned flags = 0;

    if ((access & RPMI_NIC_READ) != 0)
        flags |= IBV_ACCESS_REMOTE_READ;
    if ((access & RPMI_NIC_WRITE) != 0)
        flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    if ((access & RPMI_NIC_ATOMIC) != 0)
        flags |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
    if ((access & RPMI_NIC_FLUSH) != 0)
        flags |= ACCESS_FLUSH_PERSISTENT;
    return access == RPMI_NIC_LOCAL ? IBV_ACCESS_LOCAL_WRITE : flags;
}

static int register_failed(const struct rpmi_nic *nic, uint64_t bytes, uint32_t access, int why)
{
    const char *name = ibv_get_device_name(nic->verbs->device);
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (why == ENOMEM && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        return rpmi_fail(RPM_E_NOMEM,
                         "cannot pin %llu bytes: the limit of locked memory is %llu; raise it with "
                         "ulimit -l or LimitMEMLOCK=",
                         (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    if (why == ENOMEM)
        return rpmi_fail(RPM_E_NOMEM, "device %s cannot pin %llu bytes: %s", name,
                         (unsigned long long)bytes, strerror(why));
    if (why == EOPNOTSUPP)
        return rpmi_fail(RPM_E_NOCAP,
                         "device %s cannot pin this memory: a file on persistent memory (fsdax) "
                         "takes a device with on-demand paging; use devdax",
                         name);
    if (why == EINVAL && (access & RPMI_NIC_FLUSH) != 0)
        return rpmi_fail(RPM_E_NOCAP, "device %s takes no FLUSH to persistence for this memory",
                         name);
    return rpmi_fail(why == EFAULT || why == EINVAL ? RPM_E_NOCAP : RPM_E_IO,
                     "device %s cannot register this memory: %s", name, strerror(why));
}

int rpmi_nic_register(const struct rpmi_nic *nic, struct ibv_pd *pd, void *base, uint64_t bytes,
                      uint32_t access, struct ibv_mr **mr)
{
    unsigned flags = access_flags(access);

    RPM_ASSERT(*mr == NULL); /* a registration that is forgotten stays open to the other side */
    if (bytes > nic->region_max)
        return rpmi_fail(RPM_E_TOOBIG,
                         "device %s registers at most %llu bytes, the memory has %llu",
                         ibv_get_device_name(nic->verbs->device),
                         (unsigned long long)nic->region_max, (unsigned long long)bytes);
    *mr = ibv_reg_mr(pd, base, bytes, flags);
    if (*mr == NULL && errno == EOPNOTSUPP && nic->on_demand)
        *mr = ibv_reg_mr(pd, base, bytes, flags | IBV_ACCESS_ON_DEMAND);
    return *mr != NULL ? 0 : register_failed(nic, bytes, access, errno);
}
