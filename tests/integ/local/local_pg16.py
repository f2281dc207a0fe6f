"""Statements in PostgreSQL 16's grammar and with its functions, each as a Query and as a Parse: rows, or the error and
where it is in what was sent. local_pg16.sh has the rest; the environment is that of `dsql local env`.
"""
import os
import socket
import ssl
import struct
import sys

EDITED = [
    # statement, rows or error
    ('select 0x1F, 0o17, 0b1_1, 1_000.5, 0xFFFFFFFFFF', '31 15 3 1000.5 1099511627775'),
    ('select pg_typeof(0x7FFFFFFF), pg_typeof(0x7FFFFFFFFFFFFFFF), pg_typeof(0x8000000000000000)',
     'integer bigint numeric'),
    ('select * from (select 1 as a), (values (2)) where a = 0x1', '1 2'),
    ('select 1 from (select 1) join (select 2 as b) on b = 2', '1'),
    ('select system_user is null', 't'),
    ("select '{}' is json, '[' is json, null is json is null, ' 1' is json scalar, '[1]' is not json array", 't f t t f'),
    ("select '{}'::jsonb is json object, '1'::json is json array, '\\x31'::bytea is json", 't f t'),
    ("select json_array(1, 'a', null, date '2026-11-19'), json_array(), json_object()",
     '[1, "a", "2026-11-19"] [] {}'),
    ("select json_array(null, array[1] null on null), json_array(null on null)", '[null, [1]] []'),
    ("select json_object('a': 1, 2 value null, true: '{1,2}'::int[])", '{"a" : 1, "2" : null, "true" : [1,2]}'),
    ("select json_object('a': null, 'b': json_object('c': 'd') absent on null returning jsonb)", '{"b": {"c": "d"}}'),
    ("select json_object('{a,1}'), json_object('{a}', '{1}')", '{"a" : "1"} {"a" : "1"}'),
    ("select json_object(null: 1)", '22004 null value not allowed for object key @None'),
    ("select json_object('[]'::json: 1)",
     '22023 key value must be scalar, not array, composite, or json @None'),
    ('select any_value(x) from (values (null), (7)) t (x)', '7'),
    ('select random_normal(5, 0), random_normal() = random_normal()', '5 f'),
    ('select array_shuffle(array[1, 2, 3]) @> array[3, 2, 1], cardinality(array_sample(array[1, 2, 3], 2))', 't 2'),
    ("select array_shuffle('[5:5]={1}'::int[]), array_dims(array_shuffle('[2:3]={1,2}'::int[])), "
     "array_dims(array_sample(array[[1, 2], [3, 4], [5, 6]], 2)), array_sample('{}'::int[], 0)",
     '[5:5]={1} [2:3] [1:2][1:2] {}'),
    ('select array_sample(array[1], 2)', '22023 sample size must be between 0 and 1 @None'),
    ("select round(erf(0.5)::numeric, 6), round(erfc(0.5)::numeric, 6)", '0.520500 0.479500'),
    # The clocks went back that night.
    ("select date_add('2021-10-31 00:00:00+02', '1 day', 'Europe/Warsaw')", '2021-10-31 23:00:00+00'),
    ("select date_add('2021-10-31 00:00:00+02', '24 hours', 'Europe/Warsaw')", '2021-10-31 22:00:00+00'),
    ("select date_subtract('2021-11-01 00:00:00+01', '1 day', 'Europe/Warsaw')", '2021-10-30 22:00:00+00'),
    ("select date_add('2021-10-31 00:00:00+02', '1 month -1 day 1:30:01.5', 'Europe/Warsaw')",
     '2021-11-29 00:30:01.5+00'),
    ("select pg_input_is_valid('42', 'int'), pg_input_is_valid('x', 'int'), pg_input_is_valid('12345', 'varchar(4)')",
     't f f'),
    ("select * from pg_input_error_info('1e400', 'float8')",
     '"1e400" is out of range for type double precision None None 22003'),
    ("select * from pg_input_error_info('1', 'int')", 'None None None None'),
    ("select pg_input_is_valid('1', 'nothing')", '42704 type "nothing" does not exist @None'),
    # Errors are where the client wrote them: the parser's, and PostgreSQL's.
    ('select 0x1F, nope from (select 1)', '42703 column "nope" does not exist @14'),
    ("select 'é', 1_0, (select 1 is null) from (select 1), nope", '42P01 relation "nope" does not exist @54'),
    ('select 1_000 1_000', '42601 syntax error at or near "1_000" @14'),
    ("select 1 from (select 1) where 'a' is json and late", '42703 column "late" does not exist @48'),
    # What can't be done with 15.
    ('grant r to s with inherit false', '42601 syntax error at or near "inherit" @19'),
]


def message(kind, body=b''):
    return kind.encode() + struct.pack('!I', len(body) + 4) + body


def connect():
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.sendall(struct.pack('!II', 8, 80877103))
    assert sock.recv(1) == b'S'
    sock = context.wrap_socket(sock, server_hostname=os.environ['PGHOST'])
    sock.settimeout(600)
    body = struct.pack('!I', 196608) + b'user\0admin\0database\0postgres\0client_encoding\0UTF8\0timezone\0UTC\0\0'
    sock.sendall(struct.pack('!I', len(body) + 4) + body)
    stream = sock.makefile('rwb')
    answer(stream, 'R')
    stream.write(message('p', os.environ['PGPASSWORD'].encode() + b'\0'))
    stream.flush()
    answer(stream, 'Z')
    return stream


def values(row):
    at, found = 2, []
    for _ in range(struct.unpack('!H', row[:2])[0]):
        length, = struct.unpack('!i', row[at:at + 4])
        at += 4
        found.append('None' if length < 0 else row[at:at + length].decode())
        at += max(length, 0)
    return ' '.join(found)


def answer(stream, last):
    """Rows and errors up to a message of that letter."""
    found = []
    while True:
        head = stream.read(5)
        assert len(head) == 5, 'the connection is gone'
        kind, body = chr(head[0]), stream.read(struct.unpack('!I', head[1:])[0] - 4)
        if kind == 'D':
            found.append(values(body))
        if kind == 'E':
            fields = {f[:1].decode(): f[1:].decode() for f in body.split(b'\0') if f}
            found.append(f"{fields['C']} {fields['M']} @{fields.get('P')}")
        if kind == last:
            return '; '.join(found)


def as_query(text):
    return message('Q', text.encode() + b'\0')


def as_parse(text):
    return (message('P', b'\0' + text.encode() + b'\0\0\0') + message('B', b'\0' * 8) + message('E', b'\0' * 5) +
            message('S'))


# A second statement of the same string has its places in the whole string, too.
def behind_another(text):
    return as_query("select 'é' where false ;  /* 0x1 */ " + text)


def expect(stream, sent, text, wanted):
    stream.write(sent)
    stream.flush()
    got = answer(stream, 'Z')
    if got != wanted:
        sys.exit(f'{text}\nanswers  {got}\nand not  {wanted}')


client = connect()
for statement, rows in EDITED:
    expect(client, as_query(statement), statement, rows)
    expect(client, as_parse(statement), statement, rows)
    text, at, place = rows.rpartition(' @')
    if at and place != 'None' and not text.startswith('42601'):
        expect(client, behind_another(statement), statement, f'{text} @{int(place) + 36}')
# Several in one go: each error is of its own statement.
sent = as_parse('select 0x1, a') + as_parse('select b') + as_parse('select 1_0, 0x1F, c')
client.write(sent)
client.flush()
places = [answer(client, 'Z').rpartition('@')[2] for _ in range(3)]
if places != ['13', '8', '19']:
    sys.exit(f'places of three errors: {places}')
print(len(EDITED), 'statements of PostgreSQL 16')
