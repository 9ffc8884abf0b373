/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h: the RDMA devices of this machine: their attributes, the capabilities that librpm uses,
 * and for each one that is missing the reason and the remedy.
 */
#ifndef LIBRPM_DEVICE_H
#define LIBRPM_DEVICE_H

#include <librpm/facts.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPM_DEVICE_PORTS 2
#define RPM_DEVICE_ADDRESSES 8

/* Capabilities that rpm_device_probe() asks a device for. */
enum rpm_device_capability {
    RPM_DEVICE_CONNECT = 0,           /* connections can be made through the device */
    RPM_DEVICE_FLUSH = 1,             /* native FLUSH to persistence */
    RPM_DEVICE_ATOMIC_WRITE = 2,      /* native ATOMIC WRITE of 8 bytes */
    RPM_DEVICE_ATOMICS = 3,           /* compare-and-swap, fetch-and-add */
    RPM_DEVICE_ATOMICS_GLOBAL = 4,    /* ATOMICS that are atomic against CPUs and other devices
                                         too */
    RPM_DEVICE_WINDOW = 5,            /* memory windows of type 2 */
    RPM_DEVICE_ON_DEMAND = 6,         /* on-demand paging: memory that is not pinned */
    RPM_DEVICE_MEMORY_READ = 7,       /* the memory at the path can be registered for READ */
    RPM_DEVICE_MEMORY_WRITE = 8,      /* the same for WRITE */
    RPM_DEVICE_MEMORY_FLUSH = 9,      /* the same with FLUSH to persistence */
    RPM_DEVICE_MEMORY_ON_DEMAND = 10, /* the same on demand, not pinned */
    RPM_DEVICE_CAPABILITIES = 11
};

struct rpm_device_answer {
    uint32_t answer; /* enum rpm_answer */
    char why[236];   /* if the answer is not yes: the reason and the remedy; else empty */
};

struct rpm_device_port {
    uint32_t number;      /* from 1 on */
    uint32_t mtu;         /* bytes of payload in a packet */
    uint32_t addresses_n; /* number that the port has; the first RPM_DEVICE_ADDRESSES are below */
    char state[16];       /* "active", "down", ... */
    char link[16];        /* "Ethernet", "InfiniBand" */
    char address[RPM_DEVICE_ADDRESSES][48]; /* its GIDs as IP addresses */
};

struct rpm_device {
    size_t size;               /* sizeof this struct as the caller compiled it */
    char name[64];             /* such as mlx5_0 or rxe0 */
    char driver[32];           /* of the kernel; empty: unknown */
    char firmware[64];         /* version; empty: none */
    int32_t node;              /* NUMA node, -1 unknown */
    uint32_t software;         /* 1: no hardware: this machine's CPU carries out its reads and
                                  writes */
    uint64_t region_max_bytes; /* of one registration */
    uint32_t regions_max;
    uint32_t queue_pairs_max;
    uint32_t requests_max;    /* work requests in one queue */
    uint32_t completions_max; /* in one completion queue */
    uint32_t reads_max;       /* READs and atomics that one queue pair takes at once */
    uint32_t inline_bytes;    /* granted of the 128 that librpm requests; 0: none, or unknown */
    uint64_t memory_bytes;    /* of the memory at the path; 0: anonymous */
    uint32_t medium;          /* enum rpm_medium of that memory */
    uint32_t ports_n;         /* number that the device has; the first RPM_DEVICE_PORTS are below */
    struct rpm_device_port port[RPM_DEVICE_PORTS];
    struct rpm_device_answer can[RPM_DEVICE_CAPABILITIES]; /* by enum rpm_device_capability */
};

static inline struct rpm_device rpm_device_init(void)
{
    struct rpm_device device;

    memset(&device, 0, sizeof(device));
    device.size = sizeof(device);
    device.node = -1;
    return device;
}

/**
 * rpm_device_probe: query one RDMA device of this machine, and try to register memory with it.
 *
 * @index   from 0 on, in the order of rdma-core.
 * @path    file, directory or device that is, or could hold, a pool; NULL: anonymous memory.
 *          Borrowed.
 * @device  out. Set only on 0.
 *
 * The probe registers the first 2 MiB of the memory, or its smallest mappable piece, and
 * deregisters it; it compares the size of the whole with the limits of the device and the system.
 * If @path is a directory, the memory is an unnamed file, which is removed at once. The probe never
 * changes contents, but may change the time of a file's last modification.
 *
 * Errors:   RPM_E_RANGE (@index is past the last device), RPM_E_NOCAP (there is no device, or none
 *           answers: rpm_last_error() says what is missing), RPM_E_DENIED, RPM_E_NOENT,
 *           RPM_E_INVAL, RPM_E_IO, RPM_E_NOMEM.
 * Threads:  any.
 * Cost:     opens the device, and makes and destroys a queue pair. Blocks for milliseconds.
 */
RPM_MUST_CHECK int rpm_device_probe(uint32_t index, const char *path, struct rpm_device *device);

/**
 * rpm_device_capability_name: the name of a capability, such as "native FLUSH".
 *
 * @capability  any value; "unknown" for a value that no enumerator has.
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_device_capability_name(enum rpm_device_capability capability);

#ifdef __cplusplus
}
#endif

#endif
