#!/bin/bash
# The tarball works wherever it is unpacked, with nothing of the source or build tree in sight: it brings
# every library but the C library's own, `dsql local` runs from it, and programs can be linked against it.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 "$SOURCE_DIR/scripts/tarball" "$BUILD_DIR" "$scratch"
tarball=$scratch/dsql-$("$dsql" version | cut -d' ' -f2)-linux-$(uname -m).tar.gz
[ "$out" = "$tarball" ] || fail "it says $out"
mkdir "$scratch/a place"
tar -xzf "$tarball" -C "$scratch/a place"
tree="$scratch/a place/$(basename "$tarball" .tar.gz)"
chmod 755 "$scratch" # for PostgreSQL's own user

for file in bin/dsql lib/libdsql.so lib/libdsql.a lib/pkgconfig/libdsql.pc include/dsql/dsql.h \
    share/man/man1/dsql.1 share/doc/dsql/LICENSE share/doc/dsql/SECURITY.md "share/doc/dsql/licences/libssl3*"; do
    compgen -G "$tree/$file" >/dev/null || fail "$file is missing"
done
outside=$(ldd "$tree/bin/dsql" "$tree/lib/libdsql.so" | awk '/=>/' | grep -vF "=> $tree/" |
    grep -vE '(libc|libm|libresolv)\.so' || true)
[ -z "$outside" ] || fail "libraries that are not in it: $outside"

cat >"$scratch/app.c" <<'C'
#include <dsql/dsql.h>
#include <stdio.h>
int main(void)
{
    puts(dsql_version());
    return 0;
}
C
eval "set -- $(PKG_CONFIG_PATH=$tree/lib/pkgconfig pkg-config --cflags --libs libdsql)"
"$CC" "$scratch/app.c" -o "$scratch/app" "$@"

# What runs next sees neither tree: both are covered in a mount namespace of its own, where that is allowed.
cat >"$scratch/run" <<'SH'
set -eu
[ "$2" = as-is ] || for place in "$SOURCE_DIR" "$BUILD_DIR"; do
    [ ! -d "$place" ] || mount -t tmpfs none "$place"
done
[ "$2" = as-is ] || [ ! -e "$SOURCE_DIR/README.md" ]
cd /
"$1/bin/dsql" version
LD_LIBRARY_PATH=$1/lib "$(dirname "$1")/../app"
"$1/bin/dsql" sim list | grep -q mass-drop
"$1/bin/dsql" local exec -- psql -XAtc 'select 40 + 2'
SH
hidden=hidden
unshare -m true 2>/dev/null || hidden=as-is
enter=(unshare -m)
[ $hidden = hidden ] || enter=()
expect 0 "${enter[@]}" sh "$scratch/run" "$tree" $hidden
contains "$out" "$("$dsql" version)"
contains "$out" $'\n'"$("$dsql" version | cut -d' ' -f2)"$'\n'
[ "${out##*$'\n'}" = 42 ] || fail "dsql local: $out"
