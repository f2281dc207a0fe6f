#!/bin/bash
# stamp.sh BUILD: lets go see libdsql. Go builds anew what changed in its own packages, but does not look at archives
# and headers elsewhere: a server would keep the library that it was linked with first, and structs would differ in
# what was compiled before. A C file with the hash of all of them, which go believes to be in the adapter's package,
# makes it look again. It is code, not a comment: go links anew only if what it has compiled has changed.
# It writes BUILD/temporal/library.c and BUILD/temporal/overlay.json, for go's -overlay.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
hash=$({ cat "$build/libdsql.a" "$build/libdsql_pages.a" && find include src "$build/generated" -name '*.h' -o -name '*.def' | sort | xargs cat; } | sha256sum)
mkdir -p "$build/temporal"
echo "const char dsql_library[] = \"${hash%% *}\";" >"$build/temporal/library.c"
printf '{"Replace": {"%s": "%s"}}\n' "$PWD/integrations/temporal/dsql/library.c" "$build/temporal/library.c" >"$build/temporal/overlay.json"
