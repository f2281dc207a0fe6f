#!/bin/bash
# The frame of the command line: help, mistakes, exit statuses, output that can't be written.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" help
overview=$out
for command in config help token version completion; do
    contains "$overview" "  $command"
    expect 0 "$dsql" "$command" --help
    contains "$out" "Usage: dsql $command"
    expect 0 "$dsql" help "$command"
done
expect 0 "$dsql" --help
expect 0 "$dsql" --version
version=$(sed -n 's/#define DSQL_VERSION_[A-Z]* //p' "$SOURCE_DIR/include/dsql/version.h" | paste -sd.)
[ "$out" = "dsql $version" ] || fail "version: $out"
expect 0 "$dsql" version
[ "$out" = "dsql $version" ] || fail "version: $out"

expect 2 "$dsql"
contains "$err" 'Usage: dsql COMMAND'
expect 2 "$dsql" confg
[ "$err" = "dsql: 'confg' is no command; did you mean 'dsql config'?" ] || fail "$err"
expect 2 "$dsql" config --jsn
[ "$err" = "dsql: 'dsql config' has no option --jsn; did you mean --json?" ] || fail "$err"
expect 2 "$dsql" help nobody
expect 2 "$dsql" completion tcsh
expect 2 "$dsql" help version --markdown

# A full disk must not look like success.
status=0
"$dsql" help >/dev/full 2>"$scratch/err" || status=$?
[ $status = 1 ] || fail "writing to a full disk ended with $status"
contains "$(cat "$scratch/err")" "can't write the output"
expect 1 "$dsql" help --man-pages="$scratch/nowhere"
contains "$err" "can't write $scratch/nowhere/dsql.1"

# No line of help is wider than a terminal.
for topic in '' config help token metrics events version completion; do
    # shellcheck disable=SC2086 # none or one word
    expect 0 "$dsql" help $topic
    wide=$(awk 'length > 100' "$scratch/out")
    [ -z "$wide" ] || fail "too wide in help $topic: $wide"
done
