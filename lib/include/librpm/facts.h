/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.h: levels, persistence methods and the facts of a server's platform, which decide what an
 * acknowledgement can be proven to promise. An unknown fact counts as the worse case.
 */
#ifndef LIBRPM_FACTS_H
#define LIBRPM_FACTS_H

#include <librpm/error.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an acknowledgement promises. Ordered: a higher level includes the lower ones. */
enum rpm_level {
    RPM_LEVEL_DEFAULT = 0, /* in options only: RPM_DURABLE */
    RPM_POSTED = 1,        /* nothing: handed to the transport, the library holds no copy */
    RPM_VISIBLE = 2,       /* survives death of the client */
    RPM_PROCESS = 3,       /* + death of the server process: the memory outlives it */
    RPM_DURABLE = 4        /* + power loss at the server: bytes are in the persistence domain */
};

/* How bytes are brought to a level. One bit each in rpm_facts.methods. */
enum rpm_method {
    RPM_METHOD_DEFAULT = 0,    /* in options only: the cheapest legal one */
    RPM_METHOD_WRITE = 1,      /* WRITE, wait for its completion */
    RPM_METHOD_READ = 2,       /* WRITE then READ, same queue pair */
    RPM_METHOD_READ_OTHER = 3, /* WRITE, READ on another queue pair: never legal */
    RPM_METHOD_MESSAGE = 4,    /* WRITE then message; server CPU flushes the range; ack */
    RPM_METHOD_IMMEDIATE = 5,  /* WRITE_WITH_IMM; server CPU flushes; ack */
    RPM_METHOD_COPY = 6,       /* message into a DRAM ring; server CPU copies non-temporally; ack */
    RPM_METHOD_FLUSH = 7,      /* WRITE then native RDMA FLUSH(persistence) */
    RPM_METHOD_STORE = 8,      /* shared mapping: the client's CPU stores non-temporally and
                                  fences */
    RPM_METHOD_ORDER = 9,      /* WRITE; an agent has the server certify many clients' records at
                                  once; logs on a connection with an agent */
    RPM_METHOD_CARRY = 10,     /* a declared agent has the server store and certify records of many
                                  clients at once; logs on a connection with ",carry=NAME" */
    RPM_METHOD_COUNT = 11
};

enum rpm_medium {
    RPM_MEDIUM_UNKNOWN = 0,
    RPM_MEDIUM_DRAM = 1,  /* anonymous memory: lost when the server process ends */
    RPM_MEDIUM_HUGE = 2,  /* the same, on huge pages */
    RPM_MEDIUM_TMPFS = 3, /* file in memory: outlives the process, lost with the power */
    RPM_MEDIUM_FILE = 4,  /* file on a block device: the server CPU must call msync */
    RPM_MEDIUM_FSDAX = 5, /* file on persistent memory, mapped with MAP_SYNC */
    RPM_MEDIUM_DEVDAX = 6 /* character device of persistent memory */
};

/* Where bytes must have arrived to survive power loss. */
enum rpm_domain {
    RPM_DOMAIN_NONE = 0,  /* nowhere: this memory loses its contents */
    RPM_DOMAIN_MSYNC = 1, /* the block device below a page cache */
    RPM_DOMAIN_ADR = 2,   /* the memory controller's queue: CPU caches are outside */
    RPM_DOMAIN_EADR = 3   /* CPU caches are inside */
};

enum rpm_answer { RPM_UNKNOWN = 0, RPM_NO = 1, RPM_YES = 2 };

struct rpm_facts {
    size_t size;                /* sizeof this struct as the caller compiled it */
    uint32_t medium;            /* enum rpm_medium */
    uint32_t domain;            /* enum rpm_domain */
    uint32_t domain_declared;   /* 1: the operator declared it, no probe found it */
    uint32_t ddio;              /* enum rpm_answer: inbound writes allocate in the CPU cache */
    uint32_t native_flush;      /* enum rpm_answer: FLUSH(persistence) reported for this region */
    uint32_t atomic_write;      /* enum rpm_answer */
    uint32_t memory_window;     /* enum rpm_answer: keys can be revoked one by one */
    uint32_t granularity_bytes; /* store granularity by libpmem2: 1, 64, 4096; 0 unknown */
    uint32_t line_bytes;        /* media line: 256 for 3D XPoint, 64 for DRAM */
    uint32_t methods;           /* bit (1 << enum rpm_method): the methods that this link has */
    int32_t memory_node;        /* NUMA node of the memory, -1 unknown */
    int32_t port_node;          /* NUMA node of the port, -1 unknown */
    uint32_t modelled;          /* 1: numbers and survival come from the device model */
    uint32_t pool_starts;       /* how often a server has opened this pool, this run included; a
                                   lower number than before: the pool was restored from an older
                                   copy; 0 unknown */
};

static inline struct rpm_facts rpm_facts_init(void)
{
    struct rpm_facts facts;

    memset(&facts, 0, sizeof(facts));
    facts.size = sizeof(facts);
    facts.memory_node = -1;
    facts.port_node = -1;
    return facts;
}

/**
 * rpm_legal: does a method reach a level on a platform?
 *
 * @facts   platform. Borrowed.
 * @method  how the bytes are brought there.
 * @level   what the acknowledgement is to promise.
 * @reason  out, may be NULL: one sentence why or why not. Returned, static.
 *
 * Returns 1 if legal, 0 if not.
 * Threads:  any.
 * Source:   the legality matrix in lib/plan/legal.c.
 */
int rpm_legal(const struct rpm_facts *facts, enum rpm_method method, enum rpm_level level,
              const char **reason);

/**
 * rpm_probe: read the facts of this machine and of what backs a path.
 *
 * @path   file, directory or device; NULL: anonymous memory. Borrowed.
 * @facts  out. Fields that no probe can read are left unknown.
 *
 * Errors:   RPM_E_NOENT, RPM_E_DENIED, RPM_E_IO.
 * Threads:  any.
 * Cost:     opens and maps @path for the probe; never writes to it.
 */
RPM_MUST_CHECK int rpm_probe(const char *path, struct rpm_facts *facts);

/**
 * rpm_facts_text: facts as text, one "name: value" a line, declared and modelled facts marked.
 *
 * @facts  Borrowed.
 * @text   out, NUL-terminated. Borrowed.
 * @bytes  room at @text.
 *
 * Returns the length that the whole text has, as snprintf does.
 * Threads:  any.
 */
int rpm_facts_text(const struct rpm_facts *facts, char *text, size_t bytes);

/**
 * rpm_level_name: the word for a level, such as "durable".
 *
 * @level  any value; "unknown" for a value that no enumerator has.
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_level_name(enum rpm_level level);

/**
 * rpm_method_name: the word for a persistence method, such as "read".
 *
 * @method  any value; "unknown" for a value that no enumerator has.
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_method_name(enum rpm_method method);

/**
 * rpm_medium_name: the word for a medium, such as "tmpfs".
 *
 * @medium  any value; "unknown" for a value that no enumerator has.
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_medium_name(enum rpm_medium medium);

/**
 * rpm_domain_name: the word for a persistence domain, such as "adr".
 *
 * @domain  any value; "unknown" for a value that no enumerator has.
 *
 * Returns a string that is never NULL. Returned, static: never freed.
 * Threads:  any.
 */
const char *rpm_domain_name(enum rpm_domain domain);

#ifdef __cplusplus
}
#endif
#endif
