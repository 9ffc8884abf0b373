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

finish() {
    [ "$failures" = 0 ] || exit 1
    echo "passed"
}
