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

# Every link of README and docs leads somewhere.
cd "$SOURCE_DIR"
for page in README.md CHANGELOG.md docs/*.md; do
    for target in $(grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v '^http' || true); do
        [ -e "$(dirname "$page")/$target" ] || fail "$page links to $target, which is not there"
    done
done
# Every folder README's picture shows as present is there.
sed -n 's/^    \(src\/[a-z]*\)\/.*/\1/p' README.md | while read -r folder; do
    [ -d "$folder" ] || fail "README shows $folder, which is not there"
done
