"""Hand-written sequences for the proxy and straight to `dsql local`, whose answers must be the same: what one client leaves
on a connection must not be heard by the next, and a name means what its client prepared.

proxy_cases.py. The environment is that of proxy_diff.py. Each sequence is a list of steps: who says it, the messages, how
many ReadyForQuery there are.
"""
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from messages import SYNC, bind, close, describe, execute, message, parse, query, run  # noqa: E402
from proxy_diff import direct, proxied, show  # noqa: E402


def one(who, *messages):
    """Messages of the extended protocol with their Sync."""
    return who, b''.join(messages) + SYNC, 1


def asks(who, *texts):
    return [(who, query(text), 1) for text in texts]


def bound(name, values=()):
    return bind(values, name) + execute()


def turns(text, name='s'):
    """Two clients prepare the same text, and then run it in turns."""
    return ([one(who, parse(text, name)) for who in 'BA'] + [one(who, bound(name)) for who in 'BABA']
            + [one(who, parse(text)) for who in 'AB'] + [one(who, bind() + execute()) for who in 'BA']
            + asks('B', b'prepare q as ' + text) + asks('A', b'prepare q as ' + text)
            + [step for who in 'BAB' for step in asks(who, 'execute q')])


def changed(text, *settings):
    """A client prepares, changes a setting, and runs on a connection where others have prepared meanwhile."""
    return ([one('A', parse(text, 's'))] + asks('A', b'prepare q as ' + text) + asks('A', *settings)
            + [one('B', parse(text, 's')), one('B', bound('s')), one('A', bound('s'))] + asks('A', 'execute q', 'show timezone')
            + [one('B', bound('s')), one('A', bound('s'))] + asks('B', 'show timezone', 'show datestyle'))


DATES = b"select date '01/02/2026' - date '2026-01-01'"
ZONES = b"select extract(epoch from timestamptz '2026-01-01 00:00')"
SPANS = b"select extract(epoch from interval '-1 2:03:04')"
BYTES = b"select length('\xc3\xa9')"
GERMAN = (('options', '-c DateStyle=SQL,DMY'),)
TOKYO = (('TimeZone', 'Asia/Tokyo'),)
LATIN = (('client_encoding', 'LATIN1'),)
PATH = (('options', '-c search_path=s1'),)
SCHEMAS = ['drop schema if exists s1 cascade', 'drop schema if exists s2 cascade', 'create schema s1', 'create schema s2',
           'create table s1.t (a int)', 'create table s2.t (a text)', 'insert into s1.t values (1)']
TABLE = ['drop table if exists dd', 'create table dd (a int)']
INSERT = 'insert into t values ($1) returning a'
CROWD = [one(f'C{i % 3}', parse(f'select {i}', '') + parse(f'select {i}', f's{i}')) for i in range(101)]
SHOW = asks('B', 'show timezone') + asks('A', 'show timezone')

# What it is, the steps, what is there before, what the startup packets say.
CASES = [
    ('dates', turns(DATES), [], {'B': GERMAN}),
    ('zones', turns(ZONES), [], {'B': TOKYO}),
    ('spans of time', turns(SPANS), [], {'B': (('IntervalStyle', 'sql_standard'),)}),
    ('encodings', turns(BYTES), [], {'B': LATIN}),
    ('a changed date style', changed(DATES, "set datestyle = 'SQL,DMY'"), [], {}),
    ('a changed zone', changed(ZONES, "set timezone = 'Asia/Tokyo'"), [], {}),
    ('a changed encoding', changed(BYTES, "set client_encoding = 'LATIN1'"), [], {}),
    ('a changed zone, in a transaction', changed(ZONES, 'begin', "set timezone = 'Asia/Tokyo'", 'commit'), [], {}),
    ('a zone that is taken back', changed(ZONES, 'begin', "set timezone = 'Asia/Tokyo'", 'rollback'), [], {}),
    ('a path that others do not have', [one('B', parse('select * from t', 's'))]
     + asks('A', 'begin', 'set local search_path to s2') + [one('A', parse('select * from t', 's'), bound('s'))]
     + asks('A', 'commit') + [one('B', bound('s'))], SCHEMAS, {'A': PATH, 'B': PATH}),
    ('parameters of another path', [one('B', parse(INSERT, 's'))] + asks('A', 'begin', 'set local search_path to s2')
     + [one('A', parse(INSERT, 's'))] + asks('A', 'commit') + [one('B', describe('S', 's'), bound('s', (b'7',)))],
     SCHEMAS, {'A': PATH, 'B': PATH}),
    ('a path in the same pipeline', [('A', query('set search_path to s2') + parse('select * from t', 's') + SYNC
                                      + query('set search_path to s1'), 3), one('B', parse('select * from t', 's'), bound('s'))],
     SCHEMAS, {'A': PATH, 'B': PATH}),
    ('EXECUTE of what is gone', asks('A', 'prepare p as select * from dd') + CROWD + asks('B', 'drop table dd')
     + asks('A', 'execute p', 'begin', 'execute p', 'rollback', 'deallocate p', 'execute p'), TABLE, {}),
    ('a listing in a failed move', asks('A', 'prepare p as select 1', 'prepare q as select * from dd', 'drop table dd',
                                        "select name from pg_prepared_statements where name = 'p'", 'execute p',
                                        'deallocate all'), TABLE, {}),
    ('comments that end with a carriage return', asks('A', 'prepare a as select 1', '-- x\rexecute a', '-- x\rdeallocate a',
                                                      'execute a'), [], {}),
    ('names that begin alike', asks('A', *(f'prepare "b{i}" (int) as select {i} + $1' for i in range(40)),
                                    *(f'execute b{i}; execute b{j}' for i in (0, 3, 30) for j in (0, 3, 31))), [], {}),
    ('a function by another spelling', asks('A', "select U&\"set\\005fconfig\"('timezone', 'Asia/Tokyo', false)") + SHOW, [], {}),
    ('an update of pg_settings', asks('A', "update pg_settings set setting = 'Asia/Tokyo' where name = 'TimeZone'") + SHOW, [], {}),
    ('an update of a setting that is not reported', asks('A', "update pg_settings set setting = 's1' where name = 'search_path'")
     + asks('B', 'show search_path') + asks('A', 'show search_path'), [], {}),
    ('prepared by one protocol, run by the other', [one('A', parse('select 5', 'a'))] + asks('A', 'execute a', 'execute a (1)',
     'prepare a as select 6', 'explain (costs off) execute a', 'deallocate a', 'execute a') + [one('A', bound('a'))], [], {}),
    ('PREPARE by the protocol', [one('A', run('prepare a as select 7')), one('A', run('execute a')),
                                 one('A', run('prepare a as select 8')), one('A', parse('execute a', 'x'), describe('S', 'x'), bound('x')),
                                 one('A', run('deallocate a')), one('A', bound('x')),
                                 one('A', run('prepare a as select 9')), one('A', bound('x')), one('A', close('S', 'x'), bound('x'))],
     [], {}),
    ('PREPARE behind an error', [one('A', run('select 1/0'), run('prepare a as select 1')), one('A', run('execute a')),
                                 one('A', run('prepare a as select 1'), run('select 1/0'), run('deallocate a')),
                                 one('A', run('execute a'))], [], {}),
    ('two names for one text', asks('A', 'prepare a as select 3', 'prepare b as select 3')
     + [('A', query('deallocate a', 'execute b', 'execute a', 'deallocate b', 'execute b'), 5)], [], {}),
]


def said(connect, steps, setup, startups):
    clients, found = {}, []
    keeper = connect()
    for text in setup:
        keeper.sock.sendall(query(text))
        keeper.answers(1)
    for who, messages, readies in steps:
        if who not in clients:
            clients[who] = connect(startups.get(who, ()))
        clients[who].sock.sendall(messages)
        found.append(clients[who].answers(readies))
    for client in (keeper, *clients.values()):
        client.sock.sendall(message('X'))
        client.sock.close()
    return found


def main():
    failures = 0
    for what, steps, setup, startups in CASES:
        wanted, got = (said(connect, steps, setup, startups) for connect in (direct, proxied))
        for (who, messages, _), one_side, other in zip(steps, wanted, got):
            if one_side != other:
                failures += 1
                print(f'{what}: {who} said\n   {messages!r}\ndirect\n{show(one_side)}\nthrough the proxy\n{show(other)}')
                break
    print(f'{len(CASES)} cases, {failures} differ')
    return 1 if failures else 0


socket.setdefaulttimeout(120)
sys.exit(main())
