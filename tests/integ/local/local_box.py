"""Tries to get out of `dsql local`.

    local_box.py front USER CANARY OUT       sends local_box.txt through the endpoint in the environment
    local_box.py locked SOCKET               nobody connects to the private PostgreSQL without its secrets
    local_box.py alone PROGRAM CMDLINE UID CANARY OUT
                                             starts PROGRAM, PostgreSQL, with the arguments of CMDLINE and secrets of
                                             our own, and sends everything past the front, as every role

Each statement must fail, in the simple and in the extended protocol, and what the server says must not hold the
text of CANARY. What gets through is printed with its group; then the status is 1.
"""

import os
import pathlib
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

STATEMENTS = pathlib.Path(__file__).with_name("local_box.txt")
CLIENT, OWN = "c" * 64, "s" * 64  # the secrets of a PostgreSQL that we started
DEADLINE = 600

# The catalogue as far as it decides who can do what; it must be the same afterwards.
SNAPSHOT = """
select 'role', r::text from pg_roles r union all
select 'member', m::text from pg_auth_members m union all
select 'setting', s::text from pg_db_role_setting s union all
select 'database', oid::text || datname || datdba || coalesce(datacl::text, '') from pg_database union all
select 'tablespace', t::text from pg_tablespace t union all
select 'extension', e::text from pg_extension e union all
select 'language', l::text from pg_language l union all
select 'am', a::text from pg_am a union all
select 'event trigger', t::text from pg_event_trigger t union all
select 'wrapper', w::text from pg_foreign_data_wrapper w union all
select 'server', s::text from pg_foreign_server s union all
select 'publication', p::text from pg_publication p union all
select 'schema', n::text from pg_namespace n union all
select 'type', oid::text || typname || typowner from pg_type union all
select 'operator', oid::text || oprname from pg_operator union all
select 'cast', c::text from pg_cast c union all
select 'trigger', tgname from pg_trigger union all
select 'function', oid::text || proname || proowner || prolang || prosecdef || coalesce(proacl::text, '')
    || coalesce(proconfig::text, '') from pg_proc union all
select 'relation', oid::text || relname || relowner || relam || coalesce(relacl::text, '') from pg_class union all
select 'index', indexrelid::text || indisvalid from pg_index union all
select 'large object', m::text from pg_largeobject_metadata m union all
select 'default', d::text from pg_default_acl d union all
select 'job', j::text from sys.jobs j union all
select 'mapping', i::text from sys.iam_pg_role_mappings i order by 1, 2
"""

# Functions for function-call messages.
CALLS = ["pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "lo_import", "lo_export", "lo_creat",
         "lo_create", "lo_open", "loread", "lowrite", "lo_unlink", "pg_reload_conf", "pg_terminate_backend",
         "pg_cancel_backend", "pg_promote", "pg_switch_wal", "pg_rotate_logfile", "pg_export_snapshot",
         "pg_import_system_collations", "dsql_run_job", "dsql_end_builds", "dsql_table_am", "dsql_limit"]


class Refused(Exception):
    """The server did not let us in."""


def fields(row):
    """The values of a DataRow."""
    values, at = [], 2
    while at < len(row):
        size, = struct.unpack_from("!i", row, at)
        values.append(row[at + 4:at + 4 + max(size, 0)].decode("utf-8", "replace"))
        at += 4 + max(size, 0)
    return tuple(values)


class Session:
    """As much of the protocol as an attacker needs."""

    def __init__(self, sock, params, password=None):
        self.sock, self.said, self.status = sock, b"", b"I"
        body = struct.pack("!i", 3 << 16)
        for name, value in params.items() if isinstance(params, dict) else params:
            body += name.encode() + b"\0" + value.encode() + b"\0"
        sock.sendall(struct.pack("!i", len(body) + 5) + body + b"\0")
        while True:
            kind, body = self.take()
            if kind == b"E":
                raise Refused(body.decode("utf-8", "replace"))
            if kind == b"R" and struct.unpack("!i", body[:4])[0] == 3:
                self.send(b"p", password.encode() + b"\0")
            if kind == b"Z":
                return

    def send(self, kind, body=b""):
        self.sock.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def exactly(self, count):
        got = b""
        while len(got) < count:
            part = self.sock.recv(count - len(got))
            if not part:
                raise ConnectionError("closed")
            got += part
        return got

    def take(self):
        kind = self.exactly(1)
        body = self.exactly(struct.unpack("!i", self.exactly(4))[0] - 4)
        self.said += body
        return kind, body

    def answer(self):
        """Whether there was an error before ReadyForQuery, and the rows."""
        failed, rows = False, []
        while True:
            kind, body = self.take()
            if kind == b"E" or (kind == b"N" and b"C01007\0" in body):  # privilege not granted
                failed = True
            elif kind == b"D":
                rows.append(fields(body))
            elif kind == b"G":
                self.send(b"f", b"no\0")
                self.answer()
                return False, rows
            elif kind == b"Z":
                self.status = body
                return failed, rows

    def query(self, sql):
        self.said = b""
        self.send(b"Q", (sql if isinstance(sql, bytes) else sql.encode()) + b"\0")
        return self.answer()

    def extended(self, sql):
        self.said = b""
        parts = ((b"P", b"\0" + sql.encode() + b"\0\0\0"), (b"B", bytes(8)), (b"E", bytes(5)), (b"S", b""))
        self.sock.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in parts))
        return self.answer()

    def call(self, oid, arguments):
        self.said = b""
        body = struct.pack("!ihh", oid, 0, len(arguments))
        for argument in arguments:
            body += struct.pack("!i", -1) if argument is None else struct.pack("!i", len(argument)) + argument
        self.send(b"F", body + struct.pack("!h", 0))
        return self.answer()

    def calm(self):
        if self.status != b"I":
            self.query("rollback")


def through_front(user, password, before=()):
    sock = socket.create_connection(("127.0.0.1", int(os.environ["PGPORT"])), DEADLINE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(struct.pack("!ii", 8, 80877103))
    assert sock.recv(1) == b"S"
    context = ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])
    sock = context.wrap_socket(sock, server_hostname=os.environ["PGHOST"])
    return Session(sock, [*before, ("user", user), ("database", "postgres")], password)


def through_socket(path, params):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(DEADLINE)
    sock.connect(str(path))
    return Session(sock, {"database": "postgres", **params})


def statements(canary, out):
    group = None
    for line in STATEMENTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            group = line[3:].split(":")[0]
        elif line and not line.startswith("#"):
            yield group, line.replace("{CANARY}", canary).replace("{OUT}", out)


def smuggled(out):
    """In SJIS the backslash is the second half of a character: who reads bytes sees the string go on."""
    hidden = f"; copy box to program 'touch {out}/ran'; select '".encode()
    yield "encoding", b"select E'\x95\x5c'" + hidden + b"x'"
    yield "encoding", b"select E'\x95\x5c'" + hidden.replace(b"copy box to program 'touch", b"alter system set x = '") + b"'"


class Attack:
    """Sends everything as one role, and remembers what got through."""

    def __init__(self, who, connect, canary, out):
        self.who, self.connect, self.out, self.canary = who, connect, out, canary
        self.secret = pathlib.Path(canary).read_bytes().strip()
        self.sent, self.leaks = 0, []
        self.session = connect()

    def judge(self, group, what, failed):
        self.sent += 1
        if not failed or self.secret in self.session.said or b"uid=" in self.session.said:
            self.leaks.append((group, what))
        self.session.calm()

    def one(self, group, sql, how):
        try:
            failed, _ = how(self.session, sql)
            self.judge(group, sql, failed)
        except (ConnectionError, socket.timeout):
            self.leaks.append((group, f"ends the session: {sql}"))
            self.session = self.connect()

    def all(self):
        for group, sql in statements(self.canary, self.out):
            self.one(group, sql, Session.query)
            self.one(group, sql, Session.extended)
        self.session.query("set client_encoding = 'SJIS'")
        for group, sql in smuggled(self.out):
            self.one(group, sql, Session.query)
        self.session.query("set client_encoding = 'UTF8'")
        self.calls()
        return self.report()

    def calls(self):
        names = ", ".join(f"'{name}'" for name in CALLS)
        _, rows = self.session.query(f"select oid || ' ' || pronargs from pg_proc where proname in ({names})")
        assert len(rows) >= len(CALLS)
        for row in rows:
            oid, count = row[0].split()
            self.one("calls", (int(oid), [self.canary.encode()] * int(count)), lambda s, c: s.call(*c))

    def report(self):
        print(f"{self.who}: {self.sent} sent, {len(self.leaks)} got through")
        for group, what in self.leaks:
            print(f"    {group}: {what}")
        return len(self.leaks)


def locked(path, pairs):
    """How many of these startup packets are let in."""
    inside = 0
    for params in pairs:
        try:
            through_socket(path, params)
            print(f"    connect: {params} is let in")
            inside += 1
        except Refused as refusal:
            assert "only the endpoint" in str(refusal), refusal
    return inside


def strangers():
    for user in ("dsql_super", "admin", "box_app", "box_maker", "postgres", "nobody_there", "pg_monitor"):
        yield {"user": user}
        yield {"user": user, "dsql.secret": ""}
        yield {"user": user, "dsql.secret": "x" * 64}
        yield {"user": user, "options": "-c dsql.secret=" + CLIENT}
        yield {"user": user, "database": "template1"}
        yield {"user": user, "replication": "true"}
        yield {"user": user, "replication": "database"}


def wrong_papers():
    yield {"user": "dsql_super", "dsql.secret": CLIENT}
    yield {"user": "admin", "dsql.secret": OWN}
    yield {"user": "box_app", "dsql.secret": OWN}
    yield {"user": "admin", "dsql.secret": CLIENT[:-1]}
    yield {"user": "admin", "dsql.secret": CLIENT + "c"}
    for user, secret in (("admin", CLIENT), ("dsql_super", OWN)):
        yield {"user": user, "dsql.secret": secret, "database": "template1"}
        yield {"user": user, "dsql.secret": secret, "replication": "true"}
        yield {"user": user, "dsql.secret": secret, "replication": "database"}


def startup_settings(path):
    """Settings in the startup packet of somebody who may connect."""
    inside = 0
    for name, value in (("local_preload_libraries", "auto_explain"), ("session_preload_libraries", "auto_explain"),
                        ("default_table_access_method", "heap"), ("allow_system_table_mods", "on"),
                        ("default_transaction_isolation", "serializable"), ("log_statement", "all")):
        for extra in ({name: value}, {"options": f"-c {name}={value}"}, {"options": f"--{name}={value}"}):
            try:
                through_socket(path, {"user": "admin", "dsql.secret": CLIENT, **extra})
                print(f"    startup: {extra} is let in")
                inside += 1
            except Refused:
                pass
    return inside


def start(program, cmdline, uid, log):
    args = [arg.decode() for arg in pathlib.Path(cmdline).read_bytes().rstrip(b"\0").split(b"\0")]
    args[0] = program
    who = {"user": uid, "group": os.stat(f"{args[args.index('-D') + 1]}").st_gid, "extra_groups": []}
    process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/",
                               env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, **(who if os.getuid() == 0 else {}))
    process.stdin.write((CLIENT + OWN).encode())
    process.stdin.close()
    folder = next(a for a in args if a.startswith("unix_socket_directories=")).partition("=")[2]
    return process, pathlib.Path(folder) / ".s.PGSQL.5432"


def wait_until_ready(process, path):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        assert process.poll() is None, "PostgreSQL ended"
        try:
            return through_socket(path, {"user": "admin", "dsql.secret": CLIENT})
        except (Refused, OSError):
            time.sleep(0.1)
    raise TimeoutError("PostgreSQL does not come up")


def guarded(session):
    """What PostgreSQL does not grant to everybody is refused to the superuser too: here only the box says no."""
    _, rows = session.query("select oid, pronargs, proname, proretset, (select string_agg('null::' || t::regtype, ', ' order by n) from"
                            " unnest(proargtypes) with ordinality a (t, n)) from pg_proc where pronamespace ="
                            " 'pg_catalog'::regnamespace and not has_function_privilege('public', oid, 'execute')"
                            " and proname !~ '^dsql_'")
    assert len(rows) > 40
    inside = 0
    for oid, count, name, is_set, arguments in rows:
        if is_set == "t":  # which a message can't call; of the others NULL is folded away in a query
            session.query(f"select * from {name}({arguments})")
        else:
            session.call(int(oid), [None] * int(count))
        if b"not possible in dsql local" not in session.said:
            print(f"    superuser: {name} can be called")
            inside += 1
    return inside


def outside(session, canary, out):
    """The superuser reads its own catalogue, but neither files nor what a program says."""
    secret = pathlib.Path(canary).read_bytes().strip()
    inside = 0
    for group, sql in statements(canary, out):
        if group in ("copy", "files", "elsewhere"):
            session.query(sql)
            if secret in session.said or b"uid=" in session.said:
                print(f"    superuser: {sql}")
                inside += 1
            session.calm()
    return inside


def borrowed(admin, own):
    """What a client's function does when the superuser's session analyses a table, as autovacuum does too."""
    for sql in ("create function box_g() returns text language sql security definer as"
                " 'select pg_cancel_backend(0)::text'",
                "create function box_i(text) returns text language sql immutable as"
                " 'select case when session_user = ''dsql_super'' then public.box_g() else $1 end'",
                "create table box_i (v text)", "create index on box_i (public.box_i(v))",
                "insert into box_i values ('x')"):
        assert not admin.query(sql)[0], (sql, admin.said)
    own.query("analyze public.box_i")
    if b"not possible in dsql local" in own.said:
        return 0
    print(f"    superuser: a client's function has its rights: {own.said}")
    return 1


def alone(program, cmdline, uid, canary, out):
    with open(out + ".log", "wb") as log:
        process, path = start(program, cmdline, int(uid), log)
        try:
            watcher = wait_until_ready(process, path)
            _, before = watcher.query(SNAPSHOT)
            bad = locked(path, strangers()) + locked(path, wrong_papers()) + startup_settings(path)
            for user in ("admin", "box_app", "box_maker"):
                papers = {"user": user, "dsql.secret": CLIENT}
                bad += Attack(f"past the front, {user}", lambda p=papers: through_socket(path, p), canary, out).all()
            _, after = watcher.query(SNAPSHOT)
            bad += changed(before, after)
            own = {"user": "dsql_super", "dsql.secret": OWN}
            bad += guarded(through_socket(path, own)) + outside(through_socket(path, own), canary, out)
            bad += borrowed(watcher, through_socket(path, own))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE)
    return bad


def changed(before, after):
    assert len(before) > 100
    for row in set(before) ^ set(after):
        print("    catalogue:", "new" if row in after else "gone", *row)
    return len(set(before) ^ set(after))


# Values in indexes whose columns are not of the values' types: of a name an index keeps a C string, of a circle a box.
ODD = """create table box_odd (id int primary key, v text)
select pg_catalog.dsql_run_job('create index on box_odd ((v::name))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd ((left(v, 1)::"char"), (v::bpchar))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using gist ((circle(point(id, id), 1)))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using gist ((polygon(circle(point(id, id), 1))))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using gist ((point(id, id)))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using gin ((array[v]), (array[id]))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using brin ((v::name), id)', false, false)
select pg_catalog.dsql_run_job('create index on box_odd using hash ((v::name))', false, false)
select pg_catalog.dsql_run_job('create index on box_odd ((box_odd))', false, false)
insert into box_odd select g, chr(g) || chr(g) || 'aaaaaaaabbbbbbbb' from generate_series(1, 127) g
update box_odd set v = v || 'x'
update box_odd set v = null
insert into box_odd values (1000, ''), (1001, repeat('x', 500))
delete from box_odd
drop table box_odd""".splitlines()


def odd(session):
    """Statements that are allowed end neither the session nor the server."""
    inside = 0
    for sql in ODD:
        try:
            failed, _ = session.query(sql)
            while failed and b"OC001" in session.said:  # changes of the catalogue are told once
                failed, _ = session.query(sql)
        except ConnectionError:
            print(f"    odd: PostgreSQL ends at {sql}")
            return inside + 1
        if failed:
            print(f"    odd: {sql}: {session.said}")
            inside += 1
    return inside


def two_names(token):
    """Whoever brings admin's token is admin, and not somebody named earlier in the packet."""
    inside = 0
    for more in (0, 1, 60, 61, 62, 63, 100):
        try:
            session = through_front("admin", token, [("user", "box_maker"), ("database", "postgres"),
                                                      *[("application_name", "x")] * more])
            _, rows = session.query("select session_user")
            if rows != [("admin",)]:
                print(f"    names: {rows} with a token of admin's, after {more} parameters")
                inside += 1
        except Refused:
            inside += more < 10  # too many are refused
    return inside


def unjudged(session):
    """What PostgreSQL and the module would let pass, in a form that the front can't read: it refuses, too."""
    deep = "(" * 6000 + "1" + ")" * 6000
    now, = (row[0] for row in session.query("select oid from pg_proc where proname = 'now'")[1])
    attempts = {"a text that is nested too deeply": lambda: session.query(f"begin; select {deep}; savepoint s; commit"),
                "the same, prepared": lambda: session.extended(f"declare c cursor with hold for select {deep}"),
                "a syntax error": lambda: session.query("select 1; savepoint s; select from where"),
                "a function call": lambda: session.call(int(now), [])}
    inside = 0
    for what, attempt in attempts.items():
        if not attempt()[0]:
            print(f"    front: {what} passes")
            inside += 1
        session.calm()
    return inside


def front(user, canary, out):
    token = subprocess.run([os.environ["dsql"], "token", "--user", user], check=True, capture_output=True,
                           text=True).stdout.strip()
    bad = odd(through_front(user, token)) + two_names(token) if user == "admin" else 0  # it makes jobs, which stay in the catalogue
    watcher = through_front("admin", os.environ["PGPASSWORD"])
    _, before = watcher.query(SNAPSHOT)
    bad += Attack(f"through the front, {user}", lambda: through_front(user, token), canary, out).all()
    bad += unjudged(through_front(user, token))
    try:
        through_front("dsql_super", token)
        print("    connect: the front lets dsql_super in")
        bad += 1
    except Refused:
        pass
    while True:  # changes of the catalogue by others are told once
        failed, after = watcher.query(SNAPSHOT)
        if not failed:
            break
    return bad + changed(before, after)


def main(what, *args):
    bad = {"front": front, "alone": alone, "locked": lambda path: locked(path, strangers())}[what](*args)
    sys.exit(1 if bad else 0)


main(*sys.argv[1:])
