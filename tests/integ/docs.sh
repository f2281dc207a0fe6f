#!/bin/bash
# What is generated from tables is in step with them: reference pages, man pages, completion; and the
# README names only what is there.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" help config --markdown
diff "$scratch/out" "$SOURCE_DIR/docs/configuration.md" || fail "docs/configuration.md: run 'make docs'"
expect 0 "$dsql" help metrics --markdown
diff "$scratch/out" "$SOURCE_DIR/docs/metrics.md" || fail "docs/metrics.md: run 'make docs'"
expect 0 "$dsql" help events --markdown
diff "$scratch/out" "$SOURCE_DIR/docs/events.md" || fail "docs/events.md: run 'make docs'"

# The numbers in them are those of the code.
number() { sed -n "s/.*$1 = \([0-9]*\),.*/\1/p" "$SOURCE_DIR/src/$2"; }
grep -q "beyond $(number DSQL_OPERATIONS_MAX metrics/metrics.h) |" "$SOURCE_DIR/docs/metrics.md" || fail "operations"
grep -q "at most $(number DSQL_LOG_BURST base/log.h) lines" "$SOURCE_DIR/docs/events.md" || fail "the burst of an event"

# The fuzzer's words are those of the table.
"$dsql" help config | sed -n 's/^  \(DSQL_[A-Z_]*\)$/\1/p' >"$scratch/variables"
[ "$(wc -l <"$scratch/variables")" -gt 40 ] || fail "too few variables"
while read -r variable; do
    grep -q "^\"$variable=\"\$" "$SOURCE_DIR/tests/fuzz/config.dict" || fail "tests/fuzz/config.dict lacks $variable"
done <"$scratch/variables"

mkdir "$scratch/man"
expect 0 "$dsql" help --man-pages="$scratch/man"
for page in dsql $("$dsql" help | awk '/Commands;/ {on = 1} /^References/ {on = 0} on && /^  [a-z]/ {
    sub(/^  /, ""); sub(/  .*/, ""); gsub(/ /, "-"); print "dsql-" $0}'); do
    [ -s "$scratch/man/$page.1" ] || fail "no page $page"
    mandoc -T lint -W error "$scratch/man/$page.1" || fail "$page.1 is no clean man page"
done
grep -q DSQL_RESERVOIR_GUARD_WINDOW "$scratch/man/dsql-config.1" || fail "the settings are not in dsql-config.1"

# Every link leads somewhere.
python3 "$SOURCE_DIR/tests/integ/links.py" "$SOURCE_DIR" || fail "links that lead nowhere"

# The runbook: each symptom says where it shows, and a test produces it. What it names is there.
cd "$SOURCE_DIR"
runbook=docs/operations.md
awk '/^## / {on = $0 == "## Symptoms"} on && sub(/^### /, "")' $runbook >"$scratch/symptoms"
[ "$(wc -l <"$scratch/symptoms")" -gt 15 ] || fail "too few symptoms in $runbook"
while read -r symptom; do
    for row in metric log command 'to see it'; do
        awk -v "heading=### $symptom" -v "row=| $row | " '$0 == heading {on = 1; next} /^##/ {on = 0}
            on && index($0, row) == 1 {found = 1} END {exit !found}' $runbook || fail "$runbook: $symptom has no '$row'"
    done
    grep -qF "'$symptom'" tests/integ/symptoms_*.sh || fail "no test produces '$symptom'"
done <"$scratch/symptoms"
named() { grep -oE "\b$1" $runbook | sort -u; }
for metric in $(named 'dsql_[a-z_]+' | sed -E 's/_(bucket|sum|count)$//'); do
    grep -q "^| \`$metric\` " docs/metrics.md || grep -q "\b$metric(" include/dsql/*.h || [ "$metric" = dsql_up_ ] ||
        fail "$runbook names $metric, which is no metric"
done
for event in $(named 'event=[a-z_.]+' | sed 's/event=//'); do
    grep -q "^| \`$event\` " docs/events.md || fail "$runbook names $event, which is no event"
done
for variable in $(named 'DSQL_[A-Z_]+'); do
    grep -q "\`$variable\`" docs/configuration.md || grep -q "(${variable#DSQL_}," include/dsql/err.h ||
        fail "$runbook names $variable, which is no setting"
done
# Every folder README's picture shows as present is there.
sed -n 's/^    \(src\/[a-z]*\)\/.*/\1/p' README.md | while read -r folder; do
    [ -d "$folder" ] || fail "README shows $folder, which is not there"
done
