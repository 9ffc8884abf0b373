/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpm.h: remote persistent logs and region writes. Includes all other headers.
 */
#ifndef LIBRPM_H
#define LIBRPM_H

#include <librpm/agent.h>
#include <librpm/append.h>
#include <librpm/chain.h>
#include <librpm/conn.h>
#include <librpm/decision.h>
#include <librpm/device.h>
#include <librpm/diag.h>
#include <librpm/error.h>
#include <librpm/facts.h>
#include <librpm/lock.h>
#include <librpm/log.h>
#include <librpm/model.h>
#include <librpm/objects.h>
#include <librpm/path.h>
#include <librpm/plan.h>
#include <librpm/reader.h>
#include <librpm/region.h>
#include <librpm/region_async.h>
#include <librpm/repair.h>
#include <librpm/script.h>
#include <librpm/server.h>
#include <librpm/sim.h>
#include <librpm/stats.h>
#include <librpm/steps.h>
#include <librpm/tier.h>
#include <librpm/version.h>

#endif
