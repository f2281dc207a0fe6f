#!/bin/bash
# `dsql local record`: an endpoint of today answers all as believed, and nothing is left behind; one of an earlier day
# differs in what the service has learned since, and in nothing else: compared with that day, it does not.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" local exec -- bash -c '
    "$0" local record && "$0" local record --format json &&
    psql -XAtc "$1"' "$dsql" "select count(*) from pg_class where relname like 'dsql\\_record%'"
count=$(grep -cE '^DSQL_(PROBE|ANSWER)\(' "$SOURCE_DIR/src/cli/record_probes.def")
[ "$count" -ge 100 ] || fail "only $count probes"
[ "$(printf '%s\n' "$out" | sed -n 1p)" = "$count of $count answered as expected, 0 otherwise" ] || fail "$out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = 0 ] || fail "left behind: $out"
printf '%s\n' "$out" | sed '1d;$d' >"$scratch/json"
[ "$(jq '.answers | length' "$scratch/json")" = "$count" ] || fail "$(cat "$scratch/json")"
[ "$(jq '.differing + ([.answers[] | select(.differs)] | length)' "$scratch/json")" = 0 ] || fail "$(cat "$scratch/json")"

expect 0 "$dsql" local exec --dialect 2026-07 -- bash -c '
    "$0" local record >"$1/then" || echo "differs: $?"
    "$0" local record --dialect 2026-07' "$dsql" "$scratch"
contains "$out" 'differs: 1'
contains "$out" "$count of $count answered as expected, 0 otherwise"
then=$(cat "$scratch/then")
for statement in 'alter table dsql_record_t drop column c' 'create index async dsql_record_2 on dsql_record_t (lower(a))' \
    'create index async dsql_record_3 on dsql_record_t (b) where b > 0' 'select * from dsql_record_t where id = 1 for key share' \
    'select * from dsql_record_t where id > 1 for update' 'create statistics dsql_record_6 on a, b from dsql_record_t'; do
    contains "$then" "DIFFERS $statement"
done
contains "$then" 'answered  0A000: WHERE not supported for CREATE INDEX'
case $then in *'DIFFERS create table dsql_record_c'*) fail "jsonb was there in July: $then" ;; esac

expect 2 "$dsql" local --dialect 2025-01
contains "$err" '--dialect=2025-01 is no month or day since 2026-01'
expect 2 "$dsql" local record --format xml
# The page has every day and what came then, as the manual has.
"$dsql" help local | sed -nE '/^Dialects/,$p' | awk '/^  2026-/ {day = $1} /^      / {sub(/^ +/, ""); print "| " day " | " $0}' \
    >"$scratch/days"
[ "$(wc -l <"$scratch/days")" -ge 15 ] || fail "$(cat "$scratch/days")"
while read -r row; do
    grep -qF "$row" "$SOURCE_DIR/docs/local-fidelity.md" || fail "docs/local-fidelity.md lacks: $row"
done <"$scratch/days"
