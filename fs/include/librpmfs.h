/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpmfs.h: a file system on the memory of several servers, for programs that use it without a
 * mount. Each call is one transaction, durable on all copies when it returns; all clients see all
 * calls in one order.
 */
#ifndef LIBRPMFS_H
#define LIBRPMFS_H

#include <librpmfs/async.h>
#include <librpmfs/attributes.h>
#include <librpmfs/client.h>
#include <librpmfs/directory.h>
#include <librpmfs/file.h>
#include <librpmfs/file_async.h>
#include <librpmfs/lock.h>
#include <librpmfs/tree.h>
#include <librpmfs/tree_async.h>
#include <librpmfs/xattrs.h>

#endif
