# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
# servers.sh: starts and kills rpm-servers with pools in $dir, by name. Sourced, with $server and
# $dir set.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A server_pids

# start_servers NAME...: serve $dir/NAME.pool, created if it does not exist, at shm:$dir/NAME.
start_servers() {
    local name
    for name in "$@"; do
        "$server" --pool "$dir/$name.pool" --size "${pool_size:-64M}" --listen "shm:$dir/$name" \
            --domain adr --dram "${dram_size:-8M}" --quiet 2>>"$dir/diag" &
        server_pids[$name]=$!
    done
    for name in "$@"; do
        await [ -S "$dir/$name" ] || {
            echo "FAILED: no server comes up at $dir/$name: $(cat "$dir/diag")"
            exit 1
        }
    done
}

# kill_servers NAME...: by SIGKILL; they have ended when it returns.
kill_servers() {
    local name
    for name in "$@"; do
        kill -KILL "${server_pids[$name]}"
    done
    for name in "$@"; do
        wait "${server_pids[$name]}"
        unset "server_pids[$name]"
        rm -f "$dir/$name"
    done 2>/dev/null
}

end_servers() {
    local pid
    for pid in "${server_pids[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
}
