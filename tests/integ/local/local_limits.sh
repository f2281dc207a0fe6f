#!/bin/bash
# The limits of a schema that only the catalogue knows: a later ALTER TABLE or CREATE INDEX, and how many
# there are of each kind. Mapped roles stay.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

# The last statement of each part fails in the words that stand beside it, all before it pass.
part() {
    printf '\\echo == %s\n' "$1"
    cat
}
{
    echo '\set VERBOSITY verbose'
    part columns < <(
        echo "create table c (id int primary key);"
        for i in $(seq 255); do echo "alter table c add column c$i int;"; done
        echo "alter table c drop column c1;"
        echo "alter table c add column d1 int;"
        echo "alter table c add column d2 int;"
    )
    part indexes < <(
        echo "create table i (id int primary key, v int unique, w int);"
        for i in $(seq 22); do echo "create index async on i (w) where v > $i;"; done
        echo "create index async on i (w);"
    )
    part schemas < <(
        for i in $(seq 11); do echo "create schema s$i;"; done
    )
    part statistics < <(
        echo "create table st (id int primary key, v int, w int);"
        for i in $(seq 6); do echo "create statistics st$i on v, w from st;"; done
    )
    part tables < <(for i in $(seq 998); do echo "create table t$i (id int primary key);"; done)
    part roles < <(
        echo "create role app login;"
        echo "aws iam grant app to 'arn:aws:iam::000000000000:user/x';"
        echo "aws iam grant app to 'arn:aws:iam::000000000000:user/y';"
        echo "aws iam revoke app from 'arn:aws:iam::000000000000:user/x';"
        echo "drop role app;"
    )
    part dropped < <(
        echo "aws iam revoke app from 'arn:aws:iam::000000000000:user/y';"
        echo "drop role app;"
    )
} >"$scratch/limits.sql"
expect 0 "$dsql" local exec -- bash -c 'psql -AtXq -f "$0" 2>&1' "$scratch/limits.sql"
errors() { printf '%s\n' "$out" | awk -v "name=== $1" '$0 == name {on = 1; next} /^== / {on = 0} on' | grep -E '^psql:.*(ERROR|FATAL)'; }
fails() { # fails PART WORDS
    [ "$(errors "$1" | wc -l)" = 1 ] || fail "$1: $(errors "$1")"
    contains "$(errors "$1")" "$2"
}
fails columns 'ERROR:  54011: tables can have at most 255 columns'
fails indexes 'ERROR:  54000: more than 24 indexes per table are not allowed'
fails schemas 'ERROR:  54000: more than 10 schemas not allowed'
fails statistics 'ERROR:  54000: more than 5 extended statistics per table are not allowed'
fails tables 'ERROR:  54000: creating more than 1000 tables not allowed'
fails roles 'ERROR:  2BP01: role "app" cannot be dropped because some objects depend on it'
[ -z "$(errors dropped)" ] || fail "$(errors dropped)"
case $out in *dsql_limit*) fail "our own functions show: $out" ;; esac
