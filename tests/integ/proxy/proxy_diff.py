"""Sends random message sequences to the proxy and straight to the endpoint and compares the answers, byte for byte.

proxy_diff.py ROUNDS SEED. The environment is that of `dsql local env`, with PROXY_PORT beside it. Several clients take
turns on few server connections, so that what one leaves behind would be seen by the next. What is masked: the numbers
that name a process (BackendKeyData), and where in the server's source an error was raised (fields F, L and R); and the
numbers of tables, since each side has tables of its own. One difference is excused: in a pipeline that goes on
inside a transaction that has failed, one side refuses a message with 25P02. The proxy can't prepare a statement again
there (docs/proxy.md), and `dsql local` judges a message by what its pipeline says, not by what became of the messages
in front of it. Both sides start from the same state after it.
"""
import os
import random
import select
import socket
import ssl
import struct
import sys
import time

LIMIT_S = 120
HISTORY = int(os.environ.get('HISTORY', '3'))


def message(kind, body):
    return kind.encode() + struct.pack('!I', len(body) + 4) + body


def text(s):
    return s.encode() + b'\0'


class Client:
    def __init__(self, sock, password, user='admin', extra=()):
        self.sock = sock
        self.buffer = b''
        self.status = b'I'
        params = [('user', user), ('database', 'postgres'), ('application_name', 'diff'), *extra]
        body = struct.pack('!I', 196608) + b''.join(text(k) + text(v) for k, v in params) + b'\0'
        sock.sendall(struct.pack('!I', len(body) + 4) + body)
        self.greeting = []
        while True:
            kind, body = self.read()
            if kind == 'R' and body != b'\0\0\0\0':
                sock.sendall(message('p', text(password)))
            elif kind == 'E':
                raise RuntimeError(body)
            else:
                self.greeting.append((kind, body))
            if kind == 'Z':
                return

    def quiet(self):
        """Everything that comes until nothing has come for a while."""
        found = []
        while True:
            self.sock.settimeout(0.1)
            try:
                more = self.sock.recv(65536)
            except (TimeoutError, ssl.SSLWantReadError):
                break
            if not more:
                break
            self.buffer += more
        while len(self.buffer) >= 5 and len(self.buffer) > struct.unpack('!I', self.buffer[1:5])[0]:
            kind, body = self.read()
            found.append((kind, mask(kind, body)))
        return found

    def until(self, mark):
        """Everything up to the ReadyForQuery behind an error that has the mark."""
        found, seen = [], False
        while True:
            kind, body = self.read()
            found.append((kind, mask(kind, body)))
            seen = seen or (kind == 'E' and mark in body)
            self.status = body if kind == 'Z' else self.status
            if kind == 'EOF' or (seen and kind == 'Z'):
                return found

    def read(self):
        end = time.monotonic() + LIMIT_S
        while True:
            if len(self.buffer) >= 5:
                size = 1 + struct.unpack('!I', self.buffer[1:5])[0]
                if len(self.buffer) >= size:
                    found, self.buffer = self.buffer[:size], self.buffer[size:]
                    return chr(found[0]), found[5:]
            self.sock.settimeout(max(0.1, end - time.monotonic()))
            more = self.sock.recv(65536)
            if not more:
                return 'EOF', b''
            self.buffer += more

    def answers(self, readies):
        """Everything up to so many ReadyForQuery."""
        found = []
        while readies > 0:
            kind, body = self.read()
            found.append((kind, mask(kind, body)))
            self.status = body if kind == 'Z' else self.status
            readies -= kind == 'Z'
            if kind == 'EOF':
                break
        return found


def mask(kind, body):
    if kind in ('E', 'N'):
        return b'\0'.join(f for f in body.split(b'\0') if f[:1] not in (b'F', b'L', b'R'))
    if kind == 'T':  # each side has tables of its own
        columns, at = body[2:], 0
        while at < len(columns):
            at = columns.index(b'\0', at) + 1
            columns = columns[:at] + b'\0\0\0\0' + columns[at + 4:]
            at += 18
        return body[:2] + columns
    return b'' if kind == 'K' else body


# What the startup packets of the clients say: RESET goes back to that.
STARTUPS = [(), (), (('TimeZone', 'Asia/Tokyo'),), (('options', '-c DateStyle=German -c enable_seqscan=off'),)]


def direct(extra=()):
    context = ssl.create_default_context(cafile=os.environ['PGSSLROOTCERT'])
    sock = socket.create_connection(('127.0.0.1', int(os.environ['PGPORT'])))
    sock.sendall(struct.pack('!II', 8, 80877103))
    assert sock.recv(1) == b'S'
    return Client(context.wrap_socket(sock, server_hostname=os.environ['PGHOST']), os.environ['PGPASSWORD'],
                  extra=extra)


def proxied(extra=()):
    return Client(socket.create_connection(('127.0.0.1', int(os.environ['PROXY_PORT']))), '', extra=extra)


# ------------------------------------------------------------ what clients say
# No literal here depends on settings: proxy_cases.py has these, for docs/proxy.md lists what differs behind a SET LOCAL.

NAMES = ['a', 'b', 'a name', '_pg3_0']
TEXTS = [
    ('select $1::int + 1', 1),
    ('select $1::text, current_setting(\'search_path\')', 1),
    ('select id, v from {t} where id = $1::int', 1),
    ('insert into {t} values ($1::int, \'x\')', 1),
    ('update {t} set v = v || \'.\' where id = $1::int', 1),
    ('select 1', 0),
    ('begin', 0),
    ('commit', 0),
    ('rollback', 0),
    ('set search_path to public, nowhere', 0),
    ('select set_config(\'datestyle\', \'German\', false)', 0),
    ('selec nonsense', 0),
    ('select * from no_such_table', 0),
    ('', 0),
    ('deallocate a', 0),
    ('deallocate "a name"', 0),
    ('deallocate all', 0),
    ('select current_date - current_date, interval \'1 day\'', 0),
    ('select generate_series(1, 5), $1::int', 1),
    ('select $1::int8, $2::text, $1::int8 * 2', 2),
    ('prepare sqlp as select 8', 0),
    ('execute sqlp', 0),
    ('execute sqlq (7)', 0),
    ('execute sqlq ($1::int)', 1),
    ('prepare sqlq (int) as select $1 + nothing', 0),
    ('deallocate sqlp', 0),
    ('set timezone to \'Asia/Tokyo\'', 0),
    ('reset timezone', 0),
    ('reset all', 0),
    ('select 1/0', 0),
]
# A client that says one of these keeps its connection until it has deallocated all.
HOME = [
    'prepare sqlr as select 9; execute sqlr',
    'execute sqlr; deallocate sqlr',
    'select name, statement, parameter_types::text, from_sql from pg_prepared_statements where name not like \'dsql %\' order by name',
]
QUERIES = [
    'select 1',
    'select 1; select 2',
    'begin',
    'commit',
    'rollback',
    'select id, v from {t} order by id limit 5',
    'insert into {t} values ({n}, \'q\')',
    'insert into {t} values ({n}, \'q\'); selec nonsense',
    'update {t} set v = \'u\' where id = {n}',
    'delete from {t} where id = {n}',
    'set datestyle to \'SQL, DMY\'',
    'set timezone to \'Europe/Berlin\'',
    'set local timezone to \'Asia/Tokyo\'',
    'set enable_seqscan to off',
    'set extra_float_digits to 0',
    'set statement_timeout to 5',
    'reset all',
    'reset timezone',
    'show search_path',
    'show timezone',
    'show enable_seqscan',
    'show application_name',
    'set application_name to \'other\'',
    'select set_config(\'search_path\', \'"a b", public\', false)',
    'select \'2026-01-02\'::date, 0.1::float8',
    'select pg_sleep(0)',
    'prepare sqlp as select 7',
    'prepare sqlq (int) as select id, v from {t} where id = $1',
    'execute sqlp',
    'execute sqlq (3)',
    'execute sqlq',
    'deallocate sqlp',
    'deallocate sqlq',
    'prepare a as select id, v from {t} where id = 3',
    'PREPARE /* a comment */ "a name" (int, text) AS SELECT $1, $2, \'é\';',
    'prepare b as select * from no_such_table',
    'prepare sqlp as select set_config(\'timezone\', \'Asia/Tokyo\', false)',
    'prepare select as select 1',
    'execute a',
    'execute b (4)',
    'execute "a name" (1, \'x\')',
    'execute "a name" (1, \'x\', nothing)',
    'select \'é\'; execute sqlp; execute sqlq (4); execute nobody',
    'execute sqlp; select \'é\' || nothing',
    'execute sqlp; execute sqlq (4, 5)',
    'execute sqlp; selec',
    'begin; execute sqlp; commit',
    'explain (costs off) execute sqlp',
    'deallocate prepare "a name"',
    'select \'execute a\' as execute',
    'begin; set timezone to \'Asia/Tokyo\'; selec',
    'begin; select 1/0',
    'set timezone to nowhere',
    'set timezone to default',
    'set search_path to default',
    'reset search_path',
    'reset extra_float_digits',
    'reset application_name',
    'start transaction read only',
    'end',
    'copy no_such_table from stdin',
    'copy {t} (nothing) from stdin',
    'copy (select 1/0) to stdout',
    'create table',
    'deallocate a',
    'deallocate all',
    'selec',
    '',
    ';',
    'select repeat(\'x\', 200000)',
    'select 1/0',
    'copy (select generate_series(1, 20)) to stdout',
]


def bind(rng, portal, name, parameters):
    count = parameters if rng.random() < 0.95 else parameters + 1
    one, formats = str(rng.randrange(40)).encode(), b'\0\0'
    if rng.random() < 0.1:
        one, formats = struct.pack('!I', rng.randrange(40)), struct.pack('!HH', 1, 1)
    values = b''.join(struct.pack('!I', len(v)) + v for v in [one] * count)
    results = struct.pack('!H', 0) if rng.random() < 0.8 else struct.pack('!HH', 1, 1)
    return message('B', text(portal) + text(name) + formats + struct.pack('!H', count) + values + results)


PORTALS = ['', '', 'p', 'q']


def portal_step(rng):
    portal = text(rng.choice(PORTALS))
    return rng.choice([message('E', portal + struct.pack('!I', rng.choice([0, 1, 2]))), message('D', b'P' + portal),
                       message('C', b'P' + portal)])


def segment(rng, table, known, end=message('S', b'')):
    """A pipeline of the extended protocol with its Sync."""
    out = b''
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        name = rng.choice(['', ''] + NAMES)
        step = rng.random()
        if step < 0.55:
            query, parameters = rng.choice(TEXTS)
            known[name] = parameters
            out += message('P', text(name) + text(query.format(t=table)) + struct.pack('!H', 0))
            if rng.random() < 0.7:
                portal = rng.choice(PORTALS)
                out += bind(rng, portal, name, parameters)
                if rng.random() < 0.5:
                    out += message('D', b'P' + text(portal))
                out += message('E', text(portal) + struct.pack('!I', rng.choice([0, 0, 1])))
        elif step < 0.8:
            out += bind(rng, '', name, known.get(name, 0))
            out += message('E', text('') + struct.pack('!I', 0))
        elif step < 0.9:
            out += message('D', b'S' + text(name))
        elif step < 0.94:
            out += message('C', b'S' + text(name))
        elif step < 0.98:
            out += portal_step(rng)
        else:
            out += message('E', text('no portal') + struct.pack('!I', 0))
        if rng.random() < 0.05:
            out += message('H', b'')
    return out + end


# Behind what is answered by a number of ReadyForQuery that can't be foretold.
SENTINEL = message('Q', text('rollback')) + message('Q', text('sentinel'))


def copy_in(rng, table):
    """As step() has it."""
    rows = b''.join(b'%d\tcopied\n' % rng.randrange(40, 60) for _ in range(rng.choice([0, 1, 3])))
    if rng.random() < 0.2:
        rows += rng.choice([b'x\ty\n', b'61\n', b'62\ta\tb\n', b'63'])
    end = message('c', b'') if rng.random() < 0.8 else message('f', text('no more'))
    if rng.random() < 0.7:
        return [message('Q', text('copy %s from stdin' % table)) + message('d', rows) + end], 1
    run = message('P', text('') + text('copy %s from stdin' % table) + b'\0\0') + message(
        'B', text('') + text('') + b'\0' * 6) + message('E', text('') + b'\0' * 4)
    # libpq sends a Sync in front of the data, which COPY swallows; others send one behind it.
    sync = message('S', b'')
    return [run + rng.choice([b'', sync, message('H', b'')]) + message('d', rows) + end + sync
            + message('C', b'S\0') + sync + SENTINEL], None


def loose(rng, table, known):
    """Messages without a Sync, and a query behind them: skipped, if one of them failed."""
    query = rng.choice(QUERIES).format(t=table, n=rng.randrange(40))
    return [segment(rng, table, known, b'') + message('Q', text(query)) + message('S', b'')
            + SENTINEL]


def step(rng, table, known):
    """Parts to send, of which all but the last end with Flush, and how many ReadyForQuery they get; None: up to an error
    with the word sentinel."""
    kind = rng.random()
    if kind < 0.01:
        return [message('Q', text(rng.choice(HOME)))], 1
    if kind < 0.45:
        query = rng.choice(QUERIES).format(t=table, n=rng.randrange(40))
        return [message('Q', text(query))], 1
    if kind < 0.5:
        return copy_in(rng, table)
    if kind < 0.53:
        return loose(rng, table, known), None
    if kind < 0.58:
        flush = message('H', b'')
        return [segment(rng, table, known, flush) for _ in range(rng.choice([1, 2]))] + [segment(rng, table, known)], 1
    count = rng.choice([1, 1, 1, 2, 4])
    return [b''.join(segment(rng, table, known) for _ in range(count))], count


def segments(answers, status):
    """What was said up to each ReadyForQuery, with the status of the transaction before it."""
    found, at = [], []
    for kind, body in answers:
        at.append((kind, body))
        if kind == 'Z':
            found.append((status, at))
            status, at = body, []
    return found + [(status, at)]


def is_refused(answers, other):
    """Whether they are those of the other side up to a refusal because the transaction has failed."""
    same = answers[:-2]
    return (len(answers) >= 2 and answers[-1][0] == 'Z' and answers[-2][0] == 'E'
            and b'\0C25P02\0' in answers[-2][1] and other[:len(same)] == same)


def is_excused(direct_answers, proxy_answers, status):
    """Whether the first difference is that one side refuses a message inside a failed transaction, or behind one that the
    same pipeline has ended."""
    for (before, one), (_, other) in zip(segments(direct_answers, status), segments(proxy_answers, status)):
        if one != other:
            return b'E' in (status, before) and (is_refused(one, other) or is_refused(other, one))
    return False


def show(answers):
    return '\n'.join('   %s %r' % a for a in answers)


def start_again(pair, table):
    for which, client in enumerate(pair):
        for query in ('rollback', 'deallocate all', 'reset all', 'delete from ' + table.replace('T', 'dp'[which])):
            client.sock.sendall(message('Q', text(query)))
            client.answers(1)


def compare(rng, pairs, tables, rounds):
    sequences = [[] for _ in pairs]
    known = [{} for _ in pairs]
    excused = 0
    for number in range(rounds):
        i = rng.randrange(len(pairs))
        parts, readies = step(rng, tables[i], known[i])
        sent = b''.join(parts)
        status = pairs[i][0].status
        got = [[], []]
        for part in parts:
            for which, client in enumerate(pairs[i]):
                client.sock.sendall(part.replace(tables[i].encode(), tables[i].replace('T', 'dp'[which]).encode()))
                if part is not parts[-1]:
                    answers = client.quiet() if which == 0 else [
                        (k, mask(k, b)) for k, b in (client.read() for _ in got[0][len(got[1]):])]
                else:
                    answers = client.answers(readies) if readies else client.until(b'sentinel')
                got[which] += [(k, b.replace(b'diff_p', b'diff_d')) for k, b in answers]
        sequences[i].append((sent, got[1]))
        forgiven = sent[:1] != b'Q' and is_excused(*got, status)
        excused += forgiven
        if got[0] != got[1] and not forgiven:
            print('round %d, client %d: sent\n   %r\ndirect\n%s\nthrough the proxy\n%s\nbefore:\n%s'
                  % (number, i, sent, show(got[0]), show(got[1]), '\n'.join('   %r\n%s' % (s, show(a)) for s, a in sequences[i][-HISTORY:-1])))
            return None
        if ('EOF', b'') in got[0]:  # both were ended in the same way: a query inside the data of COPY
            pairs[i] = (direct(STARTUPS[i]), proxied(STARTUPS[i]))
            known[i] = {}
        elif forgiven:
            start_again(pairs[i], tables[i])
            known[i] = {}
        elif rng.random() < 0.3 or not readies:  # a transaction that stays open keeps one of the few connections: not for ever
            for client in pairs[i]:
                client.sock.sendall(message('Q', text('rollback')))
            ends = [client.answers(1) for client in pairs[i]]
            if ends[0] != ends[1]:
                print('round %d: rollback differs\n%s\n%s' % (number, show(ends[0]), show(ends[1])))
                return None
    return excused


def leave_statement(client):
    """The client prepares a statement, closes it behind an error, where that is skipped, and goes."""
    parse, sync = message('P', text('left') + text('select 1') + b'\0\0'), message('S', b'')
    bad = message('P', text('') + text('selec nonsense') + b'\0\0')
    client.sock.sendall(parse + sync + bad + message('C', b'S' + text('left')) + sync)
    found = [kind for kind, _ in client.answers(2)]
    assert found == ['1', 'Z', 'E', 'Z'], 'a statement of a session before it is there: %s' % found
    client.sock.sendall(message('X', b''))
    assert client.read()[0] == 'EOF'


def main():
    for _ in range(2):
        leave_statement(direct())
        leave_statement(proxied())
    rounds, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    setup = direct()
    for which in 'dp':
        for i in range(4):
            # The tables stay: after DDL the service may answer what is under way elsewhere with OC001.
            table = 'diff_%s%d' % (which, i)
            for query in ('create table %s (id int primary key, v text)' % table, 'delete from ' + table):
                setup.sock.sendall(message('Q', text(query)))
                setup.answers(1)
    pairs = [(direct(extra), proxied(extra)) for extra in STARTUPS]
    for one, other in pairs:
        assert [(k, mask(k, b)) for k, b in one.greeting] == [(k, mask(k, b)) for k, b in other.greeting], \
            'the greetings differ:\n%s\n%s' % (show(one.greeting), show(other.greeting))
    excused = compare(rng, pairs, ['diff_T%d' % i for i in range(4)], rounds)
    if excused is None:
        print('seed %d' % seed)
        sys.exit(1)
    for pair in pairs:
        for client in pair:
            client.sock.close()
    print('%d rounds, seed %d: the same answers, %d excused' % (rounds, seed, excused))


if __name__ == '__main__':
    main()
