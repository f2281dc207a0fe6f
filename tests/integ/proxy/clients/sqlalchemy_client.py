"""SQLAlchemy with psycopg2: its pool, the ORM, a transaction that fails, and reflection of a table."""
import sqlalchemy as sa
from sqlalchemy.orm import Session, declarative_base

transactions = sa.create_engine("postgresql+psycopg2://", pool_size=3)
autocommit = transactions.execution_options(isolation_level="AUTOCOMMIT")
Base = declarative_base()


class Visit(Base):
    __tablename__ = "visits"
    id = sa.Column(sa.Text, primary_key=True)
    who = sa.Column(sa.Text)
    n = sa.Column(sa.Integer)


with Session(transactions) as session:
    session.query(Visit).filter_by(who="sqlalchemy").delete()
    session.add_all([Visit(id=f"sqlalchemy {i}", who="sqlalchemy", n=i) for i in range(10)])
    session.commit()
    visit = session.get(Visit, "sqlalchemy 3")
    visit.n += 100
    session.commit()
    assert session.query(sa.func.sum(Visit.n)).filter_by(who="sqlalchemy").scalar() == 145
    session.add(Visit(id="sqlalchemy 0", who="sqlalchemy", n=0))
    try:
        session.commit()
        raise SystemExit("a duplicate key was taken")
    except sa.exc.IntegrityError:
        session.rollback()
    assert session.query(Visit).filter_by(who="sqlalchemy").count() == 10
with autocommit.connect() as conn:
    conn.execute(sa.text("set timezone to 'Asia/Tokyo'"))
    assert conn.execute(sa.text("show timezone")).scalar() == "Asia/Tokyo"
assert {c["name"] for c in sa.inspect(transactions).get_columns("visits")} == {"id", "who", "n"}
print("ok")
