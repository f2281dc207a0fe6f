/*
 * The endpoint beside the oracle: random short transactions of many clients on few keys, every
 * answer and every verdict compared.
 *
 *     occ_diff make SEED                         makes the tables of a seed
 *     occ_diff run SEED TRANSACTIONS [CLIENTS]
 *
 * One thread runs the clients' statements one after another in random order, so that the same seed
 * is the same history and the oracle knows it. (What only happens at the same instant is the matter
 * of occ_storm.) Several may run at once: each has its own tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/rng.h"
#include "support/occ_oracle.h"

enum { CLIENTS_MAX = 64, KEYS = 20, OPS_MAX = 6, TEXT = 4096, TRACE = 80, STATEMENT_SECONDS = 60 };

struct client {
    PGconn *conn;
    struct occ_tx tx;
    bool open;
    int left; /* statements until its end */
};

static struct client clients[CLIENTS_MAX];
static struct occ_world world;
static struct dsql_rng rng;
static char trace[TRACE][256];
static size_t traced;
static uint64_t seed;
static unsigned long counts[3]; /* committed, conflicts, other errors */

static int below(int bound)
{
    return (int)dsql_rng_below(&rng, (uint64_t)bound);
}

__attribute__((noreturn)) static void fail(const char *sql, const char *wanted, const char *got)
{
    (void)fprintf(stderr, "seed %llu: the last statements were\n", (unsigned long long)seed);
    for (size_t i = traced > TRACE ? traced - TRACE : 0; i < traced; i++)
        (void)fprintf(stderr, "  %s\n", trace[i % TRACE]);
    (void)fprintf(stderr, "%s\n  wanted %s\n  got    %s\n", sql, wanted, got);
    exit(1);
}

/* Runs a statement and compares its answer: rows "1,2 3,4", a tag, or a SQLSTATE. */
static void expect(struct client *client, const char *sql, const char *wanted)
{
    char got[TEXT] = "";
    size_t len = 0;
    (void)snprintf(trace[traced++ % TRACE], sizeof(trace[0]), "%2td: %.160s => %.60s",
                   client - clients, sql, wanted);
    alarm(STATEMENT_SECONDS);
    PGresult *result = below(2) ? PQexec(client->conn, sql)
                                : PQexecParams(client->conn, sql, 0, NULL, NULL, NULL, NULL, 0);
    alarm(0);
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        (void)snprintf(got, sizeof(got), "%s", PQcmdStatus(result));
    } else if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        for (int row = 0; row < PQntuples(result); row++)
            for (int column = 0; column < PQnfields(result) && len < sizeof(got); column++)
                len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s",
                                        column > 0 ? "," : (row > 0 ? " " : ""),
                                        PQgetvalue(result, row, column));
    } else {
        const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        (void)snprintf(got, sizeof(got), "%s", code ? code : PQerrorMessage(client->conn));
    }
    PQclear(result);
    if (strcmp(got, wanted) != 0)
        fail(sql, wanted, got);
}

static void run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail(sql, "success", PQerrorMessage(conn));
    PQclear(result);
}

/* -- The statements: each says what the oracle answers. */

struct order {
    char sql[512];
    char wanted[TEXT];
    enum occ_answer answer;
};

/* An id, mostly one that is there, or one that is not. */
static int pick(struct occ_tx *tx, enum occ_table table, bool there)
{
    int id = below(KEYS);
    for (int tries = below(8) ? 40 : 0; tries > 0 && (occ_find(tx, table, id) != NULL) != there;
         tries--)
        id = below(KEYS);
    return id;
}

static bool has_child(const struct occ_tx *tx, int id)
{
    for (size_t i = 0; i < tx->row_count; i++)
        if (tx->rows[i].table == OCC_C && tx->rows[i].k == id)
            return true;
    return false;
}

/* A value for k, mostly one that is free, sometimes null. */
static int pick_k(struct occ_tx *tx)
{
    int k = below(KEYS + 4);
    occ_look(tx);
    for (size_t i = 0; i < tx->row_count; i++) {
        if (k < KEYS && tx->rows[i].table == OCC_T && tx->rows[i].k == k && below(30)) {
            k = below(KEYS + 4);
            i = SIZE_MAX; /* from the start */
        }
    }
    return k < KEYS ? k : OCC_NULL;
}

static const char *null_or(int k, char (*out)[16])
{
    (void)snprintf(*out, sizeof(*out), k == OCC_NULL ? "null" : "%d", k);
    return *out;
}

static int by_id(const void *a, const void *b)
{
    const struct occ_row *x = a, *y = b;
    return x->id - y->id;
}

static void show_rows(struct order *order, struct occ_tx *tx, enum occ_table table, int lowest,
                      int highest)
{
    struct occ_row rows[OCC_ROWS_MAX] = {0};
    size_t count = 0, len = 0;
    occ_look(tx);
    for (size_t i = 0; i < tx->row_count; i++)
        if (tx->rows[i].table == table && tx->rows[i].id >= lowest && tx->rows[i].id <= highest)
            rows[count++] = tx->rows[i];
    qsort(rows, count, sizeof(rows[0]), by_id);
    order->wanted[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char k[16] = "";
        if (rows[i].k != OCC_NULL)
            (void)null_or(rows[i].k, &k);
        len += (size_t)snprintf(order->wanted + len, sizeof(order->wanted) - len, "%s%d,%s",
                                i > 0 ? " " : "", rows[i].id, k);
        if (table == OCC_T)
            len += (size_t)snprintf(order->wanted + len, sizeof(order->wanted) - len, ",%d",
                                    rows[i].v);
    }
}

#define SQL(...)    ((void)snprintf(order->sql, sizeof(order->sql), __VA_ARGS__))
#define WANTED(...) ((void)snprintf(order->wanted, sizeof(order->wanted), __VA_ARGS__))

static void read_something(struct order *order, struct occ_tx *tx)
{
    int id = below(KEYS), sum = 0, count = 0;
    switch (below(4)) {
    case 0:
        SQL("select * from t%d order by id", (int)seed);
        show_rows(order, tx, OCC_T, 0, KEYS);
        return;
    case 1:
        SQL("select * from t%d where id = %d", (int)seed, id);
        show_rows(order, tx, OCC_T, id, id);
        return;
    case 2:
        SQL("select * from c%d order by id", (int)seed);
        show_rows(order, tx, OCC_C, 0, KEYS);
        return;
    default:
        SQL("select count(*), coalesce(sum(v), 0) from t%d where k >= %d", (int)seed, id);
        occ_look(tx);
        for (size_t i = 0; i < tx->row_count; i++) {
            if (tx->rows[i].table == OCC_T && tx->rows[i].k >= id) {
                sum += tx->rows[i].v;
                count++;
            }
        }
        WANTED("%d,%d", count, sum);
    }
}

static void write_one(struct order *order, struct occ_tx *tx)
{
    int id = pick(tx, OCC_T, true), other = pick(tx, OCC_T, false);
    int k = pick_k(tx), v = below(1000);
    struct occ_row *row = occ_find(tx, OCC_T, id);
    char shown[16];
    WANTED("UPDATE %d", row != NULL);
    switch (below(6)) {
    case 0:
        SQL("update t%d set k = %s where id = %d", (int)seed, null_or(k, &shown), id);
        order->answer = row ? occ_update(tx, row, id, k, row->v) : OCC_DONE;
        return;
    case 1:
        SQL("update t%d set id = %d where id = %d", (int)seed, other, id);
        order->answer = row ? occ_update(tx, row, other, row->k, row->v) : OCC_DONE;
        return;
    case 2:
        SQL("update t%d set id = %d, v = %d where id = %d", (int)seed, id, v, id);
        order->answer = row ? occ_update(tx, row, id, row->k, v) : OCC_DONE;
        return;
    case 3:
        for (int tries = below(6) ? 10 : 0; row && tries > 0 && has_child(tx, row->id); tries--) {
            id = pick(tx, OCC_T, true);
            row = occ_find(tx, OCC_T, id);
        }
        SQL("delete from t%d where id = %d", (int)seed, id);
        WANTED("DELETE %d", row != NULL);
        order->answer = row ? occ_delete(tx, row) : OCC_DONE;
        return;
    default:
        SQL("update t%d set v = %d where id = %d", (int)seed, v, id);
        order->answer = row ? occ_update(tx, row, id, row->k, v) : OCC_DONE;
    }
}

static void write_range(struct order *order, struct occ_tx *tx)
{
    int lowest = below(KEYS), count = 0;
    SQL("update t%d set v = v + 1 where id between %d and %d", (int)seed, lowest, lowest + 2);
    for (int id = lowest; id <= lowest + 2; id++) {
        struct occ_row *row = occ_find(tx, OCC_T, id);
        if (row) {
            order->answer = occ_update(tx, row, id, row->k, row->v + 1);
            count++;
        }
    }
    occ_look(tx);
    WANTED("UPDATE %d", count);
}

static void insert_one(struct order *order, struct occ_tx *tx)
{
    int id = pick(tx, OCC_T, below(4) == 0), k = pick_k(tx), v = below(1000);
    struct occ_row *row = occ_find(tx, OCC_T, id);
    char shown[16];
    WANTED("INSERT 0 1");
    switch (below(4)) {
    case 0:
        SQL("insert into t%d values (%d, %s, %d) on conflict do nothing", (int)seed, id,
            null_or(k, &shown), v);
        if (occ_insert(tx, OCC_T, id, k, v) == OCC_DUPLICATE)
            WANTED("INSERT 0 0");
        return;
    case 1:
        SQL("insert into t%d values (%d, %s, %d) on conflict (id) do update set v = excluded.v",
            (int)seed, id, null_or(k, &shown), v);
        order->answer = row ? occ_update(tx, row, id, row->k, v) : occ_insert(tx, OCC_T, id, k, v);
        return;
    default:
        SQL("insert into t%d values (%d, %s, %d)", (int)seed, id, null_or(k, &shown), v);
        order->answer = occ_insert(tx, OCC_T, id, k, v);
    }
}

static void lock_one(struct order *order, struct occ_tx *tx)
{
    int id = pick(tx, OCC_T, true);
    bool share = below(2);
    const struct occ_row *row = occ_find(tx, OCC_T, id);
    SQL("select * from t%d where id = %d for %s", (int)seed, id, share ? "key share" : "update");
    show_rows(order, tx, OCC_T, id, id);
    if (row)
        occ_lock(tx, row, share ? OCC_KEY_SHARE : OCC_EXCLUSIVE);
}

static void change_child(struct order *order, struct occ_tx *tx)
{
    bool insert = below(3) < 1; /* few children, so that parents can be deleted */
    int id = pick(tx, OCC_C, !insert), parent = pick(tx, OCC_T, true);
    if (insert) {
        SQL("insert into c%d values (%d, %d)", (int)seed, id, parent);
        WANTED("INSERT 0 1");
        order->answer = occ_insert(tx, OCC_C, id, parent, 0);
        return;
    }
    struct occ_row *row = occ_find(tx, OCC_C, id);
    SQL("delete from c%d where id = %d", (int)seed, id);
    WANTED("DELETE %d", row != NULL);
    order->answer = row ? occ_delete(tx, row) : OCC_DONE;
}

static void make_order(struct order *order, struct occ_tx *tx)
{
    static void (*const kinds[])(struct order *, struct occ_tx *) = {
        read_something, read_something, write_one,  write_one,  write_one,    write_one,
        lock_one,       write_range,    insert_one, insert_one, change_child, lock_one,
    };
    order->answer = OCC_DONE;
    kinds[below((int)DSQL_COUNT_OF(kinds))](order, tx);
    if (order->answer == OCC_DUPLICATE)
        WANTED("23505");
    if (order->answer == OCC_FOREIGN)
        WANTED("23503");
}

/* -- The clients. */

static uint64_t oldest_snapshot(const struct client *but)
{
    uint64_t oldest = world.commits;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (&clients[i] != but && clients[i].open && clients[i].tx.looked &&
            clients[i].tx.snapshot < oldest)
            oldest = clients[i].tx.snapshot;
    return oldest;
}

static bool commit(struct client *client)
{
    client->open = false;
    bool ok = occ_commit(&client->tx, oldest_snapshot(client));
    if (!occ_is_consistent(&world))
        fail("the oracle", "consistent", "not");
    counts[ok ? 0 : 1]++;
    return ok;
}

static void step_alone(struct client *client)
{
    struct order order;
    occ_begin(&client->tx, &world);
    make_order(&order, &client->tx);
    if (order.answer == OCC_DONE && !commit(client))
        fail(order.sql, "a statement alone never conflicts here", "the oracle says so");
    expect(client, order.sql, order.wanted);
}

/* One statement of one client; true if it ended a transaction. */
static bool step(struct client *client)
{
    if (!client->open && below(10) == 0) {
        step_alone(client);
        return true;
    }
    if (!client->open) {
        occ_begin(&client->tx, &world);
        client->open = true;
        client->left = 1 + below(OPS_MAX);
        expect(client, "begin", "BEGIN");
        return false;
    }
    if (client->left-- > 0) {
        struct order order;
        make_order(&order, &client->tx);
        expect(client, order.sql, order.wanted);
        if (order.answer == OCC_DONE)
            return false;
        expect(client, below(2) ? "commit" : "rollback", "ROLLBACK");
        client->open = false;
        counts[2]++;
        return true;
    }
    if (below(12) == 0) {
        expect(client, "rollback", "ROLLBACK");
        client->open = false;
        return true;
    }
    expect(client, "commit", commit(client) ? "COMMIT" : "40001");
    return true;
}

static void compare_all(struct client *client)
{
    struct order order;
    struct occ_tx *tx = &client->tx;
    occ_begin(tx, &world);
    (void)snprintf(order.sql, sizeof(order.sql), "select * from t%d order by id", (int)seed);
    show_rows(&order, tx, OCC_T, 0, KEYS);
    expect(client, order.sql, order.wanted);
    (void)snprintf(order.sql, sizeof(order.sql), "select * from c%d order by id", (int)seed);
    show_rows(&order, tx, OCC_C, 0, KEYS);
    expect(client, order.sql, order.wanted);
}

static void make_tables(void)
{
    char sql[256];
    PGconn *conn = PQconnectdb("");
    if (PQstatus(conn) != CONNECTION_OK)
        fail("connect", "a connection", PQerrorMessage(conn));
    (void)snprintf(sql, sizeof(sql), "create table t%d (id int primary key, k int unique, v int)",
                   (int)seed);
    run(conn, sql);
    (void)snprintf(sql, sizeof(sql),
                   "create table c%d (id int primary key, t int references t%d (id))", (int)seed,
                   (int)seed);
    run(conn, sql);
    PQfinish(conn);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    seed = strtoull(argv[2], NULL, 10);
    if (strcmp(argv[1], "make") == 0) {
        make_tables();
        return 0;
    }
    unsigned long wanted = argc > 3 ? strtoul(argv[3], NULL, 10) : 0, ended = 0;
    int count = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 16;
    if (count < 1 || count > CLIENTS_MAX)
        return 2;
    rng = dsql_rng_seeded(seed);
    for (int i = 0; i < count; i++) {
        clients[i].conn = PQconnectdb("");
        if (PQstatus(clients[i].conn) != CONNECTION_OK)
            fail("connect", "a connection", PQerrorMessage(clients[i].conn));
    }
    while (ended < wanted)
        ended += step(&clients[below(count)]);
    for (int i = 0; i < count; i++) {
        if (clients[i].open)
            run(clients[i].conn, "rollback");
        clients[i].open = false;
    }
    compare_all(&clients[0]);
    printf("seed %llu: %lu transactions, %lu committed, %lu conflicts, %lu errors\n",
           (unsigned long long)seed, ended, counts[0], counts[1], counts[2]);
    for (int i = 0; i < count; i++)
        PQfinish(clients[i].conn);
    return 0;
}
