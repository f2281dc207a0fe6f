"""Clients that do not log in as they should, before `dsql proxy`.

    proxy_hostile.py limit N      a user has N clients, and not one more
    proxy_hostile.py hostile PID  silence, half packets, huge ones, noise: closed in time, and the proxy stays small
"""
import os
import socket
import struct
import subprocess
import sys
import time

ADDRESS = ('127.0.0.1', int(os.environ['PROXY_PORT']))


def startup(**params):
    body = b'\0\3\0\0' + b''.join(k.encode() + b'\0' + v.encode() + b'\0' for k, v in params.items()) + b'\0'
    return struct.pack('!i', len(body) + 4) + body


def connect(data):
    sock = socket.create_connection(ADDRESS)
    sock.settimeout(120)
    try:
        sock.sendall(data)
    except OSError:
        pass
    return sock


def ends(sock):
    """What it says until it closes the connection; fails if it never does."""
    said = b''
    try:
        while data := sock.recv(65536):
            said += data
    except ConnectionError:
        pass
    return said


def memory_kib(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS'))


def query():
    return subprocess.run(['psql', '-X', '-A', '-t', '-c', 'select 1'], capture_output=True, text=True, timeout=300,
                          check=False)


def limit(count):
    import psycopg
    held = [psycopg.connect('') for _ in range(count)]
    try:
        psycopg.connect('')
        raise SystemExit('one client too many came in')
    except psycopg.OperationalError as refused:
        assert 'as many clients as one user may have' in str(refused), refused
    for conn in held:
        conn.close()
    deadline = time.monotonic() + 120
    while query().returncode:  # the proxy learns of the end in its own time
        assert time.monotonic() < deadline
    print('limited')


def hostile(pid):
    ssl_request = struct.pack('!ii', 8, 80877103)
    kinds = {
        'silent': b'',
        'half a length': b'\0\0',
        'half a packet': startup(user='admin')[:-4],
        'an endless one': struct.pack('!i', 0x7fffffff) + b'x' * 100000,
        'noise': bytes(range(256)) * 40,
        'http': b'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
        'another protocol': struct.pack('!ii', 8, 2 << 16),
        'tls, then silence': ssl_request,
        'more behind the request for tls': ssl_request + startup(user='admin'),
        'tls, then noise': None,
        'a login, then silence': startup(user='admin', database='postgres'),
        'a query instead of a password': startup(user='admin', database='postgres') + b'Q\0\0\0\x0dselect 1\0',
        'a huge password': startup(user='admin', database='postgres') + b'p' + struct.pack('!i', 1 << 30) + b'x' * 70000,
        'another mechanism': startup(user='admin', database='postgres') + b'p\0\0\0\x13SCRAM-MD5\0\0\0\0\0',
        'a wrong length': startup(user='admin', database='postgres') +
                          b'p' + struct.pack('!i', 26) + b'SCRAM-SHA-256\0\xff\xff\xff\xffn,,n',
    }
    for name, data in kinds.items():
        if data is None:
            sock = connect(ssl_request)
            assert sock.recv(1) == b'S'
            sock.sendall(b'\x16\x03\x01' + b'\xff' * 4000)
        else:
            sock = connect(data)
        said = ends(sock)
        assert b'Z\0\0\0\5' not in said, (name, said)
        sock.close()
    before = memory_kib(pid)
    crowd = [connect(startup(user='admin', database='postgres')[:40]) for _ in range(1500)]
    answer = query()
    assert answer.stdout == '1\n', answer
    grown = memory_kib(pid) - before
    assert grown < 8192, f'{grown} KiB for clients that have not logged in'
    for sock in crowd:
        ends(sock)
        sock.close()
    assert query().stdout == '1\n'
    print(f'{len(kinds)} kinds, a crowd of {len(crowd)}: {grown} KiB')


if sys.argv[1] == 'limit':
    limit(int(sys.argv[2]))
else:
    hostile(int(sys.argv[2]))
