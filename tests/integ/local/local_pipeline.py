"""Sequences in which not every message is answered, by bytes: what local_pipeline.sh says.

local_pipeline.py DSQL. The environment is that of `dsql local env`.
"""
import os
import socket
import ssl
import struct
import subprocess
import sys


def message(kind, body=b''):
    return kind.encode() + struct.pack('!I', len(body) + 4) + body


def parse(query, name=b''):
    return message('P', name + b'\0' + query.encode() + b'\0\0\0')


def run(query):
    return parse(query) + message('B', b'\0' * 8) + message('E', b'\0' * 5)


def query(text):
    return message('Q', text.encode() + b'\0')


def connect():
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.sendall(struct.pack('!II', 8, 80877103))
    assert sock.recv(1) == b'S'
    sock = context.wrap_socket(sock, server_hostname=os.environ['PGHOST'])
    sock.settimeout(600)
    body = struct.pack('!I', 196608) + b'user\0admin\0database\0postgres\0\0'
    sock.sendall(struct.pack('!I', len(body) + 4) + body)
    stream = sock.makefile('rwb')
    heard(stream, 'R')
    say(stream, message('p', os.environ['PGPASSWORD'].encode() + b'\0'))
    heard(stream, 'Z')
    return stream


def say(stream, data):
    stream.write(data)
    stream.flush()


def heard(stream, last, times=1):
    """The letters of what came up to that one, errors with their code; # is the end of the connection."""
    found = []
    while times > 0:
        head = stream.read(5)
        if len(head) < 5:
            return ' '.join([*found, '#'])
        kind, body = chr(head[0]), stream.read(struct.unpack('!I', head[1:])[0] - 4)
        code = [f[1:].decode() for f in body.split(b'\0') if f[:1] == b'C'] if kind == 'E' else []
        found.append(kind + ''.join(code) + (body.decode() if kind == 'Z' else ''))
        times -= kind == last
    return ' '.join(found)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f'{what}: {got} and not {wanted}')


SYNC, FLUSH, END = message('S'), message('H'), message('c')
BAD = parse('selec')
COPY = run('copy t from stdin')
ROWS = message('d', b'1\n2\n')

# After each of them the endpoint must know that nothing is owed any more.
BEHIND = [
    ('a query that is skipped', BAD + query('select 1') + SYNC, 1),
    ('two of them', BAD + query('select 1') + query('begin') + SYNC, 1),
    ('a function call that is skipped', BAD + message('F', b'\0' * 10) + SYNC, 1),
    ('a Sync in front of the data', COPY + SYNC + ROWS + END + SYNC, 1),
    ('a Sync in front of COPY that fails', COPY + SYNC + message('d', b'x\n') + END + SYNC, 1),
    ('a query that can not be read', message('Q', b'select 1'), 1),
    ('nothing', b'', 0),
]
# In front of PostgreSQL the transaction is begun and fails; PostgreSQL has skipped all of it.
FORETOLD = BAD + run('begin') + parse('lock table t') + SYNC


def caught_up(what, data, readies):
    stream = connect()
    say(stream, data)
    heard(stream, 'Z', readies)
    say(stream, FORETOLD)
    expect(f'{what}, then an error', heard(stream, 'Z'), 'E42601 ZI')
    say(stream, query('reset application_name'))
    expect(f'{what}, then RESET', heard(stream, 'Z'), 'C ZI')
    subprocess.run([sys.argv[1], 'local', 'fault', 'close-applied=1x'], check=True, stdout=subprocess.DEVNULL)
    say(stream, query('insert into t values (3)'))
    expect(f'{what}, then an INSERT whose answer is lost', heard(stream, 'Z'), '#')


def skipped():
    """What PostgreSQL skips is not judged: neither a fault nor the state of the transaction is used up."""
    stream = connect()
    say(stream, BAD + FLUSH)
    expect('an error', heard(stream, 'E42601'[0]), 'E42601')
    subprocess.run([sys.argv[1], 'local', 'fault', 'conflict-commit=1x'], check=True, stdout=subprocess.DEVNULL)
    say(stream, run('begin') + run('insert into t values (4)') + query('commit') + SYNC)
    expect('what is skipped', heard(stream, 'Z'), 'ZI')
    say(stream, query('insert into t values (5)'))
    expect('the fault is still there', heard(stream, 'Z'), 'E40001 ZI')


def settings_stay():
    """RESET ALL that is skipped resets nothing: the session at PostgreSQL is not another client's."""
    stream = connect()
    say(stream, query("set timezone to 'Asia/Tokyo'") + BAD + query('reset all') + SYNC)
    heard(stream, 'Z', 2)
    stream.close()
    other = connect()
    say(other, query("select 1/(current_setting('timezone') = 'UTC')::int"))
    expect('settings of the client before', heard(other, 'Z'), 'T D C ZI')


def names_stay():
    """A statement that was skipped, or failed, has no name; what gets the name later is what is judged."""
    for before in (BAD + parse('select 1', b'a'), parse('select * from nowhere', b'a')):
        stream = connect()
        say(stream, before + SYNC)
        heard(stream, 'Z')
        say(stream, parse("set timezone to 'Asia/Tokyo'", b'a') + SYNC
            + message('B', b'\0a\0' + b'\0' * 6) + message('E', b'\0' * 5) + SYNC)
        expect('a name that is free', heard(stream, 'Z', 2), '1 ZI 2 C S ZI')
        say(stream, message('X'))
        expect('the end', heard(stream, 'Z'), '#')
        other = connect()
        say(other, query("set timezone to 'Asia/Tokyo'"))
        expect('a setting that nobody else has set is reported', heard(other, 'Z'), 'C S ZI')


def gave_way():
    """A transaction that made room for DDL has taken its settings back, and its client is told so."""
    stream, other = connect(), connect()
    say(stream, query('create table w (id int)'))
    expect('table', heard(stream, 'Z'), 'C ZI')
    say(stream, query('begin') + query("set timezone to 'Asia/Tokyo'") + query('select from w'))
    expect('a transaction', heard(stream, 'Z', 3), 'C ZT C S ZT T C ZT')
    say(other, query('drop table w'))
    expect('DDL', heard(other, 'Z'), 'C ZI')
    say(stream, query('commit'))
    expect('the setting is taken back', heard(stream, 'Z'), 'S C ZI')


first = connect()
say(first, query('create table t (id int)'))
expect('table', heard(first, 'Z'), 'C ZI')
for sequence in BEHIND:
    caught_up(*sequence)
skipped()
settings_stay()
names_stay()
gave_way()
