#!/bin/bash
# `dsql proxy` before a database whose functions, views and defaults change settings: who calls them keeps what they set, and
# no other client gets it. One connection for all clients.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

zone_of_another() { same "$(psql_t -c 'show timezone')" UTC; }
# called STATEMENT: who sends it has the time zone that it sets, and nobody else.
called() {
    same "$(psql_t -c "$1" -c 'show timezone' | tail -1)" Asia/Tokyo
    zone_of_another
}
# Made through the proxy: noticed at once.
start_proxy --connections=1
psql_t -c 'create table plain (id int primary key)'
zone_of_another
psql_t -c "create function by_text() returns text language sql as 'select set_config(''timezone'', ''Asia/Tokyo'', false)'"
called 'select by_text()'
psql_t -c 'drop function by_text()' -c "create function by_tree() returns text language sql
    begin atomic select set_config('timezone', 'Asia/Tokyo', false); end"
called 'select by_tree()'
psql_t -c 'drop function by_tree()' -c "create view by_view as select set_config('timezone', 'Asia/Tokyo', false)"
called 'table by_view'
psql_t -c 'drop view by_view' -c "create table by_default (id int primary key, z text default set_config('timezone', 'Asia/Tokyo', false))"
called 'insert into by_default values (1)'
stop_proxy
# Made by somebody else, before the proxy came.
psql -X -q -c 'drop table by_default' -c "create function old() returns text language sql as 'select set_config(''timezone'', ''Asia/Tokyo'', false)'"
start_proxy --connections=1
called 'select old()'
# There is none any more: settings are not read back then, which the server would have to answer.
psql_t -c 'drop function old()' -c 'create table again (id int primary key)'
zone_of_another
stop_proxy
stop_local
