# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
# servers.sh: starts and ends rpm-servers with pools in $dir, by name. Sourced, with $server and $dir
# set. What a server prints is in $dir/NAME.N.diag, where N counts the starts.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A server_pids server_diags
server_options=(--domain adr) # of the servers that are started next
server_starts=0

# start_servers NAME...: serve $dir/NAME.pool, created if it does not exist, at shm:$dir/NAME. They
# listen when it returns.
start_servers() {
    local name
    for name in "$@"; do
        server_diags[$name]=$dir/$name.$((++server_starts)).diag
        "$server" --pool "$dir/$name.pool" --size "${pool_size:-64M}" --listen "shm:$dir/$name" \
            --dram "${dram_size:-8M}" "${server_options[@]}" 2>"${server_diags[$name]}" &
        server_pids[$name]=$!
    done
    for name in "$@"; do
        await_text "${server_diags[$name]}" ready: || {
            echo "FAILED: no server comes up at $dir/$name: $(cat "${server_diags[$name]}")"
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

# end_servers: all that run, by SIGTERM; they have ended when it returns.
end_servers() {
    local name
    for name in "${!server_pids[@]}"; do
        kill "${server_pids[$name]}" && wait "${server_pids[$name]}" || :
        unset "server_pids[$name]"
    done 2>/dev/null
}
