# SPDX-License-Identifier: BSD-3-Clause
# lib.sh: functions that compare the output and the exit status of programs. Sourced.
set -u
failures=0

# says CODE TEXT WORD...: checks that the command exits with CODE and that its output, left in
# $said, contains TEXT.
says() {
    local code=$1 text=$2
    shift 2
    local rc
    said=$("$@" 2>&1)
    rc=$?
    if [ "$rc" != "$code" ]; then
        echo "FAILED: $* ended with $rc, not $code: $said"
        failures=$((failures + 1))
    elif [[ "$said" != *"$text"* ]]; then
        echo "FAILED: $* does not say \"$text\": $said"
        failures=$((failures + 1))
    fi
}

# json WORD...: checks that the command's standard output is JSON.
json() {
    "$@" 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)' || {
        echo "FAILED: $* is not JSON"
        failures=$((failures + 1))
    }
}

# await COMMAND...: repeats the command until it succeeds. If it has failed for a minute, that is a failure of
# the test.
await() {
    local end=$((SECONDS + 60))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || {
            echo "FAILED: within a minute: $*"
            failures=$((failures + 1))
            return 1
        }
        sleep 0.05
    done
}

# more_lines N FILE: whether the file has more than N lines.
more_lines() {
    [ "$(wc -l <"$2")" -gt "$1" ]
}

# gone PID: whether the process has ended.
gone() {
    ! kill -0 "$1"
}

# await_text FILE PATTERN: waits until a line of the file matches.
await_text() {
    await grep -q -e "$2" "$1"
}

# await_handler PID PROGRAM SIGNAL: waits until the process runs PROGRAM and handles the signal with
# this number; an earlier signal would be ignored, or end the process without a message.
await_handler() {
    await handles "$@"
}
handles() {
    local caught
    [ "/proc/$1/exe" -ef "$2" ] && caught=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status") &&
        ((0x$caught >> ($3 - 1) & 1))
}

finish() {
    [ "$failures" = 0 ] || exit 1
    echo "passed"
}
