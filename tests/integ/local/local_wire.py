"""Sequences of messages to `dsql local` and to a plain PostgreSQL, whose answers must be the same: local_wire.sh.

local_wire.py SOCKET. The environment is that of `dsql local env`; SOCKET is the Unix socket of the PostgreSQL, which
lets admin in. Compared is every message with its content. Of errors and notices that is severity, SQLSTATE, message,
detail, hint and position. Behind the sequences that are written down come random ones: WIRE_ROUNDS (200) of them from
WIRE_SEED (1). Those with 25P02 are not compared: `dsql local` answers it in two more cases (docs/local-fidelity.md).
"""
import os
import pathlib
import random
import socket
import ssl
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from messages import (DONE, FAIL, FLUSH, SYNC, bind, close, data, describe, execute, message, parse, query, run,  # noqa: E402
                      text)

TABLE = 'create table wire (id int primary key, t text)'


COPY = 'copy wire from stdin'
BINARY = b'PGCOPY\n\xff\r\n\0' + b'\0' * 8
NUMBERS = parse('select * from generate_series(1, 5)')

# What it is, and the messages. Behind them the session is idle, or the connection has ended.
SEQUENCES = [
    ('CopyFail', query(COPY) + data(b'1\ta\n') + FAIL),
    ('CopyFail, extended', run(COPY) + data(b'1\ta\n') + FAIL + SYNC),
    ('CopyFail in a transaction', query('begin', COPY) + data(b'1\ta\n') + FAIL + query('commit')),
    ('CopyFail in the first of two', query(f'{COPY}; {COPY}') + FAIL + query('select 1')),
    ('COPY of what does not fit', query(COPY) + data(b'x\ta\n') + DONE),
    ('COPY of nothing', query(COPY) + DONE),
    ('a query among the data', query(COPY) + query('select 1') + DONE + query('select 2')),
    ('Flush and Sync among the data', query(COPY) + FLUSH + SYNC + data(b'7\ta\n') + DONE),
    ('an end among the data', query(COPY) + data(b'8\ta\n\\.\n') + data(b'9\tb\n') + DONE),
    ('a header', query(f'{COPY} (format csv, header match)') + data(b'id,t\n10,"a,b"\n') + DONE),
    ('binary out', query("copy (select 1::int, 'a', null::int) to stdout (format binary)")),
    ('binary in', query(f'{COPY} (format binary)')
     + data(BINARY + struct.pack('!HiiI', 2, 4, 31, 1) + b'q' + struct.pack('!h', -1)) + DONE),
    ('binary in, broken', query(f'{COPY} (format binary)') + data(b'PGCOPX') + DONE),
    ('COPY between others', query(f'select 1; {COPY}; select 2') + data(b'20\ta\n') + DONE),
    ('data without COPY', data(b'zz') + DONE + FAIL + query('select 1')),
    ('Close of unknown names', close('S', 'no') + close('P', 'no') + SYNC),
    ('Close of nothing', close('Z', 'no') + SYNC),
    ('Describe of an unknown statement', describe('S', 'no') + SYNC),
    ('Describe of an unknown portal', describe('P', 'no') + SYNC),
    ('Describe of nothing', describe('Q', 'no') + SYNC),
    ('Execute of an unknown portal', execute('no') + SYNC),
    ('Bind of an unknown statement', bind(name='no') + SYNC),
    ('the unnamed statement after a query', parse('select 1') + SYNC + query('select 2') + bind() + SYNC),
    ('a statement twice', parse('select 1', 'd1') + parse('select 2', 'd1') + SYNC),
    ('a portal twice', parse('select 1') + bind(portal='p') + bind(portal='p') + SYNC),
    ('rows in parts', NUMBERS + bind(portal='p') + execute('p', 2) * 4 + SYNC),
    ('rows after Sync', NUMBERS + bind(portal='p') + execute('p', 2) + SYNC + execute('p', 2) + SYNC),
    ('rows in a transaction', query('begin') + NUMBERS + bind(portal='p') + execute('p', 2) + SYNC + execute('p', 2)
     + SYNC + query('select 9') + execute('p', 2) + SYNC + query('commit') + execute('p') + SYNC),
    ('written rows in parts', query('begin') + parse("insert into wire select g, 'x' from generate_series(1, 5) g"
                                                     ' returning id')
     + bind(portal='p') + execute('p', 2) * 2 + SYNC + query('rollback')),
    ('fewer rows than none', NUMBERS + bind() + execute('', -1) + SYNC),
    ('Execute twice', parse('select 1') + bind() + execute() * 2 + SYNC),
    ('too few values', run('select $1::int') + SYNC),
    ('too many values', run('select 1', (b'1',)) + SYNC),
    ('too few formats', run('select $1::int, $2::int, $3::int', (b'1',) * 3, formats=(0, 0)) + SYNC),
    ('too few result formats', run('select 1, 2, 3', results=(0, 0)) + SYNC),
    ('an unknown format', run('select $1::int', (b'1',), formats=(7,)) + SYNC),
    ('an unknown result format', run('select 1', results=(7,)) + SYNC),
    ('a short binary value', run('select $1::int', (b'1',), formats=(1,)) + SYNC),
    ('a value that is no text', run('select $1::text', (b'\xff',)) + SYNC),
    ('a value with a zero', run('select $1::text', (b'a\0b',)) + SYNC),
    ('a query that is no text', message('Q', b"select '\xff'\0")),
    ('Parse that is no text', message('P', b"\0select '\xff'\0\0\0") + SYNC),
    ('an unknown type', parse('select $1', types=(99999,)) + describe('S') + SYNC),
    ('types to be found', parse('select $1::int + $2', types=(0, 0)) + describe('S') + SYNC),
    ('the type unknown', parse('select $1', types=(705,)) + describe('S') + SYNC),
    ('the type any', parse('select $1', types=(2276,)) + describe('S') + SYNC),
    ('more types than parameters', parse('select $1', types=(23, 25, 16)) + describe('S') + SYNC),
    ('a type that can not be found', parse('select $2') + describe('S') + SYNC),
    ('a record', parse('select $1', types=(2249,)) + bind((b'(1,2)',)) + execute() + SYNC),
    ('two statements in Parse', parse('select 1; select 2') + SYNC),
    ('no statement', parse('') + describe('S') + bind() + describe('P') + execute() + SYNC),
    ('a comment', parse('-- hi') + describe('S') + bind() + execute() + SYNC),
    ('empty queries', query('', ';;;', '/* x */ -- y')),
    ('begin in a pipeline', run('begin') + run('select 1') + SYNC + run('commit') + SYNC),
    ('begin and an error', run('begin') + run('select 1/0') + run('select 1') + SYNC + run('commit') + SYNC),
    ('a pipeline rolls back', run("insert into wire values (1, 'a')") + run('select 1/0') + SYNC + query('table wire')),
    ('a query rolls back', query("insert into wire values (1, 'a'); select 1/0; select 3", 'table wire')),
    ('begin in a query', query("begin; insert into wire values (4, 'a'); commit; insert into wire values (5, 'b'); "
                               'rollback', 'table wire')),
    ('ends without a transaction', query('commit', 'rollback', 'begin', 'begin', 'abort')),
    ('3,000 portals', query('begin') + parse('select 1') + b''.join(bind(portal=f'q{i}') for i in range(3000))
     + b''.join(execute(f'q{i}') for i in range(3000)) + SYNC + query('commit')),
    ('3,000 statements', b''.join(parse(f'select {i}', f's{i}') for i in range(3000)) + SYNC + bind(name='s2999')
     + execute() + SYNC + b''.join(close('S', f's{i}') for i in range(3000)) + SYNC),
    ('more bytes than Bind has', message('B', b'\0' * 8 + b'zz') + SYNC),
    ('more bytes than Parse has', message('P', b'\0select 1\0\0\0zz') + SYNC),
    ('Parse without an end', message('P', b'\0select 1') + SYNC),
    ('Sync with a body', message('S', b'xx') + query('select 1')),
    ('more bytes than Query has', message('Q', b'select 1\0zz')),
    ('Query without an end', message('Q', b'select 1')),
    ('a statement closed under its portal', parse('select id, t from wire where id = $1', 's') + describe('S', 's')
     + bind((b'1',), 's', 'p', results=(1, 0)) + describe('P', 'p') + execute('p') + close('S', 's')
     + describe('P', 'p') + SYNC),
    ('a portal that is closed', parse('select 1') + bind(portal='p') + close('P', 'p') + execute('p') + SYNC),
    ('Describe of what writes', parse('insert into wire values (1, $1) returning *') + describe('S') + SYNC),
    ('Describe of what is no query', parse('show timezone') + describe('S') + parse('begin') + describe('S') + SYNC),
    ('statements across transactions', parse('select 7', 's') + SYNC + query('begin', 'rollback') + bind(name='s')
     + execute() + SYNC),
    ('Parse in a failed transaction', query('begin', 'select 1/0') + parse('select 1') + SYNC + run('rollback') + SYNC),
    ('Bind in a failed transaction', parse('select 1', 's') + SYNC + query('begin', 'select 1/0') + bind(name='s') + SYNC
     + describe('S', 's') + SYNC + run('commit') + SYNC),
    ('a statement of SQL, by the protocol', query('prepare s (int) as select $1') + bind((b'4',), 's') + execute() + SYNC
     + query('deallocate s', 'execute s(1)')),
    ('a statement of the protocol, by SQL', parse('select $1::int', 's') + SYNC + query('execute s(3)', 'deallocate s')
     + bind((b'4',), 's') + SYNC),
    ('DEALLOCATE ALL', parse('select 1', 's') + SYNC + query('deallocate all') + bind(name='s') + SYNC),
    ('a plan that is out of date', parse('select * from wire', 's') + bind(name='s') + execute() + SYNC
     + query('alter table wire add column z int') + bind(name='s') + execute() + SYNC),
    ('settings that are reported', query("set timezone = 'Asia/Tokyo'", "set datestyle = 'SQL'", 'reset all',
                                         "set intervalstyle = 'iso_8601'", "set application_name = 'z'")),
    ('another encoding', query("set client_encoding = 'LATIN1'")
     + message('Q', b"select 'h\xe9', length('h\xe9'), 'h\xe9' || nosuch\0") + query("select 'é'", 'reset client_encoding')),
    ('a place behind letters of two bytes', query("select 'éé', nosuch") + parse("select 'éé', nosuch") + SYNC),
    ('errors of constraints', query("insert into wire values (1, 'a')", "insert into wire values (1, 'a')")),
    ('a large result', query("select repeat('x', 1000) from generate_series(1, 2000)")),
    ('a wide row', query('select ' + ', '.join([f'repeat(\'y\', {4000 + i}) as c{i}' for i in range(1600)]))),
    ('too many columns', query('select ' + ', '.join('1' for _ in range(1665)))),
    ('40,000 values', parse('select array[' + ', '.join(f'${i + 1}::int' for i in range(40000)) + ']')
     + bind((b'1',) * 40000) + execute() + SYNC),
    ('results in binary', run("select 1::int2, 2, 3::int8, 1.5::float4, 2.5::float8, 'x'::text, 'y'::varchar(3), "
                              "'z'::char(3), true, '\\x00ff'::bytea, '2026-01-01'::date, '12:00'::time, "
                              "'12:00+01'::timetz, '2026-01-01'::timestamp, '2026-01-01Z'::timestamptz, "
                              "'1 day'::interval, 12.345::numeric, '[1]'::json, '[1]'::jsonb, array[1, 2], "
                              "'123e4567-e89b-12d3-a456-426614174000'::uuid, 'abc'::name, '127.0.0.1'::inet",
                              results=(1,)) + SYNC),
    ('Sync alone', SYNC * 3),
    ('Flush after an error', parse('selec') + FLUSH + parse('select 1') + FLUSH + SYNC),
    ('an error at Parse', parse('selec') + bind() + execute() + SYNC + query('select 1')),
    ('an error at Bind', run('select $1::int', (b'x',)) + run('select 5') + SYNC + query('select 1')),
    ('an error at Execute', run('select 1/$1::int', (b'0',)) + run('select 5') + SYNC + query('select 1')),
]
# A value of each type, in binary.
VALUES = [(21, '!h', 1), (23, '!i', 1), (20, '!q', 1), (700, '!f', 1.5), (701, '!d', 2.5), (16, '!?', True),
          (1082, '!i', 100), (1083, '!q', 100), (1114, '!q', 100), (1184, '!q', 100)]
SEQUENCES += [(f'a value of type {oid}', parse('select $1', types=(oid,))
               + bind((struct.pack(form, value),), formats=(1,), results=(1,)) + describe('P') + execute() + SYNC)
              for oid, form, value in VALUES]
# Of the startup parameter `options`.
OPTIONS = ['-c application_name=a\\ b', '-capplication_name=a\\ b', '--application-name=a', '--application_name=a\\\\b',
           ' -c   application_name=x  ', '-c application_name', '-c search_path=a\\,b\\ ,c', '-c application_name=a=b',
           '-c timezone=UTC -c timezone=Asia/Tokyo', "-c application_name='q'", '-c\tapplication_name=tab',
           '-c application_name=a\\', '\\-c application_name=z', '-c application_name=a\\\tb\\\\\\ c', '', ' ']
# What random sequences are made of.
TEXTS = ['select 1', 'select id, t from wire order by id', 'table wire', 'values (1), (2)', '', '-- nothing', 'selec',
         "insert into wire values (1, 'again')", "insert into wire select max(id) + 1, 'x' from wire returning id",
         "insert into wire values (7, 'z') on conflict (id) do update set t = 'up'", "update wire set t = t || 'y' where id < 3",
         'delete from wire where id > 5', 'select 1/0', 'select * from nowhere', 'begin', 'begin', 'begin read only', 'commit',
         'end', 'rollback', 'abort', "set timezone to 'Asia/Tokyo'", "set local timezone to 'Asia/Tokyo'", 'reset timezone',
         'show timezone', "set timezone to 'Asia/Tokyo'; select 1/0", 'prepare q as select 7', 'execute q', 'deallocate q',
         'deallocate all', 'select $1::int', 'select $1::int + $2::int', 'select * from generate_series(1, 5)',
         'copy wire to stdout', 'explain (costs off) select 1', 'begin; select 1; commit', 'select 1; select 2',
         'select 1; select 1/0; select 2', 'rollback; select 3', 'commit; select 4', 'select 5; begin']
NAMES = ['', '', 's', 'q']
LINES = [b'100\ta\n', b'no number\n', b'']


def random_part(chance):
    kind = chance.choices('QPBEDCHSfc', (22, 17, 14, 14, 6, 5, 5, 11, 4, 2))[0]
    sql, name, portal = chance.choice(TEXTS), chance.choice(NAMES), chance.choice(NAMES)
    copied = data(chance.choice(LINES)) + chance.choice((DONE, DONE, FAIL))
    values = [chance.choice((b'1', b'2', b'x')) for _ in range(chance.choice((0, 0, 0, 1, 2)))]
    return {'Q': query(sql), 'P': parse(sql, name), 'E': execute(portal, chance.choice((0, 0, 0, 1, 2))),
            'B': bind(values, name, portal, results=chance.choice(((), (), (1,), (0, 1)))),
            'D': describe(*chance.choice((('S', name), ('P', portal)))),
            'C': close(*chance.choice((('S', name), ('P', portal)))), 'H': FLUSH, 'S': SYNC,
            'f': query(COPY) + copied, 'c': parse(COPY, name) + bind(name=name) + execute() + copied + SYNC}[kind]


def random_sequence(chance):
    """Behind it the session is idle, or the connection has ended."""
    rows = query("insert into wire select g, 'i' from generate_series(1, 3) g")
    return rows + b''.join(random_part(chance) for _ in range(chance.randint(3, 25))) + SYNC + query('rollback')


def masked(kind, body):
    if kind in 'EN':
        fields = {chr(f[0]): f[1:] for f in body.split(b'\0') if f}
        return kind, [fields.get(letter) for letter in 'SCMDHP']
    if kind == 'T':  # without the numbers of tables
        found, rest = [], body[2:]
        for _ in range(struct.unpack('!H', body[:2])[0]):
            name, rest = rest.split(b'\0', 1)
            found.append((name, rest[4:18]))
            rest = rest[18:]
        return kind, found
    return kind, body


class Client:
    def __init__(self, sock, password, *settings):
        sock.settimeout(600)
        self.sock, self.stream = sock, sock.makefile('rwb')
        named = ('user', 'admin', 'database', 'postgres', *settings)
        body = struct.pack('!I', 196608) + b''.join(text(s) for s in named) + b'\0'
        self.say(struct.pack('!I', len(body) + 4) + body)
        kind, body = self.read()
        if body == struct.pack('!I', 3):
            self.say(message('p', text(password)))
        self.greeting = self.heard(1)

    def say(self, what):
        self.stream.write(what)
        self.stream.flush()

    def read(self):
        head = self.stream.read(5)
        if len(head) < 5:
            return 'end', b''
        return chr(head[0]), self.stream.read(struct.unpack('!I', head[1:])[0] - 4)

    def heard(self, readies):
        found = []
        while readies > 0:
            kind, body = self.read()
            found.append(masked(kind, body))
            readies -= kind == 'Z'
            if kind == 'end':
                break
        return found

    def heard_to_end(self):
        """Up to the row that says so, or to the end of the connection."""
        found = []
        while not found or (found[-1][0] != 'end' and not found[-1][1:] == (b'\0\1\0\0\0\x07the end',)):
            found.append(masked(*self.read()))
        return found


def to_local(*settings):
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.sendall(struct.pack('!II', 8, 80877103))
    assert sock.recv(1) == b'S'
    return Client(context.wrap_socket(sock, server_hostname=os.environ['PGHOST']), os.environ['PGPASSWORD'],
                  *settings)


def to_postgres(*settings):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(sys.argv[1])
    return Client(sock, '', *settings)


def answers(connect, messages):
    client = connect('timezone', 'UTC')
    client.say(query('drop table if exists wire', TABLE))
    client.heard(2)
    client.say(messages + query("select 'the end'"))
    found = client.heard_to_end()
    client.stream.close()
    client.sock.close()
    return found


def settings(connect, options):
    client = connect('timezone', 'UTC', 'options', options)
    if client.greeting[-1][0] == 'Z':
        client.say(query('select ' + ', '.join(f"current_setting('{name}')" for name in
                                               ('application_name', 'search_path', 'timezone'))))
        found = client.heard(1)
    else:
        found = [part for part in client.greeting if part[0] == 'E']
    client.stream.close()
    client.sock.close()
    return found


def compare(what, local, postgres):
    if local == postgres:
        return 0
    print(f'{what}:')
    for side, found in (('dsql local', local), ('PostgreSQL', postgres)):
        print(f'  {side}:', ' '.join(str(part)[:200] for part in found[:12]))
    return 1


different = 0
for what, messages in SEQUENCES:
    different += compare(what, answers(to_local, messages), answers(to_postgres, messages))
for options in OPTIONS:
    different += compare(f'the options {options!r}', settings(to_local, options), settings(to_postgres, options))
# The name of a cluster is for the front alone, and takes nothing else with it.
tokyo = '-c timezone=Asia/Tokyo'
different += compare('the name of a cluster', settings(to_local, f'-c amzn-cluster-id=x {tokyo}'),
                     settings(to_postgres, tokyo))
seed = int(os.environ.get('WIRE_SEED', '1'))
for number in range(int(os.environ.get('WIRE_ROUNDS', '200'))):
    messages = random_sequence(random.Random(f'{seed} {number}'))
    local, postgres = answers(to_local, messages), answers(to_postgres, messages)
    if not any(kind == 'E' and content[1] == b'25P02' for kind, content in local):
        different += compare(f'WIRE_SEED={seed}, round {number}, {messages}', local, postgres)
sys.exit(different > 0)
