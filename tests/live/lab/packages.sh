# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # used by scripts that source it
# packages.sh: what the guest is made of. Sourced by lib.sh; everything that is cached is named after
# a sum of the lists it was made from, so a change here makes it anew and leaves the old one alone.

# The kernel: the first with rxe's FLUSH and ATOMIC WRITE that Debian 12 has. Mirrors drop old
# versions, so if the pinned one was removed, fetch takes the newest of this series and says so.
KERNEL_SERIES=6.12
KERNEL_PIN=6.12.95+deb12
KERNEL_SUITE=bookworm-backports
case $ARCH in
x86_64) DEBIAN_ARCH=amd64 ;;
aarch64) DEBIAN_ARCH=arm64 ;;
esac
KERNEL_PIN+=-$DEBIAN_ARCH

# Laid over the host's root in the guest: rdma-core 56 for FLUSH, the C library that it needs,
# librpma to compare with, and tools, each with the libraries that a bare Debian 12 may lack.
TREE_SUITE=trixie
TREE_PACKAGES=(libc6 libibverbs1 ibverbs-providers libibverbs-dev librdmacm1t64 librdmacm-dev
    rdma-core libnl-3-200 libnl-route-3-200 ibverbs-utils rdmacm-utils
    perftest libibumad3 libpci3 librpma0 librpma-dev
    iproute2 libbpf1 libelf1t64 libcap2 libmnl0 libtirpc3t64 libxtables12 libselinux1 libpcre2-8-0
    libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libzstd1 zlib1g
    libssl3t64 ndctl libndctl6 libdaxctl1 libjson-c5 libkmod2 liblzma5 libuuid1 libiniparser4
    libtraceevent1 libtracefs1
    python3-pyverbs libpython3.13 python3.13-minimal libpython3.13-minimal libpython3.13-stdlib
    libexpat1 libffi8)

# What of the tree must find all of its libraries, there or on the host, for the tree to be good.
TREE_PROGRAMS=(sbin/ndctl bin/ip bin/rdma sbin/tc bin/ss bin/ibv_devinfo bin/ibv_rc_pingpong bin/rping
    bin/ib_write_lat bin/ib_read_lat bin/python3.13)

# Modules that the initramfs brings, with all that these depend on. Without crc32_generic rxe says
# no more than "No such file or directory".
KERNEL_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_net veth sch_netem
    rdma_rxe ib_uverbs rdma_ucm rdma_cm crc32_generic crc32-pclmul crc32c_generic crc32c-intel
    nfit nd_pmem dax_pmem device_dax libnvdimm ext4)
# The arm64 guest has a device tree that declares its NVDIMMs.
if [ "$ARCH" = aarch64 ]; then
    KERNEL_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_net
        rdma_rxe ib_uverbs rdma_ucm rdma_cm crc32_generic crc32c_generic
        of_pmem nd_pmem dax_pmem device_dax libnvdimm ext4)
fi
