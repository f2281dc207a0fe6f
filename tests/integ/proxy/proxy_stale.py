"""Clients with different settings take turns on one connection of the proxy, while a session beside it changes tables.

Each change makes the connection's next statement fail with OC001 (`dsql local --stale-catalogue=100%`). That statement is the
one that puts the settings of the next client in place. A statement of a client's that ran nevertheless would write into
the table of the client before it.
"""
import os
import sys
import time

import psycopg

ROUNDS = 8
CLIENTS = 'one', 'two', 'three'


def proxied(client, name=None):
    conninfo = f'host=127.0.0.1 port={os.environ["PROXY_PORT"]} user=admin dbname=postgres application_name={name or client}'
    for name in ('PGHOSTADDR', 'PGPASSWORD', 'PGSSLMODE', 'PGSSLROOTCERT'):
        os.environ.pop(name, None)
    return psycopg.connect(conninfo, autocommit=True, options=f'-c search_path={client}')


def by_itself(conn, n):
    conn.execute(f"insert into lines values ({n}, current_setting('application_name'))")


def prepared(conn, n):
    conn.execute("insert into lines values (%s, current_setting('application_name'))", (n,), prepare=True)


def in_transaction(conn, n):
    with conn.transaction():
        by_itself(conn, n)


def in_pipeline(conn, n):
    with conn.pipeline():
        prepared(conn, n)


def and_goes(conn, n):
    """Another client sends the statement and goes: it is carried out."""
    other = proxied(CLIENTS[n % 3], 'goes')
    conn.execute('select 1')  # the other client's settings have to be put in place again
    other.pgconn.nonblocking = 1
    other.pgconn.send_query(f"insert into lines values ({n}, '{CLIENTS[n % 3]}')".encode())
    other.pgconn.flush()
    other.pgconn.finish()
    end = time.monotonic() + 120
    while not conn.execute(f'select 1 from lines where n = {n}').fetchone():
        assert time.monotonic() < end, 'the statement of a client that went is not carried out'


def main():
    beside = psycopg.connect('', autocommit=True)
    for client in CLIENTS:
        beside.execute(f'drop table if exists {client}.lines')
        beside.execute(f'create schema if not exists {client}')
        beside.execute(f'create table {client}.lines (n int primary key, who text)')
    clients = [proxied(client) for client in CLIENTS]
    n = 0
    for number in range(ROUNDS):
        for way in (by_itself, prepared, in_transaction, in_pipeline, and_goes):
            for client in clients:
                beside.execute(f'alter table {CLIENTS[n % 3 - 1]}.lines add column c{n} int')
                way(client, n)
                n += 1
    for client, name in zip(clients, CLIENTS):
        rows = client.execute('select n, who from lines order by n').fetchall()
        wanted = [(i, name) for i in range(n) if CLIENTS[i % 3] == name]
        if rows != wanted:
            sys.exit(f'{name}: {rows} instead of {wanted}')
    print('every statement ran once')


main()
