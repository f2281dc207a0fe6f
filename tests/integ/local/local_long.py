"""Long query strings through libpq: what local_long.sh says."""
import ctypes
import ctypes.util
import select
import sys

pq = ctypes.CDLL(ctypes.util.find_library("pq"))
for name in ("PQconnectdb", "PQexec", "PQgetResult"):
    getattr(pq, name).restype = ctypes.c_void_p
for name in ("PQerrorMessage", "PQgetvalue", "PQresultErrorField"):
    getattr(pq, name).restype = ctypes.c_char_p
for name in ("PQgetResult", "PQisBusy", "PQconsumeInput", "PQflush", "PQsocket", "PQstatus", "PQclear", "PQresultStatus",
             "PQfinish", "PQerrorMessage"):
    getattr(pq, name).argtypes = [ctypes.c_void_p]
for name in ("PQexec", "PQsendQuery"):
    getattr(pq, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p]
pq.PQgetvalue.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
pq.PQresultErrorField.argtypes = [ctypes.c_void_p, ctypes.c_int]
pq.PQsetnonblocking.argtypes = [ctypes.c_void_p, ctypes.c_int]
pq.PQprepare.restype = ctypes.c_void_p
pq.PQprepare.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
COMMAND_OK, TUPLES_OK = 1, 2


def connect():
    conn = pq.PQconnectdb(b"")
    assert pq.PQstatus(conn) == 0, pq.PQerrorMessage(conn)
    return conn


def outcome(result):
    status = pq.PQresultStatus(result)
    if status == TUPLES_OK:
        text = pq.PQgetvalue(result, 0, 0).decode()
    else:
        text = "ok" if status == COMMAND_OK else pq.PQresultErrorField(result, ord("C")).decode()
    pq.PQclear(result)
    return text


def results(conn):
    seen = []
    while result := pq.PQgetResult(conn):
        seen.append(outcome(result))
    return seen


def send(conn, text):
    """Returns when the kernel has all of it."""
    assert pq.PQsendQuery(conn, text.encode())
    while pq.PQflush(conn):
        select.select([pq.PQsocket(conn)], [pq.PQsocket(conn)], [])
        assert pq.PQconsumeInput(conn)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r:.300} and not {wanted!r:.300}")


def many(conn):
    assert pq.PQsendQuery(conn, (b"select 1;" * 20000) + b"select 42")
    expect("20,001 statements", results(conn), ["1"] * 20000 + ["42"])
    # A transaction of its own: what stands before the statement that is refused goes with it.
    text = b"insert into l values (1, 'a');" + b"select 1;" * 9000 + b"lock table l;" + b"select 2;" * 9000
    assert pq.PQsendQuery(conn, text)
    expect("a refusal behind 9,001 statements", results(conn), ["ok"] + ["1"] * 9000 + ["0A000"])
    expect("what came before it", outcome(pq.PQexec(conn, b"select count(*) from l")), "0")
    # Across portions the transaction's own rules hold.
    text = b"begin;" + b"select 1;" * 9000 + b"insert into l values (2, 'b'); create table m (id int);"
    assert pq.PQsendQuery(conn, text)
    expect("DDL behind DML", results(conn)[-2:], ["ok", "0A000"])
    expect("the end of it", outcome(pq.PQexec(conn, b"rollback")), "ok")
    expect("a syntax error", outcome(pq.PQexec(conn, b"select 1;" * 9000 + b"selec")), "42601")


def one(conn):
    row = "x" * 500000
    for _ in range(2):  # the second is known already
        expect("a long row", outcome(pq.PQexec(conn, f"insert into l values (3, '{row}')".encode())), "ok")
        expect("its length", outcome(pq.PQexec(conn, b"delete from l where id = 3 returning length(t)")), "500000")
    text = f"select length('{row}') where $1 = 1".encode()
    expect("a long Parse", outcome(pq.PQprepare(conn, b"p", text, 0, None)), "ok")
    expect("used", outcome(pq.PQexec(conn, b"execute p(1)")), "500000")


def gone(long):
    """Clients that go while their text is read."""
    for _ in range(6):
        conn = connect()
        send(conn, long)
        pq.PQfinish(conn)


def others(long):
    """Others are answered while a text is read that only the front looks at: it is refused."""
    reader, other = connect(), connect()
    pq.PQsetnonblocking(reader, 1)
    expect("other", outcome(pq.PQexec(other, b"select 1")), "1")
    most = 0
    for turn in range(30):
        send(reader, f"/* {turn} */ {long}")
        answered = 0
        while True:
            expect("other", outcome(pq.PQexec(other, b"select 1")), "1")
            assert pq.PQconsumeInput(reader)
            if not pq.PQisBusy(reader):
                break
            answered += 1
        expect("the long one", results(reader), ["0A000"])
        most = max(most, answered)
        if most >= 20:
            print(f"{most} statements of another client were answered while {len(long)} bytes were read")
            return
    sys.exit(f"only {most} statements of another client were answered while a long text was read")


connection = connect()
expect("table", outcome(pq.PQexec(connection, b"create table l (id int primary key, t text)")), "ok")
many(connection)
one(connection)
refused = "select count(*) from l where id in (" + ",".join(str(i) for i in range(300000)) + ") for share"
gone(refused)
others(refused)
