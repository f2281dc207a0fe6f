# What the scripts share that the tests of `dsql schema` run inside `dsql local exec`; $work is a folder of theirs.
# shellcheck shell=bash disable=SC2154 # work is in the environment
set -eu
says() { grep -qF -- "$1" "$work/out" || { echo "'$1' is missing in:"; cat "$work/out"; exit 1; }; }
run() { "$@" >"$work/out" 2>&1 || { cat "$work/out"; echo "FAILED: $*"; exit 1; }; }
must_fail() { ! "$@" >"$work/out" 2>&1 || { echo "should have failed: $*"; exit 1; }; }
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
