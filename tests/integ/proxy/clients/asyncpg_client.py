"""asyncpg: a pool, transactions, prepared statements, settings, errors, a cursor, COPY both ways."""
import asyncio
import io

import asyncpg


async def work(pool, i):
    async with pool.acquire() as conn:
        async with conn.transaction():
            await conn.execute("insert into visits values ($1, 'asyncpg', $2)", f"asyncpg {i}", i)
        return await conn.fetchval("select n from visits where id = $1", f"asyncpg {i}")


async def main():
    async with asyncpg.create_pool(min_size=4, max_size=4) as pool:
        await pool.execute("delete from visits where who = 'asyncpg'")
        assert await asyncio.gather(*(work(pool, i) for i in range(20))) == list(range(20))
        async with pool.acquire() as conn:
            statement = await conn.prepare("select n from visits where id = $1")
            for i in range(20):
                assert await statement.fetchval(f"asyncpg {i}") == i
            try:
                async with conn.transaction():
                    await conn.execute("insert into visits values ('asyncpg 0', 'asyncpg', 0)")
                raise SystemExit("a duplicate key was taken")
            except asyncpg.UniqueViolationError:
                pass
            await conn.execute("set timezone to 'Asia/Tokyo'")
            assert await conn.fetchval("show timezone") == "Asia/Tokyo"
            async with conn.transaction():
                seen = [r["n"] async for r in conn.cursor("select n from visits where who = 'asyncpg' order by n", prefetch=3)]
            assert seen == list(range(20)), seen
            await conn.copy_records_to_table("visits", records=[("asyncpg copied", "asyncpg", 99)])
            out = io.BytesIO()
            await conn.copy_from_query("select n from visits where id = 'asyncpg copied'", output=out)
            assert out.getvalue().strip() == b"99"


asyncio.run(main())
print("ok")
