/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maker.h: a route while it is being made, and the parts that it is made of. route.c makes the
 * routes of flows from them, chain.c those of chains.
 */
#ifndef RPMI_SIM_PATH_MAKER_H
#define RPMI_SIM_PATH_MAKER_H

#include "sim/path/path_model.h"

struct rpmi_maker {
    const struct rpmi_params *params;
    struct rpmi_route *route;
    bool dpu;
    bool soc;   /* the messages are handled by units of the SoC's path */
    bool chain; /* SoC cores, not the flow's threads, post copies */
    uint64_t bytes;
};

struct rpmi_hop *rpmi_make_hop(struct rpmi_maker *maker, enum rpmi_hop_kind kind, uint32_t station,
                               uint64_t ps);
void rpmi_make_link(struct rpmi_maker *maker, enum rpmi_path_wire wire, uint64_t payload);
void rpmi_make_port(struct rpmi_maker *maker, enum rpmi_path_wire wire);
void rpmi_make_unit(struct rpmi_maker *maker);

/* The NIC reads or writes a memory. */
void rpmi_make_host_read(struct rpmi_maker *maker);
void rpmi_make_soc_read(struct rpmi_maker *maker);
void rpmi_make_host_write(struct rpmi_maker *maker);
void rpmi_make_soc_write(struct rpmi_maker *maker);
void rpmi_make_place(struct rpmi_maker *maker);

void rpmi_make_from_client(struct rpmi_maker *maker, bool payload);
void rpmi_make_to_client(struct rpmi_maker *maker, uint64_t nic_ps);

/* route.c: one operation of a path, from where it is posted until its poster has its completion. */
void rpmi_route_op(struct rpmi_maker *maker, uint32_t path, uint32_t op);
/* 0, or RPM_E_INVAL: there is no DPU, so no path but 1. */
int rpmi_route_needs_dpu(const struct rpmi_params *params);

#endif
