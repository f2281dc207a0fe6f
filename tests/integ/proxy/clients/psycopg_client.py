"""psycopg 3: transactions, prepared statements, settings, errors, COPY both ways, a pipeline."""
import psycopg

with psycopg.connect(prepare_threshold=0, autocommit=True) as conn:
    conn.execute("delete from visits where who = 'psycopg'")
    with conn.transaction():
        for i in range(10):
            conn.execute("insert into visits values (%s, %s, %s)", (f"psycopg {i}", "psycopg", i))
    try:
        with conn.transaction():
            conn.execute("update visits set n = -1 where who = 'psycopg'")
            conn.execute("insert into visits values ('psycopg 0', 'psycopg', 0)")
        raise SystemExit("a duplicate key was taken")
    except psycopg.errors.UniqueViolation as error:
        assert error.sqlstate == "23505"
    for i in range(30):
        row = conn.execute(f"select n + {i % 7}::int from visits where id = %s", ("psycopg 3",)).fetchone()
        assert row == (3 + i % 7,), row
    conn.execute("set timezone to 'Asia/Tokyo'")
    assert conn.execute("show timezone").fetchone() == ("Asia/Tokyo",)
    assert conn.info.parameter_status("TimeZone") == "Asia/Tokyo"
    conn.execute("set statement_timeout to 1000")  # --compat
    with conn.cursor() as cur:
        with cur.copy("copy visits from stdin") as copy:
            copy.write_row(("psycopg copied", "psycopg", 99))
        with cur.copy("copy (select n from visits where who = 'psycopg' order by n) to stdout") as copy:
            assert b"".join(copy).split()[-1] == b"99"
    with conn.pipeline():
        a = conn.execute("select 1")
        b = conn.execute("select n from visits where id = %s", ("psycopg copied",))
        assert (a.fetchone(), b.fetchone()) == ((1,), (99,))
    with conn.cursor(binary=True) as cur:
        assert cur.execute("select n::int8 from visits where id = %s", ("psycopg 7",)).fetchone() == (7,)
print("ok")
