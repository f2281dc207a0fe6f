#!/bin/bash
# What is generated from tables is in step with them: reference pages, man pages, completion; and the
# README names only what is there.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

in_step() { # in_step TOPIC PAGE
    expect 0 "$dsql" help "$1" --markdown
    diff "$scratch/out" "$SOURCE_DIR/docs/$2" || fail "docs/$2: run 'make docs'"
}
in_step config configuration.md
in_step metrics metrics.md
in_step events events.md
in_step findings findings.md

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

# The headers are the manual: a public function without a comment is found.
"$SOURCE_DIR/scripts/explained" || fail "public functions without a comment"
cp -r "$SOURCE_DIR/include/dsql" "$scratch/headers"
echo 'DSQL_API void dsql_unexplained(void);' >>"$scratch/headers/pool.h"
expect 1 "$SOURCE_DIR/scripts/explained" "$scratch/headers"
contains "$out" 'no comment above: DSQL_API void dsql_unexplained(void);'

# Every link leads somewhere.
python3 "$SOURCE_DIR/tests/integ/house/links.py" "$SOURCE_DIR" || fail "links that lead nowhere"

# What pages name is there, and a page that names what is not is told.
names() { python3 "$SOURCE_DIR/tests/integ/house/names.py" "$1" "$dsql"; }
names "$SOURCE_DIR" || fail "names of things that are not there"
mkdir "$scratch/tree"
ln -s "$SOURCE_DIR"/* "$scratch/tree"
rm "$scratch/tree/README.md"
cat >"$scratch/tree/README.md" <<'PAGE'
`src/pool/none.c`, `make none`, `dsql none`, `dsql_none()`, `DSQL_NONE_SUCH`, `event=pool.none`, `dsql up --none`
PAGE
expect 1 names "$scratch/tree"
for name in src/pool/none.c 'make none' 'dsql none' dsql_none DSQL_NONE_SUCH pool.none 'dsql up --none'; do
    contains "$out" "README.md: there is no $name"
done

# The picture of the folders is that of the includes: one that is not there is found.
"$SOURCE_DIR/scripts/picture.py" --check "$SOURCE_DIR/docs/images/architecture.svg" || fail "the picture of the folders"
sed 's/>core</>none</' "$SOURCE_DIR/docs/images/architecture.svg" >"$scratch/other.svg"
expect 1 "$SOURCE_DIR/scripts/picture.py" --check "$scratch/other.svg"

# docs/README.md lists every page, docs/local.md every fault.
for page in "$SOURCE_DIR"/docs/*.md; do
    name=$(basename "$page")
    [ "$name" = README.md ] || grep -qF "]($name)" "$SOURCE_DIR/docs/README.md" || fail "docs/README.md does not list $name"
done
for fault in $("$dsql" help local fault | sed -n 's/^  \([a-z-]*\)=.*/\1/p'); do
    grep -q "^| \`$fault=" "$SOURCE_DIR/docs/local.md" || fail "docs/local.md lacks the fault $fault"
done

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
    grep -qF "'$symptom'" tests/integ/operation/symptoms_*.sh || fail "no test produces '$symptom'"
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
