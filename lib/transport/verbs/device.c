/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c: probe the RDMA devices of this machine: their capabilities, the reasons of missing
 * ones, and why there is no device.
 *
 * Tests: tests/unit/transport/verbs/device_test.cpp, tests/live/devices_test
 */
#include "transport/verbs/device.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "pmem/sysfs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIDS_MAX 256
#define CLASS "/sys/class/infiniband"
#define VERBS "/sys/class/infiniband_verbs"
#define DEV "/dev/infiniband"
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE (1ull << 40)
#define ASK_CQES 4

static void answer(struct rpm_device *device, enum rpm_device_capability capability, bool has,
                   const char *why)
{
    if (has)
        rpmi_device_yes(device, capability);
    else
        rpmi_device_no(device, capability, "%s", why);
}

/* -1: there is no such directory. */
static int entries_in(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (dir == NULL)
        return -1;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            count++;
    (void)closedir(dir);
    return count;
}

int rpmi_device_none(const struct rpmi_device_roots *roots)
{
    int devices = entries_in(roots->devices, "");

    if (devices < 0)
        return rpmi_fail(RPM_E_NOCAP, "no RDMA device: this kernel has no RDMA; load ib_uverbs and "
                                      "the driver of a device, where it has them as modules");
    if (devices == 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "no RDMA device: load the driver of one, or make one of a network device: "
                         "rdma link add rxe0 type rxe netdev eth0");
    if (entries_in(roots->verbs, "uverbs") <= 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "the kernel's RDMA device cannot be used by programs: load ib_uverbs");
    if (entries_in(roots->dev, "uverbs") <= 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "the kernel's RDMA device has no file in %s: let udev make it, or lend it "
                         "to this container",
                         roots->dev);
    return rpmi_fail(RPM_E_NOCAP, "rdma-core has no provider for the kernel's RDMA device: install "
                                  "ibverbs-providers, or a version as new as the driver");
}

static void judge_flush(const struct ibv_device_attr_ex *attr, const struct rpmi_nic *nic,
                        struct rpm_device *device)
{
    static const char instead[] = "READ with DDIO off, or the server CPU, makes bytes durable";

    if (nic->flush)
        rpmi_device_yes(device, RPM_DEVICE_FLUSH);
    else if ((attr->device_cap_flags_ex & CAP_FLUSH_PERSISTENT) != 0)
        rpmi_device_no(device, RPM_DEVICE_FLUSH,
                       "the device has it, but this librpm was built with headers of rdma-core "
                       "that do not; build it with newer ones. Until then %s",
                       instead);
    else
        rpmi_device_no(device, RPM_DEVICE_FLUSH, "the device and its driver have none; %s",
                       instead);
    if (nic->atomic_write)
        rpmi_device_yes(device, RPM_DEVICE_ATOMIC_WRITE);
    else if ((attr->device_cap_flags_ex & CAP_ATOMIC_WRITE) != 0)
        rpmi_device_no(device, RPM_DEVICE_ATOMIC_WRITE,
                       "the device has it, but this librpm was built with headers of rdma-core "
                       "that do not");
    else
        rpmi_device_no(device, RPM_DEVICE_ATOMIC_WRITE,
                       "the device and its driver have none: single words go as plain writes");
}

static void judge_atomics(const struct ibv_device_attr *attr, struct rpm_device *device)
{
    static const char none[] = "the device has none: locks and shared words need another one";

    answer(device, RPM_DEVICE_ATOMICS, attr->atomic_cap != IBV_ATOMIC_NONE, none);
    if (attr->atomic_cap == IBV_ATOMIC_GLOB)
        rpmi_device_yes(device, RPM_DEVICE_ATOMICS_GLOBAL);
    else if (attr->atomic_cap == IBV_ATOMIC_NONE)
        rpmi_device_no(device, RPM_DEVICE_ATOMICS_GLOBAL, "%s", none);
    else
        rpmi_device_no(device, RPM_DEVICE_ATOMICS_GLOBAL,
                       "atomic only among requests through this device: words and locks shared "
                       "with clients of another device, of shm: or of tcp: are not safe");
}

void rpmi_device_judge(const struct ibv_device_attr_ex *attr, const struct rpmi_nic *nic,
                       struct rpm_device *device)
{
    judge_flush(attr, nic, device);
    judge_atomics(&attr->orig_attr, device);
    answer(device, RPM_DEVICE_WINDOW, nic->window,
           "the device has none of type 2; librpm needs none: the server revokes keys by "
           "deregistering their memory");
    answer(device, RPM_DEVICE_ON_DEMAND, nic->on_demand,
           "the device and its driver do not page on demand: all memory is pinned, and files on "
           "persistent memory (fsdax) cannot be; use devdax");
    device->software = nic->software;
    device->region_max_bytes = attr->orig_attr.max_mr_size;
    device->regions_max = (uint32_t)attr->orig_attr.max_mr;
    device->queue_pairs_max = (uint32_t)attr->orig_attr.max_qp;
    device->requests_max = (uint32_t)attr->orig_attr.max_qp_wr;
    device->completions_max = (uint32_t)attr->orig_attr.max_cqe;
    device->reads_max = (uint32_t)attr->orig_attr.max_qp_rd_atom;
    (void)snprintf(device->firmware, sizeof(device->firmware), "%.63s", attr->orig_attr.fw_ver);
}

static const char *state_word(enum ibv_port_state state)
{
    switch (state) {
    case IBV_PORT_DOWN:
        return "down";
    case IBV_PORT_INIT:
        return "initialising";
    case IBV_PORT_ARMED:
        return "armed";
    case IBV_PORT_ACTIVE:
        return "active";
    case IBV_PORT_ACTIVE_DEFER:
        return "deferred";
    default:
        return "unknown";
    }
}

static const char *link_word(uint8_t layer)
{
    return layer == IBV_LINK_LAYER_ETHERNET     ? "Ethernet"
           : layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand"
                                                : "unspecified";
}

/* A GID is an IPv6 address, or an IPv4 one in it; each type of RoCE lists it again. */
static void add_address(struct rpm_device_port *port, const union ibv_gid *gid)
{
    struct in6_addr at;
    char text[48];

    memcpy(&at, gid->raw, sizeof(at));
    if (IN6_IS_ADDR_V4MAPPED(&at))
        (void)inet_ntop(AF_INET, &at.s6_addr[12], text, sizeof(text));
    else
        (void)inet_ntop(AF_INET6, &at, text, sizeof(text));
    for (uint32_t i = 0; i < port->addresses_n && i < RPM_DEVICE_ADDRESSES; i++)
        if (strcmp(port->address[i], text) == 0)
            return;
    if (port->addresses_n < RPM_DEVICE_ADDRESSES)
        (void)snprintf(port->address[port->addresses_n], sizeof(port->address[0]), "%s", text);
    port->addresses_n++;
}

static void add_addresses(struct ibv_context *verbs, struct rpm_device *device)
{
    struct ibv_gid_entry *entries = rpmi_alloc(GIDS_MAX * sizeof(*entries), 8);
    ssize_t n = entries != NULL ? ibv_query_gid_table(verbs, entries, GIDS_MAX, 0) : 0;

    for (ssize_t i = 0; i < n; i++)
        if (entries[i].port_num >= 1 && entries[i].port_num <= RPM_DEVICE_PORTS)
            add_address(&device->port[entries[i].port_num - 1], &entries[i].gid);
    rpmi_free(entries);
}

static void add_ports(struct ibv_context *verbs, uint8_t ports, struct rpm_device *device)
{
    device->ports_n = ports;
    for (uint8_t i = 0; i < ports && i < RPM_DEVICE_PORTS; i++) {
        struct rpm_device_port *port = &device->port[i];
        struct ibv_port_attr attr;

        port->number = i + 1u;
        memset(&attr, 0, sizeof(attr));
        if (ibv_query_port(verbs, (uint8_t)(i + 1), &attr) != 0) {
            (void)snprintf(port->state, sizeof(port->state), "unknown");
            continue;
        }
        port->mtu = attr.active_mtu != 0 ? 128u << attr.active_mtu : 0;
        (void)snprintf(port->state, sizeof(port->state), "%s", state_word(attr.state));
        (void)snprintf(port->link, sizeof(port->link), "%s", link_word(attr.link_layer));
    }
    add_addresses(verbs, device);
}

/* Add the facts that only sysfs has: the driver and the node. Soft-RoCE's devices have no parent
 * there. */
static void add_place(struct rpm_device *device)
{
    char path[160];
    char target[256];
    char line[32];
    ssize_t len;

    (void)snprintf(path, sizeof(path), CLASS "/%s/device/numa_node", device->name);
    if (rpmi_sysfs_line(path, line, sizeof(line)) > 0)
        device->node = (int32_t)strtol(line, NULL, 10);
    (void)snprintf(path, sizeof(path), CLASS "/%s/device/driver", device->name);
    len = readlink(path, target, sizeof(target) - 1);
    if (len > 0) {
        target[len] = '\0';
        (void)snprintf(device->driver, sizeof(device->driver), "%.31s",
                       strrchr(target, '/') != NULL ? strrchr(target, '/') + 1 : target);
    } else if (device->software) {
        (void)snprintf(device->driver, sizeof(device->driver), "rdma_rxe");
    }
}

/* Create a queue pair as librpm does. */
static int try_queue_pair(struct ibv_context *verbs, struct ibv_pd *pd, const struct rpmi_nic *nic,
                          struct rpm_device *device)
{
    struct ibv_cq *cq = ibv_create_cq(verbs, ASK_CQES, NULL, NULL, 0);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = { .max_send_wr = 1,
                 .max_recv_wr = 1,
                 .max_send_sge = RPMI_SGE_MAX,
                 .max_recv_sge = 1,
                 .max_inline_data = RPMI_INLINE_BYTES },
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = pd,
    };
    struct ibv_qp *qp;
    int why = 0;

    if (cq == NULL)
        return errno;
#ifdef RPMI_HAVE_WR_FLUSH
    if (nic->flush) {
        attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH;
    }
#else
    (void)nic;
#endif
    qp = ibv_create_qp_ex(verbs, &attr);
    if (qp == NULL) {
        attr.cap.max_inline_data = 0;
        qp = ibv_create_qp_ex(verbs, &attr);
    }
    if (qp == NULL)
        why = errno;
    else
        device->inline_bytes = attr.cap.max_inline_data;
    if (qp != NULL)
        (void)ibv_destroy_qp(qp);
    (void)ibv_destroy_cq(cq);
    return why;
}

static bool has_active_port(const struct rpm_device *device)
{
    for (uint32_t i = 0; i < device->ports_n && i < RPM_DEVICE_PORTS; i++)
        if (strcmp(device->port[i].state, "active") == 0)
            return true;
    return device->ports_n > RPM_DEVICE_PORTS;
}

static bool has_address(const struct rpm_device *device)
{
    for (uint32_t i = 0; i < device->ports_n && i < RPM_DEVICE_PORTS; i++)
        if (device->port[i].addresses_n > 0)
            return true;
    return device->ports_n > RPM_DEVICE_PORTS;
}

static void judge_connect(struct ibv_context *verbs, struct ibv_pd *pd, struct rpmi_nic *nic,
                          struct rpm_device *device)
{
    int why = try_queue_pair(verbs, pd, nic, device);

    if (why == EOPNOTSUPP && nic->flush) {
        nic->flush = false;
        rpmi_device_no(device, RPM_DEVICE_FLUSH,
                       "the device has it, but the rdma-core installed here does not: install a "
                       "newer one");
        why = try_queue_pair(verbs, pd, nic, device);
    }
    if (why != 0)
        rpmi_device_no(device, RPM_DEVICE_CONNECT, "the device makes no queue pair: %s",
                       strerror(why));
    else if (access(DEV "/rdma_cm", F_OK) != 0)
        rpmi_device_no(device, RPM_DEVICE_CONNECT,
                       "the kernel's connection manager is not there: load rdma_ucm");
    else if (access(DEV "/rdma_cm", R_OK | W_OK) != 0)
        rpmi_device_no(device, RPM_DEVICE_CONNECT,
                       "may not open " DEV "/rdma_cm: %s; rdma-core's udev rules give it to all",
                       strerror(errno));
    else if (!has_active_port(device))
        rpmi_device_no(device, RPM_DEVICE_CONNECT,
                       "no port is active: look at the cable, the switch, and ip link");
    else if (!has_address(device))
        rpmi_device_no(device, RPM_DEVICE_CONNECT,
                       "no port has an address: give its network device one with ip addr add");
    else
        rpmi_device_yes(device, RPM_DEVICE_CONNECT);
}

/* rdma-core does not say why it could not open the device file, so try to open it here. */
static int open_failed(struct ibv_device *which, int why)
{
    const char *name = ibv_get_device_name(which);
    char path[sizeof(DEV) + sizeof(which->dev_name) + 1];

    (void)snprintf(path, sizeof(path), DEV "/%s", which->dev_name);
    if (access(path, R_OK | W_OK) != 0)
        why = errno;
    if (why == EACCES || why == EPERM)
        return rpmi_fail(RPM_E_DENIED,
                         "may not open the device %s: %s; rdma-core's udev rules give " DEV
                         "/uverbs* to all",
                         name, strerror(why));
    return rpmi_fail(RPM_E_IO, "cannot open the device %s: %s", name, strerror(why));
}

static int ask_device(struct ibv_context *verbs, const char *path, struct rpm_device *device)
{
    struct ibv_device_attr_ex attr;
    struct rpmi_mr_probe probe;
    struct rpmi_nic nic;
    struct ibv_pd *pd;
    int err = rpmi_nic_probe(verbs, &nic);

    memset(&attr, 0, sizeof(attr));
    if (err == 0 && ibv_query_device_ex(verbs, NULL, &attr) != 0)
        err = rpmi_fail(RPM_E_IO, "cannot query the capabilities of device %s: %s", device->name,
                        strerror(errno));
    if (err != 0)
        return err;
    rpmi_device_judge(&attr, &nic, device);
    add_ports(verbs, attr.orig_attr.phys_port_cnt, device);
    add_place(device);
    pd = ibv_alloc_pd(verbs);
    if (pd == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no protection domain: %s", strerror(errno));
    judge_connect(verbs, pd, &nic, device);
    err = rpmi_mr_probe_open(path, &probe);
    if (err == 0)
        rpmi_mr_probe_run(&nic, pd, &probe, device);
    rpmi_mr_probe_close(&probe);
    (void)ibv_dealloc_pd(pd);
    return err;
}

static int open_and_ask(struct ibv_device *which, const char *path, struct rpm_device *device)
{
    struct ibv_context *verbs = ibv_open_device(which);
    int err;

    if (verbs == NULL)
        return open_failed(which, errno);
    (void)snprintf(device->name, sizeof(device->name), "%s", ibv_get_device_name(which));
    err = ask_device(verbs, path, device);
    (void)ibv_close_device(verbs);
    return err;
}

int rpm_device_probe(uint32_t index, const char *path, struct rpm_device *device)
{
    rpmi_begin();

    static const struct rpmi_device_roots roots = { CLASS, VERBS, DEV };
    struct rpm_device *found;
    struct ibv_device **list;
    int n = 0;
    int err;

    if (device == NULL || device->size < sizeof(size_t))
        return rpmi_fail(
            RPM_E_INVAL,
            "the device's size field is not set; initialise it with rpm_device_init()");
    found = rpmi_alloc(sizeof(*found), _Alignof(struct rpm_device));
    if (found == NULL)
        return RPM_E_NOMEM;
    found->size = sizeof(*found);
    found->node = -1;
    list = ibv_get_device_list(&n);
    if (list == NULL || n == 0)
        err = rpmi_device_none(&roots);
    else if (index >= (uint32_t)n)
        err = rpmi_fail(RPM_E_RANGE, "device %u of %d RDMA devices, which are counted from 0",
                        index, n);
    else
        err = open_and_ask(list[index], path, found);
    if (list != NULL)
        ibv_free_device_list(list);
    if (err == 0)
        err = rpmi_opts_out(device, found, sizeof(*found));
    rpmi_free(found);
    return err;
}
