#!/bin/bash
# Go builds the adapter anew when libdsql is another one, and only then: what it makes of it differs, since a program is
# linked anew for no other reason. GO is the go to use.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
id_with() { # id_with TEXT: go's name for what it has made of the adapter's package, with an archive that says so
    local id
    mkdir -p "$scratch/$1/generated"
    echo "$1" | tee "$scratch/$1/libdsql.a" >"$scratch/$1/libdsql_pages.a"
    "$root/integrations/temporal/test/stamp.sh" "$scratch/$1"
    id=$(cd "$root/integrations/temporal" &&
        CGO_ENABLED=1 "${GO:-go}" list -export -overlay "$scratch/$1/temporal/overlay.json" -f '{{.BuildID}}' ./dsql)
    echo "${id##*/}" # before it stands what it was made from
}
first=$(id_with one)
[ -n "$first" ] || fail "the adapter is not built"
[ "$(id_with one)" = "$first" ] || fail "the adapter is built again although nothing changed"
[ "$(id_with two)" != "$first" ] || fail "go keeps an adapter that was built for another libdsql"
echo "stale: go builds the adapter anew for another libdsql"
