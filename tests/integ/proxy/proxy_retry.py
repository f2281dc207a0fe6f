"""Transactions that meet conflicts behind `dsql proxy`.

    proxy_retry.py off    without --retry-conflicts every conflict is told
    proxy_retry.py on     with it, one is told only where another run would answer otherwise
    proxy_retry.py batch  two transactions in one query, COMMITs failing by chance: none is carried out twice
    proxy_retry.py storm  increments by many clients at once: the sum is that of those who were told of success
"""
import sys
import threading

import psycopg
from psycopg import errors

RUNS = 12


def connect(**options):
    return psycopg.connect('user=admin dbname=postgres', autocommit=True, **options)


class Case:
    """One client with a transaction, another that changes the same row before the first commits."""

    def __init__(self):
        self.first, self.second = connect(), connect()
        self.second.execute('drop table if exists counter')
        self.second.execute('create table counter (id int primary key, n int, note text)')
        self.second.execute("insert into counter values (1, 0, '')")

    def interfere(self):
        self.second.execute('update counter set n = n + 100 where id = 1')

    def value(self):
        return self.second.execute('select n from counter where id = 1').fetchone()[0]

    def end(self):
        self.first.close()
        self.second.close()


def attempt(case, body):
    """Runs the statements of body with a change of the other client before COMMIT; whether they are committed."""
    case.first.execute('begin')
    try:
        body(case)
        case.interfere()
        case.first.execute('commit')
        return True
    except errors.SerializationFailure:
        assert case.first.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return False


def blind(case):
    case.first.execute('update counter set n = n + 1 where id = 1')


def prepared(case):
    for _ in range(3):
        case.first.execute('update counter set n = n + %s where id = %s', (1, 1), prepare=True)


def same_read(case):
    assert case.first.execute('select id from counter where id = 1').fetchone() == (1,)
    blind(case)


def setting(case):
    case.first.execute("set timezone to 'Asia/Tokyo'")
    blind(case)


def one_pipeline(case):
    with case.first.pipeline():
        case.first.execute('select 1')
        case.first.execute('select count(*) from counter')
        case.first.execute('update counter set n = n + 1 where id = 1')


def binary(case):
    with case.first.cursor(binary=True) as cursor:
        assert cursor.execute('select 7::int8, %s::text', ('b',)).fetchone() == (7, 'b')
    blind(case)


def portal(case):
    """Rows in portions, of one portal."""
    with case.first.cursor() as cursor:
        assert [row[0] for row in cursor.stream('select generate_series(1, 50)')] == list(range(1, 51))
    blind(case)


def hidden_randomness(case):
    case.first.execute('update counter set n = n + 1, note = gen_random_uuid()::text where id = 1')


def other_read(case):
    case.first.execute('select n from counter where id = 1').fetchone()
    blind(case)


def returned(case):
    case.first.execute('update counter set n = n + 1 where id = 1 returning n')


def clock(case):
    case.first.execute('select clock_timestamp()').fetchone()
    blind(case)


def randomness(case):
    case.first.execute('select gen_random_uuid()').fetchone()
    blind(case)


def copy_out(case):
    with case.first.cursor() as cursor, cursor.copy('copy (select 1) to stdout') as copy:
        assert list(copy)
    blind(case)


def copy_in(case):
    with case.first.cursor() as cursor, cursor.copy('copy counter from stdin') as copy:
        copy.write_row((2, 0, 'copied'))
    blind(case)


def sql_prepare(case):
    case.first.execute('prepare mine as select 1')
    blind(case)


def too_long(case):
    for _ in range(6):
        case.first.execute("update counter set note = %s where id = 1", ('x' * 200000,))
    blind(case)


REPEATED = {blind: 1, prepared: 3, same_read: 1, setting: 1, one_pipeline: 1, binary: 1, portal: 1, hidden_randomness: 1}
TOLD = [other_read, returned, clock, randomness, copy_out, copy_in, sql_prepare, too_long]


def check(body, adds, repeated):
    case = Case()
    committed = attempt(case, body)
    assert committed == repeated, f'{body.__name__}: {"committed" if committed else "a conflict was told"}'
    expected = 100 + (adds if committed else 0)
    assert case.value() == expected, f'{body.__name__}: {case.value()} is not {expected}'
    # The session is what the client thinks it is: its statements, its settings, a transaction of its own.
    prepared(case)
    assert case.value() == expected + 3, f'{body.__name__}: its statements do not work afterwards'
    zone = case.first.execute('show timezone').fetchone()[0]
    assert zone == ('Asia/Tokyo' if committed and body is setting else 'UTC'), (body.__name__, zone)
    if committed:
        assert attempt(case, blind), body.__name__
    case.end()


def off():
    for body in [*REPEATED, *TOLD]:
        check(body, 0, False)
    print(f'{len(REPEATED) + len(TOLD)} conflicts told')


def on():
    for body, adds in REPEATED.items():
        check(body, adds, True)
    for body in TOLD:
        check(body, 0, False)
    print(f'{len(REPEATED)} run again, {len(TOLD)} told')


def increment(conn, kind):
    if kind == 0:
        conn.execute('update counter set n = n + 1 where id = 1')
    elif kind == 1:
        conn.execute('update counter set n = n + 1 where id = 1 returning n').fetchone()
    elif kind == 2:
        conn.execute("begin; update counter set n = n + 1 where id = 1; commit", prepare=False)
    else:
        with conn.transaction():
            if kind == 3:  # read, then write what was computed from it
                n, = conn.execute('select n from counter where id = 1').fetchone()
                conn.execute('update counter set n = %s where id = 1', (n + 1,))
            else:
                conn.execute('update counter set n = n + 1 where id = 1')


def storm():
    case = Case()
    done, told = [], []

    def work(number):
        with connect(prepare_threshold=0) as conn:
            for i in range(RUNS):
                try:
                    increment(conn, (number + i) % 5)
                    done.append(number)
                except errors.SerializationFailure:
                    told.append(number)
                    if conn.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                        conn.execute('rollback')

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(told) == 10 * RUNS, (len(done), len(told))
    assert case.value() == len(done), f'the counter is {case.value()}, {len(done)} increments were committed'
    print(f'{len(done)} increments, {len(told)} conflicts told')
    case.end()


def batch():
    with connect() as conn:
        conn.execute('drop table if exists batches')
        conn.execute('create table batches (k int)')
        told = 0
        for k in range(40):
            try:
                conn.execute(f'begin; insert into batches values ({k}); commit; begin; insert into batches values ({k + 1000}); commit')
            except errors.SerializationFailure:
                told += 1
        twice = conn.execute('select k from batches group by k having count(*) > 1').fetchall()
        assert not twice, f'carried out twice: {twice}'
    print(f'{told} conflicts told')


{'off': off, 'batch': batch, 'on': on, 'storm': storm}[sys.argv[1]]()
