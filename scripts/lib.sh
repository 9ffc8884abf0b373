# SPDX-License-Identifier: BSD-3-Clause
# lib.sh: functions that the commands of this folder share. Sourced by bash, never run.
#
#   need_packages P...   install Debian packages that are missing, and nothing otherwise
#   build_release [T...] configure build/ and build the named targets, or all of them
#   build_preset P       configure and build a preset of CMakePresets.json
#   step TITLE CMD...    run a command under a heading and say how long it took
#   study FLAG TARGETS [OPTIONS...]
#                        install and build what the Python program of the same name needs, then exec it

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=${JOBS:-$(nproc)}
CONFIGURE=() # further settings for cmake
# ccache finds again what another clone compiled, also the tests with their precompiled header.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$TOP} CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# The packages of the library and its programs; of their tests, first those of scripts/test without
# options; and of drawing.
BUILD_PACKAGES=(cmake ninja-build gcc g++ pkg-config libpmem2-dev libpmem-dev libpmemlog-dev
    libnuma-dev liblz4-dev libzstd-dev libcurl4-openssl-dev libexpat1-dev libxxhash-dev libssl-dev libibverbs-dev librdmacm-dev
    libcli11-dev nlohmann-json3-dev libsystemd-dev libfuse3-dev fuse3 catch2 python3)
QUICK_PACKAGES=(git ccache clang-14 libclang-rt-14-dev clang-format-14)
TEST_PACKAGES=(mandoc valgrind strace binutils librpm-dev zsh spin)
# The peers of rpm-bench compare --peer and dtx-peer, which report a missing one.
PEER_PACKAGES=(librpma-dev libfabric-dev libsqlite3-dev liblmdb-dev)
FIGURE_PACKAGES=(python3-matplotlib python3-pandas python3-seaborn)
# For scripts/cross, which fetches the rest itself. It and gcc-multilib exclude each other.
CROSS_PACKAGES=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu)
# For the guests of tests/live/lab.
LAB_PACKAGES=(qemu-system-x86 qemu-system-arm device-tree-compiler busybox-static kmod cpio xz-utils zstd)

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Which of the named packages are not installed, one a line.
missing_packages() {
    local package state
    for package in "$@"; do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || state=none
        [ "$state" = installed ] || say "$package"
    done
}

# Run apt-get as root, wait for another apt, retry after an error of the mirror.
apt_quietly() {
    local -a root=()
    local log try
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "needs root or sudo to run: apt-get $*"
        root=(sudo)
    fi
    log=$(mktemp)
    for try in 1 2 3; do
        if "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 \
            -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1; then
            rm -f "$log"
            return 0
        fi
        [ "$try" = 3 ] || sleep $((try * 5))
    done
    cat "$log" >&2
    rm -f "$log"
    return 1
}

need_packages() {
    local -a missing
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: these must be there already: $*"
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    apt_quietly update || die "apt-get update failed"
    apt_quietly install --no-install-recommends -y "${missing[@]}" || die "apt-get install failed"
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] || die "still missing after the installation: ${missing[*]}"
}

step() {
    local title=$1 start=$SECONDS status=0
    shift
    say "== $title"
    "$@" || status=$?
    say "== $title: $((SECONDS - start)) s, exit $status"
    return "$status"
}

# configure PRESET: a build folder of another tree or another generator is made anew.
configure() {
    local preset=$1 dir=$TOP/build fresh=()
    [ "$preset" = release ] || dir=$TOP/build/$preset
    if [ -f "$dir/CMakeCache.txt" ]; then
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$TOP" "$dir/CMakeCache.txt" &&
            grep -qx 'CMAKE_GENERATOR:INTERNAL=Ninja' "$dir/CMakeCache.txt" || fresh=(--fresh)
    fi
    if command -v ccache >/dev/null; then
        fresh+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    (cd "$TOP" && cmake --preset "$preset" "${fresh[@]}" "${CONFIGURE[@]}" --log-level=WARNING)
}

build_preset() {
    local preset=$1
    shift
    configure "$preset" >&2 || return
    local -a targets=()
    [ $# -eq 0 ] || targets=(--target "$@")
    (cd "$TOP" && cmake --build --preset "$preset" -j "$JOBS" "${targets[@]}")
}

build_release() {
    build_preset release "$@"
}

# study FLAG TARGETS [OPTIONS...]: an experiment with figures. Installs what is missing, builds
# TARGETS, and becomes NAME.py with the options, whose --FLAG names programs that are built already.
study() {
    local given=$1 name figures=yes build=yes python=python3 word
    local -a targets
    read -ra targets <<<"$2"
    shift 2
    name=$(basename "$0")
    for word in "$@"; do
        case $word in
        -h | --help)
            figures=no
            build=no
            ;;
        --check | --readme | --no-figures) figures=no ;;
        "--$given" | "--$given="*) build=no ;;
        esac
    done
    # Without the drawing libraries everything else works, and the missing ones are reported.
    if [ "$figures" = yes ]; then
        (need_packages "${FIGURE_PACKAGES[@]}") >&2 || say "$name: going on without figures" >&2
    fi
    if [ "$build" = yes ]; then
        need_packages "${BUILD_PACKAGES[@]}" >&2
        build_release "${targets[@]}" >&2
    fi
    [ "$figures" = no ] || python=$(python_that_draws)
    exec "$python" "$TOP/scripts/$name.py" "$@"
}

# Debian's packages are for Debian's Python, which may not be the first one on the path.
python_that_draws() {
    local each
    for each in python3 /usr/bin/python3; do
        if "$each" -c 'import importlib.util as u, sys
sys.exit(not all(u.find_spec(m) for m in ("seaborn", "pandas", "matplotlib")))' 2>/dev/null; then
            say "$each"
            return
        fi
    done
    say python3
}
