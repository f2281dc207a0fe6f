#!/bin/bash
# `make install` gives a C program outside the tree what it needs, through pkg-config and through CMake.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
prefix=$scratch/prefix
cmake --install "$BUILD_DIR" --prefix "$prefix" >"$scratch/log" || fail "$(cat "$scratch/log")"
libdir=$(dirname "$(find "$prefix" -name libdsql.so)")

for file in bin/dsql include/dsql/dsql.h include/dsql/err.h share/man/man1/dsql.1 \
    share/man/man1/dsql-config.1 share/bash-completion/completions/dsql; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
for file in libdsql.a pkgconfig/libdsql.pc cmake/dsql/dsql-config.cmake; do
    [ -e "$libdir/$file" ] || fail "$file is not installed"
done
# The configured prefix is baked into the .pc file; the tests install elsewhere.
sed -i "s|^prefix=.*|prefix=$prefix|" "$libdir/pkgconfig/libdsql.pc"

mkdir "$scratch/app"
cat >"$scratch/app/app.c" <<'C'
#include <dsql/dsql.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct dsql_metrics *metrics;
    char *text;
    size_t len;
    if (dsql_metrics_new("app", &metrics) != DSQL_OK)
        return 1;
    if (dsql_metrics_text(metrics, &text, &len) != DSQL_OK)
        return 1;
    printf("libdsql %s: %s is class %s; %zu bytes of metrics\n", dsql_version(),
           dsql_rc_name(DSQL_CONFLICT), dsql_class_name(dsql_rc_class(DSQL_CONFLICT)), len);
    free(text);
    dsql_metrics_destroy(metrics);
    return 0;
}
C
wanted="libdsql $("$dsql" version | cut -d' ' -f2): CONFLICT is class retry;"

export PKG_CONFIG_PATH=$libdir/pkgconfig
# shellcheck disable=SC2046 # words of a command
"$CC" -std=c17 -Wall -Wextra -Werror "$scratch/app/app.c" -o "$scratch/app/shared" \
    $(pkg-config --cflags --libs libdsql)
contains "$(LD_LIBRARY_PATH=$libdir "$scratch/app/shared")" "$wanted"
[ "$(pkg-config --modversion libdsql)" = "$("$dsql" version | cut -d' ' -f2)" ] || fail "pkg-config version"
# shellcheck disable=SC2046
"$CC" "$scratch/app/app.c" -o "$scratch/app/static" $(pkg-config --cflags libdsql) "$libdir/libdsql.a" \
    $(pkg-config --static --libs-only-l libdsql | sed 's/-ldsql//')
contains "$("$scratch/app/static")" "$wanted"

cat >"$scratch/app/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(app C)
find_package(dsql 0.1 REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE dsql::dsql)
add_executable(app_static app.c)
target_link_libraries(app_static PRIVATE dsql::dsql_static)
CMAKE
cmake -G Ninja -S "$scratch/app" -B "$scratch/app/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$CC" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
cmake --build "$scratch/app/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
contains "$("$scratch/app/build/app")" "$wanted"
contains "$("$scratch/app/build/app_static")" "$wanted"
