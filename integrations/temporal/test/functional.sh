#!/bin/bash
# functional.sh [REGEX]: Temporal's functional tests on this store and, beside it, on the SQLite they come with; REGEX
# chooses tests (all). The tests are those of the server's module: they are copied from the module cache into
# build/temporal/functional, where functional/store.go joins them, and are nobody's otherwise. With --small a handful
# of them, on this store only; with --build none. What fails here and not there must be in functional/differences. Tests
# that give the server a second or two, which a busy machine may not have, are run AGAIN (2) times before that. Each run
# may take LIMIT (7200) seconds; one that is cut ends with 124. GO is the go to use, MODFILE another module file, TAGS
# its build tags.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
go=${GO:-go} ours=$root/integrations/temporal folder=$root/build/temporal/functional
stores='dsql sqlite' tests=${1:-.} limit=${LIMIT:-7200}
if [ "$tests" = --small ]; then
    stores=dsql
    tests=$(sed '/^#/d' "$ours/functional/small" | paste -sd'|')
fi

# copy: Temporal's tests with our file among them, as a module with what the server's own requires.
copy() {
    local server version
    cd "$ours"
    server=$("$go" list ${MODFILE:+-modfile="$MODFILE"} -m -f '{{.Dir}}' go.temporal.io/server)
    version=$("$go" list ${MODFILE:+-modfile="$MODFILE"} -m -f '{{.Version}}' go.temporal.io/server)
    rm -rf "$folder"
    mkdir -p "$folder/testcore"
    cp "$server"/tests/*.go "$folder"
    cp "$server"/tests/testcore/* "$folder/testcore"
    chmod -R u+w "$folder"
    rm "$folder"/testcore/*_test.go
    sed -i 's|"go.temporal.io/server/tests/testcore"|"libdsql/functional/testcore"|' "$folder"/*.go "$folder"/testcore/*.go
    sed -i 's|&defaultPersistenceTestBaseFactory{}$|functionalTestBaseFactory()|' "$folder/testcore/test_cluster.go"
    # Loops that look ten times, 100 ms apart, and take what they see then for the outcome: a minute of the same.
    sed -i 's|for i := 1; i < 10; i++ {|for i := 1; i < 600; i++ {|' "$folder"/*_test.go
    grep -q '= functionalTestBaseFactory()' "$folder/testcore/test_cluster.go" ||
        fail "Temporal $version chooses the database of its tests in another way: functional/store.go has to be joined anew"
    cp functional/store.go "$folder/testcore/store_dsql.go"
    {
        sed -e 's|^module .*|module libdsql/functional|' -e '/^retract (/,/^)/d' "$server/go.mod"
        echo "require go.temporal.io/server $version"
        echo 'require libdsql/integrations/temporal v0.0.0'
        echo "replace libdsql/integrations/temporal => $ours"
    } >"$folder/go.mod"
    cat "$server/go.sum" "${MODFILE:+${MODFILE%go.mod}}go.sum" | sort -u >"$folder/go.sum"
}

build() {
    cd "$folder"
    # Offline, those that the tests need are enough.
    timeout 300 "$go" mod download 2>"$scratch/modules" ||
        "$go" list -mod=mod -tags "test_dep${TAGS:+,$TAGS}" -deps -test ./... >/dev/null 2>&1 || {
        echo "functional: Temporal's modules cannot be had, and its tests are left out: $(tail -n 1 "$scratch/modules")"
        exit 0
    }
    CGO_ENABLED=1 "$go" test -c -mod=mod -tags "test_dep,libdsql_functional${TAGS:+,$TAGS}" -overlay "$root/build/temporal/overlay.json" \
        -ldflags='-s -w' -o functional .
}

# Tests that panic leave their endpoints behind, which end with their PostgreSQL.
sweep() {
    local file
    for file in "$scratch"/cluster*/data/pg/postmaster.pid; do
        [ ! -e "$file" ] || kill -INT "$(head -1 "$file")" 2>/dev/null || true
    done
}
trap 'sweep; cleanup' EXIT

# on STORE REGEX: what the tests say goes to $scratch/STORE.log, one line each with its outcome to $scratch/STORE.
on() {
    local status=0
    (
        cd "$folder"
        export FUNCTIONAL_STORE=$1 FUNCTIONAL_DSQL=$dsql FUNCTIONAL_TEMPLATE=$scratch/data
        export DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_EMPTY_WAIT=2s
        timeout "$limit" ./functional -test.v -test.run "$2" -test.timeout "$((limit + 600))s"
    ) >"$scratch/$1.log" 2>&1 || status=$?
    sweep
    sed -n 's/^ *--- \([A-Z]*\): \([^ ]*\) .*/\2 \1/p' "$scratch/$1.log" | sort -u >"$scratch/$1"
    [ $status != 124 ] || {
        echo "functional: $1: cut after $limit s: $(count "$1" PASS) passed, $(count "$1" FAIL) failed until then"
        [ "$(count "$1" FAIL)" = 0 ] || exit 1
        exit 124
    }
    # 1: a test failed. More: it panicked or took too long, and tests are missing.
    [ $status -le 1 ] || fail "$1: $(grep -a -E '^(panic|fatal)' "$scratch/$1.log" | head -3; tail -n 3 "$scratch/$1.log" | cut -c1-300)"
    [ -s "$scratch/$1" ] || fail "$1: no test was run: $(tail -n 3 "$scratch/$1.log" | cut -c1-300)"
}
count() { grep -c " $2\$" "$scratch/$1" || true; }
failed() { sed -n 's/ FAIL$//p' "$scratch/$1"; }
known() { sed -n 's/^\(Test[^ ]*\) .*/\1/p' "$ours/functional/differences"; }
# A suite failed because one of its tests did: only the innermost count.
innermost() { awk '{a[NR] = $0} END {for (i = 1; i <= NR; i++) {inner = 1; for (j = 1; j <= NR; j++) if (index(a[j], a[i] "/") == 1) inner = 0; if (inner) print a[i]}}'; }

# hurries TEST: whether the source of the test, or of a part of it, gives the server less than five seconds for something.
hurries() {
    local part
    for part in ${1//\// }; do
        awk -v name="$part" '
            $0 ~ "^func .*[ )]" name "\\(" {inside = 1}
            inside && /WorkflowTaskTimeout: *durationpb.New\([1-4] \* time.Second\)|VersionHeaders\(time.Second\)/ {found = 1}
            /^}/ {inside = 0}
            END {exit !found}' "$folder"/*_test.go && return 0
    done
    return 1
}

copy
build
[ "$tests" != --build ] || exit 0
start_cluster --port 0 # what the endpoints of the tests are copies of
stop_local
for store in $stores; do
    on "$store" "$tests"
    echo "functional: $store: $(count "$store" PASS) passed, $(count "$store" FAIL) failed, $(count "$store" SKIP) skipped"
done
[ -e "$scratch/sqlite" ] || : >"$scratch/sqlite"
comm -23 <(failed dsql | innermost | sort) <(failed sqlite | innermost | sort) | grep -vxFf <(known) >"$scratch/here" || true
comm -13 <(failed dsql | innermost | sort) <(failed sqlite | innermost | sort) | sed 's/^/functional: fails on sqlite only: /'
for _ in $(seq "${AGAIN:-2}"); do
    [ -s "$scratch/here" ] || break
    : >"$scratch/still"
    while read -r test; do
        hurries "$test" || {
            echo "$test" >>"$scratch/still"
            continue
        }
        echo "functional: once more: $test"
        on dsql "^${test//\//\$/^}\$"
        ! grep -qxF "$test FAIL" "$scratch/dsql" || echo "$test" >>"$scratch/still"
    done <"$scratch/here"
    mv "$scratch/still" "$scratch/here"
done
[ ! -s "$scratch/here" ] || {
    grep -a -E -A12 'Error Trace' "$scratch/dsql.log" | cut -c1-300 | head -40 || true
    fail "these fail here and not on SQLite, and functional/differences does not say why: $(paste -sd' ' "$scratch/here")"
}
