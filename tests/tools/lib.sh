# SPDX-License-Identifier: BSD-3-Clause
# lib.sh: compare what a program says and how it ends. Sourced.
set -u
failures=0

# says CODE TEXT WORD...: the command ends with CODE and its whole output, which is then in $said, has
# TEXT in it.
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

# json WORD...: the command's standard output is JSON.
json() {
    "$@" 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)' || {
        echo "FAILED: $* is not JSON"
        failures=$((failures + 1))
    }
}

# await COMMAND...: until the command succeeds. False: it did not for a minute.
await() {
    local end=$((SECONDS + 60))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# more_lines N FILE: than N are in it.
more_lines() {
    [ "$(wc -l <"$2")" -gt "$1" ]
}

# gone PID
gone() {
    ! kill -0 "$1"
}

# await_text FILE PATTERN: until a line of the file has it.
await_text() {
    await grep -q -e "$2" "$1"
}

# await_handler PID PROGRAM SIGNAL: until the process is the program and handles the signal, of that
# number; one that comes earlier is ignored, or ends it without a word.
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
