#!/bin/bash
# `make install` gives a C program outside the tree what it needs, through pkg-config and through CMake,
# wherever it is put; built the way a packager does, without the tests.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
packager="cmake -G Ninja -DCMAKE_C_COMPILER=$CC -DCMAKE_BUILD_TYPE=MinSizeRel -DBUILD_TESTING=OFF -DDSQL_WERROR=OFF"
make_install() { # make_install VARIABLE=VALUE...
    env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u DESTDIR -u PREFIX make --no-print-directory -C "$SOURCE_DIR" \
        install BUILD="$scratch/build" CMAKE="$packager" "$@" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
}
check_files() { # check_files PREFIX
    for file in bin/dsql include/dsql/dsql.h include/dsql/err.h share/man/man1/dsql.1 \
        share/man/man1/dsql-config.1 share/man/man3/dsql_pool.h.3 share/bash-completion/completions/dsql; do
        [ -e "$1/$file" ] || fail "$file is not installed"
    done
    for file in libdsql.so libdsql.a pkgconfig/libdsql.pc cmake/dsql/dsql-config.cmake; do
        [ -n "$(find "$1" -path "*/$file")" ] || fail "$file is not installed"
    done
}

# A place with a blank in its name that no loader searches.
prefix="$scratch/a place"
make_install PREFIX="$prefix"
check_files "$prefix"
libdir=$(dirname "$(find "$prefix" -name libdsql.so)")
contains "$(cat "$scratch/log")" "The loader does not search $libdir"
if [ -e "$scratch/build/tests" ] || [ -e "$scratch/build/bench" ]; then fail "BUILD_TESTING=OFF builds tests"; fi

# Every public function has its page, and the page of its header has its declaration.
declared=$(sed -nE 's/^(DSQL_API|DSQL_MUST_USE).*[ *](dsql_[a-z0-9_]+)\(.*/\2/p' "$SOURCE_DIR"/include/dsql/*.h | sort -u)
[ "$(wc -l <<<"$declared")" -gt 50 ] || fail "only these functions are public: $declared"
for function in $declared; do
    page=$(sed -n 's/^\.so man3\///p' "$prefix/share/man/man3/$function.3")
    grep -q "$function(" "$prefix/share/man/man3/$page" || fail "man $function does not show $function()"
done
for page in "$prefix"/share/man/man3/*.3; do
    grep -q '^\.so ' "$page" || mandoc -Tlint -Werror "$page" || fail "$page is no good man page"
done

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

compile() { # compile OUTPUT FLAG...; the flags as pkg-config quotes them
    local output=$1
    shift
    eval "set -- $*"
    "$CC" -std=c17 -Wall -Wextra -Werror "$scratch/app/app.c" -o "$output" "$@"
}
export PKG_CONFIG_PATH=$libdir/pkgconfig
compile "$scratch/app/shared" "$(pkg-config --cflags --libs libdsql)"
contains "$(LD_LIBRARY_PATH=$libdir "$scratch/app/shared")" "$wanted"
[ "$(pkg-config --modversion libdsql)" = "$("$dsql" version | cut -d' ' -f2)" ] || fail "pkg-config version"
compile "$scratch/app/static" "$(pkg-config --cflags libdsql)" "'$libdir/libdsql.a'" \
    "$(pkg-config --static --libs-only-l libdsql | sed 's/-ldsql//')"
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

# Staged for a package: everything is below DESTDIR, nothing is said about this machine's loader, and
# what was staged can be used from there.
make_install PREFIX=/usr DESTDIR="$scratch/stage"
check_files "$scratch/stage/usr"
case $(cat "$scratch/log") in *loader*) fail "a staged installation speaks of the loader" ;; esac
libdir=$(dirname "$(find "$scratch/stage/usr" -name libdsql.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
compile "$scratch/app/staged" "$(pkg-config --cflags --libs libdsql)"
contains "$(LD_LIBRARY_PATH=$libdir "$scratch/app/staged")" "$wanted"

# Each file that is staged belongs to one Debian package, and no package asks for what is not there.
(
    cd "$scratch/stage"
    for list in "$SOURCE_DIR"/debian/*.install; do
        while read -r pattern; do
            # shellcheck disable=SC2086 # a pattern
            find $pattern ! -type d || fail "there is no $pattern to package"
        done <"$list"
    done | sort >"$scratch/packaged"
    find usr ! -type d | sort | diff - "$scratch/packaged" || fail "what is installed and what is packaged differ"
)
