"""Messages of a client, for tests that send sequences of them."""
import struct


def message(kind, body=b''):
    return kind.encode() + struct.pack('!I', len(body) + 4) + body


def text(s):
    return (s if isinstance(s, bytes) else s.encode()) + b'\0'


def many(form, values):
    return struct.pack('!H', len(values)) + b''.join(struct.pack(form, v) for v in values)


def parse(sql, name='', types=()):
    return message('P', text(name) + text(sql) + many('!I', types))


def bind(values=(), name='', portal='', formats=(), results=()):
    body = text(portal) + text(name) + many('!H', formats) + struct.pack('!H', len(values))
    for value in values:
        body += struct.pack('!I', len(value)) + value
    return message('B', body + many('!H', results))


def execute(portal='', rows=0):
    return message('E', text(portal) + struct.pack('!i', rows))


def describe(kind, name=''):
    return message('D', kind.encode() + text(name))


def close(kind, name=''):
    return message('C', kind.encode() + text(name))


def query(*texts):
    return b''.join(message('Q', text(t)) for t in texts)


def data(lines):
    return message('d', lines)


def run(sql, values=(), **formats):
    return parse(sql) + bind(values, **formats) + execute()


SYNC, FLUSH, DONE, FAIL = message('S'), message('H'), message('c'), message('f', text('had enough'))
