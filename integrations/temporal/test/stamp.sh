#!/bin/bash
# stamp.sh BUILD: lets go see libdsql. Go builds anew what changed in its own packages, but does not look at archives
# and headers elsewhere: a server would keep the library that it was linked with first, and structs would differ in
# what was compiled before. A header with the hash of all of them, which go believes to be in the adapter's package,
# makes it look again. It writes BUILD/temporal/library.h and BUILD/temporal/overlay.json, for go's -overlay.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
hash=$({ cat "$build/libdsql.a" "$build/libdsql_pages.a" && find include src "$build/generated" -name '*.h' -o -name '*.def' | sort | xargs cat; } | sha256sum)
mkdir -p "$build/temporal"
echo "/* libdsql ${hash%% *} */" >"$build/temporal/library.h"
printf '{"Replace": {"%s": "%s"}}\n' "$PWD/integrations/temporal/dsql/library.h" "$build/temporal/library.h" >"$build/temporal/overlay.json"
