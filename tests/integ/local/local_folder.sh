#!/bin/bash
# The folder of `dsql local`: folders of earlier versions are brought up, hostile ones refused, and root follows
# no link that somebody else has put into one.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
data=$scratch/data
for bin in /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do [ ! -d "$bin" ] || break; done

# single SQL: as the superuser, while no endpoint runs
single() {
    local as=()
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    printf '%s\n' "$1" | "${as[@]}" "$bin/postgres" --single -D "$data/pg" \
        -c shared_preload_libraries=dsql_module -c "dynamic_library_path=$data:\$libdir" postgres >"$scratch/single" 2>&1 ||
        fail "single: $(cat "$scratch/single")"
}

procedures() { in_env psql -Atc "select count(*) from pg_proc where proname = 'wait_for_job'"; }

# A file that the caller has open stays the caller's: PostgreSQL does not inherit it.
echo inherited >"$scratch/open"
exec 7<"$scratch/open"
start_local --port 0
exec 7<&-
ls -l "/proc/$(head -1 "$data/pg/postmaster.pid")/fd" >"$scratch/fds"
! grep -qF "$scratch/open" "$scratch/fds" || fail "inherited: $(cat "$scratch/fds")"
in_env psql -qc 'create table kept (id int primary key)'
in_env psql -qc 'insert into kept values (5)'
stop_local
layout=$(cat "$data/layout")

# The same version finds its own SQL there and runs nothing.
single "delete from pg_proc where proname = 'wait_for_job'"
start_local --port 0
[ "$(procedures)" = 0 ] || fail "the first SQL ran again"
stop_local

# Another version's SQL ran last: ours runs, and what clients made stays.
echo another >"$data/first_sql"
start_local --port 0
[ "$(procedures)" = 1 ] || fail "the first SQL did not run again"
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
stop_local

# A folder as layout 4 left it: it did not say which SQL ran, its mark lay among PostgreSQL's files, the folder
# itself was PostgreSQL's, and the mode of some files was whatever the umask said.
single "delete from pg_proc where proname = 'wait_for_job'"
rm "$data/first_sql"
touch "$data/pg/dsql_ready_2"
echo 4 >"$data/layout"
chmod 664 "$data/layout" "$data/ca.pem"
if [ "$(id -u)" = 0 ]; then chown postgres:postgres "$data"; fi
start_local --port 0
[ "$(procedures)" = 1 ] || fail "the first SQL did not run again"
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
[ "$(cat "$data/layout")" = "$layout" ] || fail "layout $(cat "$data/layout"), not $layout"
stop_local
[ "$(stat -c '%u %a' "$data")" = "$(id -u) 711" ] || fail "the folder: $(stat -c '%u %a' "$data")"
[ "$(stat -c %a "$data/ca.pem")" = 644 ] || fail "others may write ca.pem"
# Nothing is PostgreSQL's but what is inside its two folders.
if [ "$(id -u)" = 0 ]; then
    [ "$(find "$data" -maxdepth 1 -user postgres -printf '%f\n' | sort | paste -sd' ')" = 'pg run' ] ||
        fail "PostgreSQL's: $(find "$data" -maxdepth 1 -user postgres)"
fi

# SQL that fails ends the start, and the next start tries again.
single "delete from pg_proc where proname = 'dsql_limit'"
single 'create function pg_catalog.dsql_limit(too_many boolean, code text, message text) returns int language sql as $$ select 1 $$'
echo another >"$data/first_sql"
expect 1 "$dsql" local --port 0 --data "$data"
contains "$err" 'cannot change return type of existing function'
single "delete from pg_proc where proname = 'dsql_limit'"
start_local --port 0
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
stop_local

# What was never made completely is not used.
mv "$data/first_sql" "$scratch/first_sql"
expect 2 "$dsql" local --port 0 --data "$data"
contains "$err" 'was not made completely'
mv "$scratch/first_sql" "$data/first_sql"

# Hostile folders. refused WHAT: it is, the message says what it is, and nothing outside was touched.
precious=$scratch/precious
refused() {
    expect 2 "$dsql" local --port 0 --data "${2:-$scratch/bad}"
    contains "$err" "can't be used: $1"
    contains "$err" 'or choose another --data'
    [ "$(cat "$precious")" = untouched ] || fail "$1: a file outside was overwritten"
    [ "$(stat -c '%u %a %h' "$precious")" = "$(id -u) 600 ${3:-1}" ] || fail "$1: a file outside was changed"
}
bad() { # a folder that would do
    rm -rf "$scratch/bad"
    mkdir -m 711 "$scratch/bad"
    touch "$scratch/bad/lock"
    chmod 600 "$scratch/bad/lock"
    echo 5 >"$scratch/bad/layout"
    chmod 600 "$scratch/bad/layout"
}
(umask 077; echo untouched >"$precious")
for file in lock layout keys ca.pem ca.key first_sql dsql_module.so postgres.log env; do
    bad
    rm -f "$scratch/bad/$file"
    ln -s "$precious" "$scratch/bad/$file"
    touch "$scratch/bad/lock" 2>/dev/null || true
    refused 'it is a link'
    bad
    rm -f "$scratch/bad/$file"
    ln "$precious" "$scratch/bad/$file"
    refused 'it has a second name elsewhere' "$scratch/bad" 2
    rm -f "$scratch/bad/$file"
    bad
    rm -f "$scratch/bad/$file"
    mkfifo "$scratch/bad/$file"
    [ $file = lock ] || refused 'it is not a file'
done
for folder in pg run; do
    bad
    mkdir "$scratch/target"
    ln -s "$scratch/target" "$scratch/bad/$folder"
    refused 'it is a link'
    rmdir "$scratch/target" || fail "something was made behind the link"
    bad
    touch "$scratch/bad/$folder"
    refused 'it is not a folder'
done
bad
chmod 666 "$scratch/bad/layout"
refused 'others may write it'
bad
chmod 777 "$scratch/bad"
refused 'others may write in it'
bad
ln -s "$scratch/bad" "$scratch/link"
refused 'it is a link' "$scratch/link"
refused 'it is a link' "$scratch/link/"
# Drafts of files that are replaced are no way in either: what lies there is removed, not written through.
rm -rf "$scratch/bad"
mkdir "$scratch/bad"
start_local --port 0
stop_local
for file in keys layout first_sql dsql_module.so env; do ln -sf "$precious" "$data/$file.new"; done
start_local --port 0
stop_local
[ "$(cat "$precious")" = untouched ] || fail "a draft was written through a link"

if [ "$(id -u)" = 0 ]; then
    bad
    chown postgres "$scratch/bad"
    refused "it belongs to user $(id -u postgres), not to user 0"
    bad
    chown nobody "$scratch/bad/keys" 2>/dev/null || { touch "$scratch/bad/keys" && chown nobody "$scratch/bad/keys"; }
    refused 'it belongs to another user'
    bad
    mkdir "$scratch/bad/pg"
    refused "it does not belong to PostgreSQL's user"
    # A folder of layout 4 that PostgreSQL's user has filled with links.
    for file in keys ca.pem postgres.log dsql_module.so; do
        bad
        echo 4 >"$scratch/bad/layout"
        ln -s "$precious" "$scratch/bad/$file"
        chown postgres "$scratch/bad"
        refused 'it is a link'
    done
fi

# Clean-up follows no link, whatever PostgreSQL was made to put into its folders, and leaves nothing.
mkdir -p "$scratch/tmp" "$scratch/far/away"
chmod 1777 "$scratch/tmp"
touch "$scratch/far/away/file"
chmod -R 777 "$scratch/far"
cat >"$scratch/plant" <<'SH'
folder=$(dirname "$DSQL_LOCAL_CONTROL")
ln -s "$1/far" "$folder/pg/link"
ln -s "$1/far/away" "$folder/run/link"
mkdir -p "$folder/pg/deep/closed/er" && touch "$folder/pg/deep/closed/er/file" && chmod 000 "$folder/pg/deep/closed"
SH
TMPDIR=$scratch/tmp expect 0 "$dsql" local exec -- bash "$scratch/plant" "$scratch"
[ -e "$scratch/far/away/file" ] || fail "clean-up followed a link"
if [ "$(id -u)" = 0 ]; then
    # Root has planted it, and root does not clean up there: it stays. What PostgreSQL's user plants goes.
    [ -d "$(echo "$scratch"/tmp/*/pg/deep)" ] || fail "root has cleaned up among PostgreSQL's files"
    rm -rf "$scratch"/tmp/*
    cat >"$scratch/as" <<'SH'
exec setpriv --reuid=postgres --regid=postgres --clear-groups bash "$@"
SH
    TMPDIR=$scratch/tmp expect 0 "$dsql" local exec -- bash "$scratch/as" -c "DSQL_LOCAL_CONTROL=\$DSQL_LOCAL_CONTROL . '$scratch/plant'" - "$scratch"
    [ -e "$scratch/far/away/file" ] || fail "clean-up followed a link"
fi
[ -z "$(ls -A "$scratch/tmp")" ] || fail "left behind: $(find "$scratch/tmp")"
