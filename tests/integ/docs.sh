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

mkdir "$scratch/man"
expect 0 "$dsql" help --man-pages="$scratch/man"
for page in dsql dsql-config dsql-help dsql-token dsql-version dsql-completion; do
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
