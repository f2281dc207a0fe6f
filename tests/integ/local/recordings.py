"""Puts what people recorded of live clusters (tests/vectors/recordings) to the endpoint in the environment, statement by
statement, and compares.

    recordings.py [--cluster] FILE...    prints for each file how many pairs of a statement and its answer are the same;
                                         ends with 1 if one differs that is not marked, or is marked and does not differ.
                                         With --cluster nothing may differ: marks say what `dsql local` does otherwise
    recordings.py --dialects FILE...     prints the dialect of each file, and its name

What the statements make is dropped after each file; what was there before stays. tests/vectors/recordings/README.md
describes the files.
"""
import os
import pathlib
import random
import re
import socket
import ssl
import struct
import subprocess
import sys

DEADLINE = 600
TRIES = 100  # of a statement outside a transaction that meets OC001


class Pair:
    """A statement and what a cluster answered to it."""

    def __init__(self, place, session, sql):
        self.place, self.session, self.sql = place, session, sql
        self.params, self.answers, self.differs, self.superseded = None, [], None, False


class Recording:
    """A file: its heads, and its steps, each a name with a value."""

    def __init__(self, path):
        self.name, self.heads, self.steps = path.name, {}, []
        pair = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f'{path.name}:{number}'
            head = re.fullmatch(r'(source|recorded|dialect): (.+)', line)
            step = re.fullmatch(r'(---|setup:|login:) (.*)', line)
            if not line.strip() or line.startswith('#'):
                continue
            if line.startswith('    '):
                if pair is None:
                    sys.exit(f'{place}: an answer without a statement')
                note(pair, place, line[4:])
            elif head and not self.steps:
                self.heads[head[1]] = head[2]
            elif step:
                pair = None
                self.steps.append((step[1].rstrip(':'), step[2]))
            else:
                session = re.match(r'([A-Z])> ', line)
                pair = Pair(place, session[1] if session else '', line[3:] if session else line)
                self.steps.append(('ask', pair))
        if not {'source', 'recorded'} <= set(self.heads):
            sys.exit(f'{path}: no source and recorded')
        for what, value in self.steps:
            if what == 'ask' and not value.answers:
                sys.exit(f'{value.place}: no answer')


def note(pair, place, line):
    """A line below a statement."""
    kind, _, rest = line.partition(' ')
    if kind == '=>':
        error = re.fullmatch(r'!([0-9A-Z]{5}|\?)( (.*))?', rest)
        pair.answers.append({'code': error[1], 'words': error[3]} if error else {'tag': rest})
    elif kind == ':':
        pair.answers[-1]['columns'] = rest.split(' | ')
    elif kind == '|':
        pair.answers[-1].setdefault('rows', []).append(rest.split(' | '))
    elif kind == '$':
        made = re.fullmatch(r'random (\d+)', rest)
        pair.params = (pair.params or []) + [noise(int(made[1])) if made else rest]
    elif kind in ('differs:', 'superseded:'):
        pair.differs, pair.superseded = rest, kind == 'superseded:'
    else:
        sys.exit(f'{place}: what is this?')


def noise(count):
    """Text that can't be compressed much."""
    return ''.join(random.Random(count).choices('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/', k=count))


def message(kind, body=b''):
    return kind + struct.pack('!I', len(body) + 4) + body


class Session:
    """A connection."""

    def __init__(self, user, password):
        env = os.environ
        sock = socket.create_connection((env.get('PGHOSTADDR', env['PGHOST']), int(env.get('PGPORT', 5432))), DEADLINE)
        sock.sendall(struct.pack('!II', 8, 80877103))
        if sock.recv(1) != b'S':
            raise ConnectionError('the server speaks no TLS')
        sock = ssl.create_default_context(cafile=env['PGSSLROOTCERT']).wrap_socket(sock, server_hostname=env['PGHOST'])
        sock.settimeout(DEADLINE)
        self.stream, self.status = sock.makefile('rwb'), 'I'
        body = struct.pack('!I', 196608) + f'user\0{user}\0database\0postgres\0\0'.encode()
        self.stream.write(struct.pack('!I', len(body) + 4) + body)
        self.stream.flush()
        refused = self.results(b'R')
        if not refused:
            self.stream.write(message(b'p', password.encode() + b'\0'))
            self.stream.flush()
            refused = self.results(b'Z')
        if refused:
            raise ConnectionError(refused[-1])

    def results(self, last):
        """What comes up to a message of that kind: tag, columns and rows of each statement, or code and words."""
        found, columns, rows = [], [], []
        while True:
            head = self.stream.read(5)
            if len(head) < 5:
                raise ConnectionError('the connection is gone')
            kind, body = head[:1], self.stream.read(struct.unpack('!I', head[1:])[0] - 4)
            if kind == b'T':
                columns = names(body)
            elif kind == b'D':
                rows.append(cells(body))
            elif kind in b'CI':
                found.append({'tag': body[:-1].decode(), 'columns': columns, 'rows': rows})
                columns, rows = [], []
            elif kind == b'E':
                fields = {f[:1]: f[1:].decode() for f in body.split(b'\0') if f}
                found.append({'code': fields[b'C'], 'words': fields[b'M']})
                if last == b'R':
                    return found
            elif kind == b'Z':
                self.status = body.decode()
            if kind == last:
                return found

    def ask(self, sql, params=None):
        for tries in range(TRIES):
            if params is None:
                sent = message(b'Q', sql.encode() + b'\0')
            else:
                values = b''.join(struct.pack('!I', len(p.encode())) + p.encode() for p in params)
                sent = (message(b'P', b'\0' + sql.encode() + b'\0\0\0') +
                        message(b'B', b'\0\0\0\0' + struct.pack('!H', len(params)) + values + b'\0\0') +
                        message(b'D', b'P\0') + message(b'E', b'\0' * 5) + message(b'S'))
            before = self.status
            self.stream.write(sent)
            self.stream.flush()
            found = self.results(b'Z')
            if before != 'I' or tries == TRIES - 1 or 'OC001' not in found[-1].get('words', ''):
                return found


def names(body):
    found, at = [], 2
    for _ in range(struct.unpack('!H', body[:2])[0]):
        end = body.index(b'\0', at)
        found.append(body[at:end].decode())
        at = end + 19
    return found


def cells(body):
    found, at = [], 2
    for _ in range(struct.unpack('!H', body[:2])[0]):
        size, = struct.unpack_from('!i', body, at)
        at += 4
        found.append('NULL' if size < 0 else body[at:at + size].decode())
        at += max(size, 0)
    return found


def same(wanted, got, kept):
    """Whether the statement was answered as it is recorded; keeps the values that the recording names."""
    if wanted[0].get('tag') == '...':
        wanted, got = wanted[1:], got[-len(wanted[1:]):]
    if len(wanted) != len(got):
        return False
    for want, have in zip(wanted, got):
        if ('code' in want) != ('code' in have):
            return False
        if 'code' in want:
            words = want['words']
            if want['code'] not in ('?', have['code']):
                return False
            if words and (not have['words'].startswith(words[:-3]) if words.endswith('...') else have['words'] != words):
                return False
            continue
        if want['tag'] not in ('ok', have['tag']) or want.get('columns', have['columns']) != have['columns']:
            return False
        if 'rows' in want and (len(want['rows']) != len(have['rows']) or
                               not all(same_row(w, h, kept) for w, h in zip(want['rows'], have['rows']))):
            return False
    return True


def same_row(wanted, got, kept):
    if len(wanted) != len(got):
        return False
    for want, have in zip(wanted, got):
        name = re.fullmatch(r'@\{(\w+)\}', want)
        if name and name[1] not in kept:
            kept[name[1]] = have
        elif filled(want, kept) not in ('*', have):
            return False
    return True


def filled(text, kept):
    return re.sub(r'@\{(\w+)\}', lambda found: kept.get(found[1], found[0]), text)


def shown(results):
    lines = []
    for result in results:
        if 'code' in result:
            lines.append(f"=> !{result['code']} {result['words'] or ''}".rstrip())
        else:
            lines.append(f"=> {result['tag']}")
            lines += [f": {' | '.join(result['columns'])}"] if result.get('columns') else []
            lines += ['| ' + ' | '.join(row) for row in result.get('rows', [])[:5]]
    return '\n'.join('        ' + line for line in lines)


# What a recording can leave behind, in an order in which it can be dropped, and how.
MADE = [
    ("select 'aws iam revoke ' || quote_ident(pg_role_name) || ' from ' || quote_literal(arn) from sys.iam_pg_role_mappings"),
    ("select format('drop view if exists %s cascade', oid::regclass) from pg_class where relkind = 'v' and oid >= 16384"),
    ("select format('drop table if exists %s cascade', oid::regclass) from pg_class where relkind = 'r' and oid >= 16384"),
    ("select format('drop sequence if exists %s', oid::regclass) from pg_class where relkind = 'S' and oid >= 16384"),
    ("select format('drop function if exists %s', oid::regprocedure) from pg_proc where oid >= 16384 and "
     "pronamespace not in (select oid from pg_namespace where nspname in ('sys', 'pg_catalog', 'information_schema'))"),
    ("select format('drop domain if exists %s', oid::regtype) from pg_type where typtype = 'd' and oid >= 16384"),
    ("select format('drop schema if exists %I cascade', nspname) from pg_namespace where oid >= 16384 and nspname <> 'sys'"),
    ("select format('drop role if exists %I', rolname) from pg_roles where oid >= 16384"),
]


def inventory(session):
    """The statements that would drop all that is there, by kind."""
    return [[row[0] for row in session.ask(query)[-1].get('rows', [])] for query in MADE]


def clean(session, before):
    for query, kept in zip(MADE, before):
        for row in session.ask(query)[-1].get('rows', []):
            if row[0] not in kept:
                session.ask(row[0])


class Run:
    """A recording that is put to the endpoint."""

    def __init__(self, recording, cluster):
        self.recording, self.cluster = recording, cluster
        self.kept, self.users, self.sessions = {}, {}, {}
        if 'DSQL_LOCAL_ARN' in os.environ:
            self.kept['arn'] = os.environ['DSQL_LOCAL_ARN']
        self.asked = self.equal = self.bad = 0

    def session(self, name):
        if name not in self.sessions:
            user = self.users.get(name, 'admin')
            password = os.environ['PGPASSWORD']
            if user != 'admin':
                password = subprocess.run([os.environ['dsql'], 'token', '--user', user], check=True, capture_output=True,
                                          text=True).stdout.strip()
            self.sessions[name] = Session(user, password)
        return self.sessions[name]

    def pair(self, pair):
        sql = filled(pair.sql, self.kept)
        if '@{' in sql or self.users.get(pair.session) and 'arn' not in self.kept:
            print(f'  {pair.place}: not asked, for {"the ARN of the keys" if "@{arn}" in sql else "a value"} is not known')
            return
        if self.cluster and pair.superseded:
            return
        params = pair.params and [filled(p, self.kept) for p in pair.params]
        got = self.session(pair.session).ask(sql, params)
        equal = same(pair.answers, got, self.kept)
        self.asked += 1
        self.equal += equal
        marked = pair.differs is not None and not self.cluster
        if equal == marked:
            self.bad += 1
            what = f'is marked as different ({pair.differs}), and is the same' if equal else 'differs'
            print(f'  {pair.place}: {sql[:300]}\n      {what}; recorded:\n{shown(pair.answers)}\n      answered:\n{shown(got)}')

    def all(self):
        keeper = Session('admin', os.environ['PGPASSWORD'])
        before = inventory(keeper)
        for what, value in self.recording.steps:
            if what == 'ask':
                self.pair(value)
            elif what == 'login':
                name, user = value.split()
                self.users[name] = user
            else:
                for session in self.sessions.values():
                    if session.status != 'I':
                        session.ask('rollback')
            if what == 'setup':
                answer = self.session('').ask(filled(value, self.kept))[-1]
                if 'code' in answer:
                    sys.exit(f"{self.recording.name}: setup: {value}: {answer['words']}")
        self.sessions.clear()
        clean(keeper, before)
        left = [sql for kind, old in zip(inventory(keeper), before) for sql in kind if sql not in old]
        if left:
            sys.exit(f'{self.recording.name}: left behind: {left}')
        heads = self.recording.heads
        print(f"| {heads['recorded']} | {heads['source']} | {self.equal} of {self.asked} |")
        return self.asked, self.equal, self.bad


def main(args):
    paths = [pathlib.Path(arg) for arg in args if not arg.startswith('--')]
    recordings = [Recording(path) for path in paths]
    if '--dialects' in args:
        for path, recording in zip(paths, recordings):
            print(recording.heads.get('dialect', 'today'), path)
        return 0
    sums = [Run(recording, '--cluster' in args).all() for recording in recordings]
    asked, equal, bad = (sum(column) for column in zip(*sums))
    print(f'{equal} of {asked} the same')
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
