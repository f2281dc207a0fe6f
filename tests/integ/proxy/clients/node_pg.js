// node-postgres: a pool, transactions, named statements, settings, an error.
const { Pool } = require('pg');
const assert = require('assert');
(async () => {
  const pool = new Pool({ max: 4 });
  await pool.query("delete from visits where who = 'node'");
  await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('insert into visits values ($1, $2, $3)', [`node ${i}`, 'node', i]);
      await client.query('commit');
    } finally {
      client.release();
    }
  }));
  for (let i = 0; i < 20; i++) {
    const { rows } = await pool.query({ name: 'by id', text: 'select n from visits where id = $1', values: [`node ${i}`] });
    assert.strictEqual(rows[0].n, i);
  }
  const client = await pool.connect();
  await client.query('begin');
  await assert.rejects(client.query("insert into visits values ('node 0', 'node', 0)"), { code: '23505' });
  await assert.rejects(client.query('select 1'), { code: '25P02' });
  await client.query('rollback');
  await client.query("set timezone to 'Asia/Tokyo'");
  assert.strictEqual((await client.query('show timezone')).rows[0].TimeZone, 'Asia/Tokyo');
  client.release();
  assert.strictEqual((await pool.query("select count(*)::int as n from visits where who = 'node'")).rows[0].n, 20);
  await pool.end();
  console.log('ok');
})();
