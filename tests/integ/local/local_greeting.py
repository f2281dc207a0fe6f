"""What is reported at login: the values in force, whatever the startup packet, its options or the role say."""
import os
import socket
import ssl
import struct
import sys


def greeting(*extra):
    """The parameters that the endpoint reports; the code of its error."""
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.sendall(struct.pack('!II', 8, 80877103))
    assert sock.recv(1) == b'S'
    stream = context.wrap_socket(sock, server_hostname=os.environ['PGHOST']).makefile('rwb')
    words = ('user', 'admin', 'database', 'postgres', *extra)
    body = struct.pack('!I', 196608) + b''.join(w.encode() + b'\0' for w in words) + b'\0'
    stream.write(struct.pack('!I', len(body) + 4) + body)
    password = os.environ['PGPASSWORD'].encode() + b'\0'
    stream.write(b'p' + struct.pack('!I', len(password) + 4) + password)
    stream.flush()
    found = {}
    while True:
        head = stream.read(5)
        body = stream.read(struct.unpack('!I', head[1:])[0] - 4)
        if head[:1] == b'S':
            name, value = body.decode().split('\0')[:2]
            assert name not in found, name
            found[name] = value
        if head[:1] == b'E':
            return [f[1:].decode() for f in body.split(b'\0') if f[:1] == b'C'][0]
        if head[:1] == b'Z':
            return found


def check(changes, *extra):
    found = greeting(*extra)
    if found != usual | changes:
        sys.exit(f'{extra}: {found} and not {usual | changes}')


usual = greeting()
assert usual['TimeZone'] == 'UTC' and usual['DateStyle'] == 'ISO, MDY' and len(usual) == 12, usual
check({}, 'application_name', 'mine')
check({'TimeZone': 'Asia/Tokyo'}, 'TimeZone', 'asia/tokyo')
check({}) # a session at PostgreSQL that was opened with other words is not this one's
check({'DateStyle': 'German, DMY', 'IntervalStyle': 'iso_8601'}, 'options',
      '-c DateStyle=German --intervalstyle=iso_8601 -c enable_seqscan=off')
check({'client_encoding': 'LATIN1'}, 'client_encoding', 'latin1')
check({'TimeZone': 'Europe/Berlin', 'DateStyle': 'SQL, DMY'}, 'datestyle', 'SQL, DMY', 'timezone', 'Europe/Berlin',
      'extra_float_digits', '2')
assert greeting('TimeZone', 'nowhere') == '22023', greeting('TimeZone', 'nowhere')
