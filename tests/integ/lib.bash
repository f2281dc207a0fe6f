#!/bin/bash
# What the integration tests share. Each gets SOURCE_DIR, BUILD_DIR and CC from ctest, and a scratch
# folder that goes away with it.
set -euo pipefail
export dsql=$BUILD_DIR/dsql
export AWS_EC2_METADATA_DISABLED=true # no test asks the machine it runs on for credentials
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect STATUS COMMAND...: runs it, keeps what it said in $out and $err.
expect() {
    local wanted=$1 status=0
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ] || fail "'$*' ended with $status, not $wanted: $out $err"
}

contains() { # contains TEXT PART
    case $1 in
        *"$2"*) ;;
        *) fail "'$2' is missing in: $1" ;;
    esac
}
