#!/bin/bash
# Every setting is read: a field of struct dsql_config, and an option of struct dsql_pool_options, that no code
# outside of the table's own uses has no effect. The compiler says who uses a field, in copies of the two headers
# in which each field is deprecated.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
cd "$SOURCE_DIR"
cc=${CC:-cc}

# used FOLDER FILES...: the deprecated names that the files use, with FOLDER's headers before all others.
used() {
    local folder=$1
    shift
    LC_ALL=C "$cc" -std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wdeprecated-declarations \
        -I "$folder" -I "$SOURCE_DIR/include" -I "$SOURCE_DIR/src" -I "$BUILD_DIR/generated" \
        -I "$(pg_config --includedir)" "$@" 2>"$scratch/said" ||
        fail "does not compile: $(grep -m 3 error "$scratch/said")"
    sed -nE "s/.*'([a-z0-9_]+)' is deprecated.*/\1/p" "$scratch/said" | sort -u
}

# unread_settings: fields of the table in $scratch/config that nobody uses. One whose text begins with "always"
# offers no choice.
unread_settings() {
    local users
    mapfile -t users < <(grep -rlE '"config/(config|load)\.h"|"cli/doctor\.h"|"cli/up|"pool/' src --include='*.c' | grep -v '^src/config/')
    used "$scratch/config" "${users[@]}" >"$scratch/used"
    python3 - "$scratch" <<'PY'
import re, sys
scratch = sys.argv[1]
used = set(open(f"{scratch}/used").read().split())
table = re.sub(r"/\*.*?\*/", "", open(f"{scratch}/config/config/settings.def").read(), flags=re.S)
rows = re.findall(r'DSQL_SETTING\((\w+), (\w+),\s*"(\w+)",\s*"[^"]*",\s*"[^"]*",\s*"[^"]*",\s*\w+,\s*"([^"]*)', table)
assert len(rows) == table.count("DSQL_SETTING("), "a row of the table can't be read here"
for field, kind, variable, doc in rows:
    if field + ("_ns" if kind == "DURATION" else "") not in used and not doc.startswith("always "):
        print(variable)
PY
}

mkdir -p "$scratch/config/config" "$scratch/options/dsql"
cp src/config/settings.def "$scratch/config/config/"
sed -E 's/^(#define FIELD_[A-Z]+\(name\) +)/\1__attribute__((deprecated)) /' src/config/config.h >"$scratch/config/config/config.h"
unread=$(unread_settings)
[ -z "$unread" ] || fail "read nowhere: $unread"

# A setting that was forgotten is found.
echo 'DSQL_SETTING(teapot, DURATION, "DSQL_TEAPOT", "1s", "0s", "1m", POOL, "nobody reads it")' >>"$scratch/config/config/settings.def"
unread=$(unread_settings)
[ "$unread" = DSQL_TEAPOT ] || fail "a setting that nobody reads: '$unread'"

# What the settings become: every option of a pool is used by more than what fills and checks them, but for those
# that the pool's target is made of. The end of options.c hands them on to the keeper and the budget.
unread_options() {
    local users
    sed -n '/^#include/p; /^struct dsql_keeper_config dsql_options_keeper/,$p' src/pool/options.c >"$scratch/handing_on.c"
    grep -q dsql_options_budget "$scratch/handing_on.c" || fail "options.c does not end with what hands options on"
    mapfile -t users < <(find src/pool src/cli -name '*.c' ! -path src/pool/options.c)
    users+=("$scratch/handing_on.c")
    used "$scratch/options" "${users[@]}" >"$scratch/used"
    sed -n '/^struct dsql_pool_options {/,/^};/p' "$scratch/options/dsql/pool.h" |
        python3 -c '
import re, sys
used = set(open(sys.argv[1]).read().split())
text = re.sub(r"/\*.*?\*/", "", sys.stdin.read(), flags=re.S)
body = text[text.index("{") + 1:text.rindex("}")]
for line in body.split(";"):
    for name in re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", line.strip()):
        if name not in used and name not in ("port", "region", "size"):
            print(name)' "$scratch/used"
}
deprecate() { # every declaration in the struct
    sed -E '/^struct dsql_pool_options \{/,/^};/ s/^( +)(const struct|char|int|int64_t|size_t|bool|enum|struct|double)( |$)/\1__attribute__((deprecated)) \2\3/' include/dsql/pool.h
}
deprecate >"$scratch/options/dsql/pool.h"
unread=$(unread_options)
[ -z "$unread" ] || fail "options that have no effect: $unread"
sed -i 's/^struct dsql_pool_options {/&\n    __attribute__((deprecated)) int teapot;/' "$scratch/options/dsql/pool.h"
unread=$(unread_options)
[ "$unread" = teapot ] || fail "an option that nobody reads: '$unread'"
