#!/bin/bash
# What the plain build makes is hardened: programs at a random address, the linker's tables bound and read-only
# before main(), no executable stack, canaries, and glibc's checked functions in place of the plain ones.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
setting() { sed -n "s/^$1:[A-Z]*=//p" "$BUILD_DIR/CMakeCache.txt"; }
sanitized=$(setting DSQL_SANITIZE) type=$(setting CMAKE_BUILD_TYPE)

linked() { # linked FILE
    local headers dynamic
    headers=$(readelf -lW "$1") dynamic=$(readelf -dW "$1")
    contains "$headers" GNU_RELRO
    grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" || fail "$1 binds lazily"
    grep -q 'GNU_STACK.* RW  *0x' <<<"$headers" || fail "$1 has an executable stack"
}
# needs FILE PATTERN: which functions of other libraries it calls, of those that fit
needs() {
    nm -D --undefined-only "$1" >"$scratch/undefined"
    sed 's/^ *U //; s/@.*//' "$scratch/undefined" | grep -xE "$2" | tr '\n' ' ' || true
}

for program in "$BUILD_DIR/dsql" "$BUILD_DIR/portable/dsql"; do
    linked "$program"
    grep -q 'Flags:.* PIE' <<<"$(readelf -dW "$program")" || fail "$program has a fixed address"
done
for library in "$BUILD_DIR/libdsql.so" "$BUILD_DIR/portable/libdsql.so" "$BUILD_DIR/module/dsql_module.so"; do
    linked "$library"
done
[ -z "$sanitized" ] || exit 0 # they replace what follows

for file in "$BUILD_DIR/dsql" "$BUILD_DIR/libdsql.so" "$BUILD_DIR/module/dsql_module.so"; do
    [ -n "$(needs "$file" __stack_chk_fail)" ] || fail "$file has no canaries"
done
[ "$type" != Debug ] || exit 0 # no optimiser, no sizes
for file in "$BUILD_DIR/dsql" "$BUILD_DIR/libdsql.so"; do
    [ -n "$(needs "$file" __snprintf_chk)" ] || fail "$file is built without _FORTIFY_SOURCE"
done
