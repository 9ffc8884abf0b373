# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # used by scripts that source it
# lib.sh: what the laboratory's commands share. Sourced by bash, never run.
#
#   offer_help "$@"     if the first argument is --help: print the first comment of the command, and exit
#   skip REASON...      the laboratory cannot run here: print the reason, exit 77
#   need_host           check that the host has the programs that are needed, or skip
#   hold NAME           wait until no other process holds NAME in the cache, then hold it to the end
#   ready               fetch and pack what is missing; sets GUEST_KERNEL and GUEST_INITRD
#   build_shared ...    run build; the build folder then stays as it is until this process ends
#   boot ...            run boot; the guest ends with this process
#   new_pair            create two NVDIMMs; set NVDIMMS, PAIR (the options of boot for a guest with two devices and
#                       these NVDIMMs) and SHARE (its /run/lab, removed when this process ends)
#   guest_pair ...      run boot with such a pair
#   cut_power FILE JOB  SIGKILL to the QEMU whose process id is in FILE, of a boot that runs as JOB: its memory is
#                       lost, its NVDIMMs keep their bytes. Fails if it has ended already
#   end_guest FILE JOB  the same for the end of a run, also for a guest that has only just been started
#   nap_ms N            sleep for N milliseconds
#
# CACHE is outside the tree; see README.md for what is in it. ARCH is the guest's: LIBRPM_LAB_ARCH, else x86_64.

LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$LAB/../../../scripts/lib.sh"
ARCH=${LIBRPM_LAB_ARCH:-x86_64}
. "$LAB/packages.sh"

CACHE=${LIBRPM_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/librpm-lab}

# The first letters of a sum over standard input: part of a name in the cache.
sum() {
    sha256sum | cut -c 1-12
}

KERNEL=$CACHE/kernel-$(sum <<<"$KERNEL_PIN ${KERNEL_MODULES[*]}")
if [ "$ARCH" = aarch64 ]; then
    # All of it is what scripts/cross has and makes.
    TREE=$TOP/build/aarch64-root/sysroot
    BUILD=$TOP/build/aarch64
else
    TREE=$CACHE/tree-$(sum <<<"$TREE_SUITE ${TREE_PACKAGES[*]} ${TREE_PROGRAMS[*]}")
    # As deep in the tree as the release's: ccache then finds its objects again.
    BUILD=$(realpath -m "${LIBRPM_LAB_BUILD:-$TOP/build-lab}")
fi

# Exit codes beside those of the command in the guest.
SKIPPED=77
TIMED_OUT=124
GUEST_DIED=125

offer_help() {
    case ${1:-} in
    -h | --help)
        awk 'NR > 2 { if (!/^#/ || /shellcheck/) exit; sub(/^# ?/, ""); print }' "$0"
        exit 0
        ;;
    esac
}

skip() {
    {
        say "======================================================================"
        say "SKIPPED: the laboratory cannot be had on this machine."
        say "$(basename "$0"): $*"
        say "scripts/bootstrap installs what it needs from Debian 12."
        say "======================================================================"
    } >&2
    exit "$SKIPPED"
}

need_host() {
    local program
    [ "${LIBRPM_LAB:-}" != 1 ] || skip "this is the inside of the laboratory"
    [ "$(uname -m)" = x86_64 ] || skip "the guest runs beside an x86_64 host, this is $(uname -m)"
    [ "$ARCH" = x86_64 ] || command -v fdtput >/dev/null || skip "no fdtput"
    for program in "qemu-system-$ARCH" busybox cpio xz zstd depmod modprobe setpriv flock cmake ninja; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || skip "no $program"
    done
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$CACHE/run" || die "cannot make $CACHE"
    # What runs left that were killed.
    find "$CACHE/run" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
}

# Not around a command: there a shell would go on after what fails in it.
hold() {
    local fd
    exec {fd}>"$CACHE/$1.lock"
    flock "$fd"
}

ready() {
    local status=0
    need_host
    "$LAB/fetch" || status=$?
    [ "$status" -eq 0 ] || exit "$status"
    GUEST_KERNEL=$KERNEL/vmlinux
    GUEST_INITRD=$("$LAB/initrd") || die "cannot pack the initramfs"
}

build_shared() {
    local fd
    exec {fd}>"$CACHE/$(sum <<<"$BUILD").lock"
    flock "$fd"
    # What compiles for us ends with us, however we end.
    setpriv --pdeathsig TERM "$LAB/build" "$@"
    flock -s "$fd"
}

boot() {
    setpriv --pdeathsig KILL "$LAB/boot" "$@"
}

new_pair() {
    SHARE=$(mktemp -d "$CACHE/run/XXXXXX")
    SHARES+=("$SHARE")
    trap 'rm -rf "${SHARES[@]}"' EXIT
    NVDIMMS=(--share "$SHARE" --with nvdimm --nvdimm "$SHARE/nv0:256" --nvdimm "$SHARE/nv1:256")
    PAIR=(--with pair "${NVDIMMS[@]}")
}

guest_pair() {
    new_pair
    boot "${PAIR[@]}" "$@"
}

cut_power() {
    [ -s "$1" ] || return 1
    kill -KILL "$(cat "$1")"
    wait "$2" || true
    rm -f "$1" # the next one's says that it runs
}

# shellcheck disable=SC2317 # reached by traps
end_guest() {
    local until=$((SECONDS + 10))
    while kill -0 "$2" 2>/dev/null && [ "$SECONDS" -lt "$until" ]; do
        kill -KILL "$(cat "$1" 2>/dev/null)" 2>/dev/null && return 0 # else the status before the trap
        sleep 0.1
    done
}

nap_ms() {
    sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"
}
