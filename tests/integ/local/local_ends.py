"""Whichever way `dsql local` ends a connection, its client reads to the end of it: local_ends.sh.

The environment is that of `dsql local env`. A socket that is closed with bytes unread resets the connection: the read
of the client fails, and on some systems what it was told last is lost.
"""
import os
import socket
import ssl
import struct
import sys


def message(kind, body=b''):
    return kind.encode() + struct.pack('!I', len(body) + 4) + body


def startup(*settings):
    body = struct.pack('!I', 196608) + b''.join(s.encode() + b'\0' for s in ('user', 'admin', 'database', 'postgres', *settings)) + b'\0'
    return struct.pack('!I', len(body) + 4) + body


def plain():
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.settimeout(600)
    return sock


def wrapped(sock, alpn=()):
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    context.set_alpn_protocols(alpn)
    return context.wrap_socket(sock, server_hostname=os.environ['PGHOST'])


def encrypted():
    sock = plain()
    sock.sendall(REQUEST)
    assert sock.recv(1) == b'S'
    return wrapped(sock)


REQUEST = struct.pack('!II', 8, 80877103)
CANCEL = struct.pack('!IIII', 16, 80877102, 1, 2)
PASSWORD = message('p', os.environ['PGPASSWORD'].encode() + b'\0')
MORE = message('Q', b'select 1\0') * 100

# What it is, the connection, what is sent, a part of what comes back.
ENDS = [
    ('a request to cancel', plain, CANCEL, b''),
    ('an encrypted request to cancel', encrypted, CANCEL, b''),
    ('no encryption', plain, startup(), b'SSL is mandatory'),
    ('another protocol', plain, b'GET / HTTP/1.1\r\n\r\n', b''),
    ('TLS at once without its name', lambda: wrapped(plain()), startup() + MORE, b''),
    ('a parameter that is refused', encrypted, startup('statement_timeout', '1') + PASSWORD + MORE, b'not supported'),
    ('a wrong password', encrypted, startup() + message('p', b'x\0') + MORE, b'access denied'),
    ('no password', encrypted, startup() + MORE, b''),
    ('a message of no kind', encrypted, startup() + PASSWORD + MORE + message('!') + MORE, b''),
    ('Terminate', encrypted, startup() + PASSWORD + message('X') + MORE, b''),
]
failed = 0
for what, connect, sent, part in ENDS:
    found = b''
    try:
        sock = connect()
        sock.sendall(sent)
        while more := sock.recv(65536):
            found += more
    except OSError as error:
        print(f'{what}: {error}, after {found[-80:]}')
        failed += 1
        continue
    if part not in found:
        print(f'{what}: {found}')
        failed += 1
sys.exit(failed > 0)
