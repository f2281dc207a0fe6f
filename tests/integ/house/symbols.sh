#!/bin/bash
# The shared library has its SONAME, exports what the public headers declare and nothing else, and needs
# no library that it should not; the archive defines only dsql_* names.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
so=$BUILD_DIR/libdsql.so
version=$(sed -n 's/#define DSQL_VERSION_MAJOR //p' "$SOURCE_DIR/include/dsql/version.h")
contains "$(readelf -d "$so")" "soname: [libdsql.so.$version]"

nm -D --defined-only "$so" | awk '{print $3}' | sort >"$scratch/exported"
cat "$SOURCE_DIR"/include/dsql/*.h | tr '\n' ' ' | grep -oE 'DSQL_API [^;{]*' |
    grep -oE 'dsql_[a-z_0-9]+\(' | tr -d '(' | sort -u >"$scratch/declared"
[ -s "$scratch/declared" ] || fail "no declaration found in the public headers"
diff "$scratch/declared" "$scratch/exported" || fail "exported symbols differ from the public headers"

others=$(nm --defined-only -g "$BUILD_DIR/libdsql.a" | awk 'NF == 3 && $3 !~ /^dsql_/ {print $3}')
[ -z "$others" ] || fail "names without the prefix: $others"
needed=$(readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libpq|libssl|libcrypto|libcurl|libjansson|ld-linux.*)\.so' || true)
[ -z "$needed" ] || fail "the library needs $needed"
