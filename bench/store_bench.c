/*
 * What a Temporal-like load costs: start a workflow, three updates, close it, with the statements
 * that Temporal sends for each. Four ways in turns: an operation as one script, the store as it is
 * (pipelined), the store with every answer waited for, and bare libpq with one round trip for each
 * statement, BEGIN and COMMIT included. And one call of the catalogue beside the same prepared
 * statement on a bare connection.
 *
 * Run by bench/store.sh, which makes the endpoint; without one it does nothing.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dsql/log.h"
#include "dsql/pool.h"
#include "temporal/call.h"
#include "tx/params.h"

enum way { SCRIPT, PIPELINED, ONE_BY_ONE, BARE, WAYS };
static const char *const way_names[] = {"script", "store, pipelined", "store, answers waited for",
                                        "bare libpq, a round trip each"};

static struct dsql_metrics *metrics;
static struct dsql_pool *pool;
static struct dsql_store *stores[2];
static PGconn *bare;
static int64_t bare_trips;
static bool prepared[DSQL_OP_COUNT][DSQL_OP_STATEMENTS_MAX];
static struct dsql_rng rng;
static struct dsql_err err;

static void must(enum dsql_rc rc)
{
    if (rc) {
        fprintf(stderr, "store_bench: %s: %s\n", dsql_rc_name(rc), err.message);
        exit(1);
    }
}

static double now_ms(void)
{
    return (double)dsql_clock_mono(&dsql_clock_system).ns / 1e6;
}

/* Of this thread: what a loaded machine does not distort. */
static double cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must_pg(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fprintf(stderr, "store_bench: %s", PQerrorMessage(bare));
        exit(1);
    }
    PQclear(result);
    bare_trips++;
}

/* The same statement with the same parameters, by hand. */
static void call_bare(enum dsql_op op, const struct dsql_param *values)
{
    struct dsql_call call = {
        .store = stores[0], .id = op, .op = dsql_op_info(op), .count = 1, .err = &err};
    struct dsql_params params;
    must(dsql_call_convert(&call, values));
    must(dsql_call_choose(&call));
    const struct dsql_stmt *stmt = &call.statement->by_size[0];
    size_t n = call.op->field_count + call.statement->extra;
    bool *is_prepared = &prepared[op][call.statement - call.op->statements];
    for (size_t i = call.op->field_count; i < n; i++)
        call.params[i] = dsql_null();
    must(dsql_params_init(&params, stmt->types, call.params, n, &err));
    if (!*is_prepared) {
        must_pg(PQprepare(bare, stmt->name, stmt->sql, (int)n, stmt->types));
        *is_prepared = true;
        bare_trips--;
    }
    must_pg(
        PQexecPrepared(bare, stmt->name, (int)n, params.values, params.lens, params.formats, 1));
    dsql_params_fini(&params);
    dsql_call_fini(&call);
}

/* -- One operation of Temporal's: a list of calls in a transaction, or one alone. */

enum { CALLS_MAX = 16, FIELDS_MAX = 16 };

struct load {
    enum way way;
    struct dsql_store *store;
    struct dsql_store_tx *tx;
    /* of SCRIPT: what commit() sends */
    struct dsql_script_call calls[CALLS_MAX];
    struct dsql_param values[CALLS_MAX][FIELDS_MAX], expect[CALLS_MAX][DSQL_OP_TOKENS_MAX];
    size_t count;
};

/* Adds a call to the script; expect is NULL if it expects nothing but what its fields say. */
static void add(struct load *load, enum dsql_op op, const struct dsql_param *values,
                const struct dsql_param *expect)
{
    size_t i = load->count++;
    const struct dsql_op_info *info = dsql_op_info(op);
    assert(i < CALLS_MAX && info->field_count <= FIELDS_MAX);
    memcpy(load->values[i], values, info->field_count * sizeof(*values));
    if (expect)
        memcpy(load->expect[i], expect, info->fence.tokens * sizeof(*expect));
    load->calls[i] =
        (struct dsql_script_call){op, load->values[i], 1, expect ? load->expect[i] : NULL};
}

static void send_script(struct load *load)
{
    must(dsql_store_run_script(load->store, "script", load->calls, load->count, NULL, NULL, NULL,
                               &err));
    load->count = 0;
}

static void begin(struct load *load)
{
    if (load->way == SCRIPT)
        return;
    if (load->way == BARE)
        must_pg(PQexec(bare, "BEGIN"));
    else
        must(dsql_store_begin(load->store, "mix", NULL, &load->tx, &err));
}

static void commit(struct load *load)
{
    if (load->way == SCRIPT)
        send_script(load);
    else if (load->way == BARE)
        must_pg(PQexec(bare, "COMMIT"));
    else
        must(dsql_store_commit(load->tx, &err));
    load->tx = NULL;
}

#define CALL(op, ...)                                                                              \
    do {                                                                                           \
        struct dsql_param values_[] = {__VA_ARGS__};                                               \
        if (load->way == SCRIPT)                                                                   \
            add(load, DSQL_OP_##op, values_, NULL);                                                \
        else if (load->way == BARE)                                                                \
            call_bare(DSQL_OP_##op, values_);                                                      \
        else                                                                                       \
            must(dsql_store_call(load->store, load->tx, DSQL_OP_##op, values_, 1, NULL, NULL,      \
                                 &err));                                                           \
    } while (0)

struct workflow {
    struct dsql_id ns, run;
    char name[32];
    int64_t version, task;
};

static char blob[600]; /* a small mutable state */

#define SHARD dsql_i32(1)
#define NAME  dsql_text(w->name)
#define EX4   SHARD, dsql_uuid(&w->ns), NAME, dsql_uuid(&w->run)
#define DATA  dsql_bytes(blob, sizeof(blob)), dsql_text("Proto3")
#define KEY   SHARD, dsql_uuid(&w->ns), NAME, dsql_null()
#define CURRENT                                                                                    \
    KEY, dsql_uuid(&w->run), dsql_text("request"), dsql_i32(1), dsql_i32(1), dsql_i64(1),          \
        dsql_i64(1), dsql_bytes(blob, 60), dsql_text("Proto3")
#define EXECUTION EX4, dsql_i64(w->version), dsql_i64(w->version), dsql_i64(1), DATA, DATA
#define NODE                                                                                       \
    SHARD, dsql_uuid(&w->run), dsql_uuid(&w->run), dsql_i64(w->version), dsql_i64(w->task),        \
        dsql_i64(0), DATA

static void start(struct load *load, struct workflow *w)
{
    begin(load);
    CALL(InsertIntoHistoryNode, NODE);
    CALL(InsertIntoHistoryTree, SHARD, dsql_uuid(&w->run), dsql_uuid(&w->run), DATA);
    if (load->way == SCRIPT) { /* that there is no current row is what the INSERT expects */
        CALL(ExpectShard, SHARD, dsql_i64(1));
    } else {
        commit(load);
        begin(load);
        CALL(ReadLockShards, SHARD);
        if (load->way == BARE) /* of a new workflow there is no current row: one statement */
            CALL(LockCurrentExecutions, KEY);
        else
            CALL(LockCurrentExecutionsJoinExecutions, KEY);
    }
    CALL(InsertIntoCurrentExecutions, CURRENT);
    CALL(InsertIntoExecutions, EXECUTION);
    CALL(InsertIntoTransferTasks, SHARD, dsql_i64(w->task), DATA);
    CALL(InsertIntoVisibilityTasks, SHARD, dsql_i64(w->task), DATA);
    commit(load);
}

/* What every update has in common: five statements. */
static void begin_update(struct load *load, struct workflow *w)
{
    w->version++;
    w->task++;
    CALL(InsertIntoHistoryNode, NODE);
    if (load->way == SCRIPT) {
        struct dsql_param current[] = {CURRENT}, execution[] = {EXECUTION};
        struct dsql_param run = dsql_uuid(&w->run);
        struct dsql_param version[] = {dsql_i64(w->version - 1), dsql_null()};
        CALL(ExpectShard, SHARD, dsql_i64(1));
        add(load, DSQL_OP_UpdateCurrentExecutions, current, &run);
        add(load, DSQL_OP_UpdateExecutions, execution, version);
        return;
    }
    begin(load);
    CALL(ReadLockShards, SHARD);
    CALL(LockCurrentExecutions, KEY);
    CALL(UpdateCurrentExecutions, CURRENT);
    CALL(WriteLockExecutions, EX4);
    CALL(UpdateExecutions, EXECUTION);
}

static void update(struct load *load, struct workflow *w)
{
    begin_update(load, w);
    CALL(InsertIntoTransferTasks, SHARD, dsql_i64(w->task), DATA);
    CALL(InsertIntoTimerTasks, SHARD, dsql_i64(w->task), dsql_i64(w->task), DATA);
    CALL(ReplaceIntoActivityInfoMaps, EX4, dsql_i64(5), DATA);
    commit(load);
}

static void close_workflow(struct load *load, struct workflow *w)
{
    begin_update(load, w);
    CALL(InsertIntoTransferTasks, SHARD, dsql_i64(w->task), DATA);
    CALL(InsertIntoVisibilityTasks, SHARD, dsql_i64(w->task), DATA);
    CALL(InsertIntoTimerTasks, SHARD, dsql_i64(w->task), dsql_i64(w->task), DATA);
    commit(load);
}

static void run_workflow(struct load *load)
{
    struct workflow w = {.version = 1};
    uint64_t nonce = dsql_rng_next(&rng);
    dsql_random_bytes(&w.ns, sizeof(w.ns));
    dsql_random_bytes(&w.run, sizeof(w.run));
    (void)snprintf(w.name, sizeof(w.name), "wf-%016llx", (unsigned long long)nonce);
    w.task = (int64_t)(nonce >> 8);
    start(load, &w);
    for (int i = 0; i < 3; i++)
        update(load, &w);
    close_workflow(load, &w);
}

static double round_trips(void)
{
    char *text;
    size_t len;
    must(dsql_metrics_text(metrics, &text, &len));
    double total = 0;
    const char *name = "\ndsql_tx_round_trips_total{";
    for (char *line = strstr(text, name); line; line = strstr(line + 1, name))
        total += strtod(strstr(line, "} ") + 2, NULL);
    free(text);
    return total;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static void mix(const char *label)
{
    enum { ROUNDS = 15, OPERATIONS = 5 };
    double ms[WAYS][ROUNDS], trips[WAYS] = {0};
    for (int round = -2; round < ROUNDS; round++) /* the first two prepare the statements */
        for (int way = 0; way < WAYS; way++) {
            struct load load = {.way = (enum way)way, .store = stores[way == ONE_BY_ONE]};
            double from = now_ms(), trips_from = way == BARE ? (double)bare_trips : round_trips();
            run_workflow(&load);
            if (round < 0)
                continue;
            ms[way][round] = (now_ms() - from) / OPERATIONS;
            trips[way] += (way == BARE ? (double)bare_trips : round_trips()) - trips_from;
        }
    double base = 0;
    printf("%s: start, three updates, close; per operation\n", label);
    for (int way = WAYS - 1; way >= 0; way--) {
        double typical = median(ms[way], ROUNDS);
        base = way == BARE ? typical : base;
        printf("  %-30s %7.2f ms   %5.2f round trips   %.2f of the time\n", way_names[way], typical,
               trips[way] / (ROUNDS * OPERATIONS), typical / base);
    }
}

/* The same read, a catalogue call beside PQexecPrepared. */
static void overhead(void)
{
    enum { ROUNDS = 41, CALLS = 50 };
    double us[2][ROUNDS], cpu[2][ROUNDS];
    struct dsql_param shard = SHARD;
    struct dsql_result result = {0};
    for (int round = -2; round < ROUNDS; round++)
        for (int way = 0; way < 2; way++) {
            double from = now_ms(), cpu_from = cpu_us();
            for (int i = 0; i < CALLS; i++)
                if (way)
                    must(dsql_store_call(stores[0], NULL, DSQL_OP_SelectFromShards, &shard, 1, NULL,
                                         &result, &err));
                else
                    call_bare(DSQL_OP_SelectFromShards, &shard);
            if (round < 0)
                continue;
            us[way][round] = (now_ms() - from) * 1e3 / CALLS;
            cpu[way][round] = (cpu_us() - cpu_from) / CALLS;
        }
    double plain = median(us[0], ROUNDS), store = median(us[1], ROUNDS);
    printf(
        "one read: bare libpq %.1f us, catalogue on the pool %.1f us: %.1f us more, %.2f times\n",
        plain, store, store - plain, store / plain);
    plain = median(cpu[0], ROUNDS);
    store = median(cpu[1], ROUNDS);
    printf("  of it CPU of the caller: %.1f us and %.1f us: %.1f us more\n", plain, store,
           store - plain);
    dsql_result_fini(&result);
}

int main(int argc, char **argv)
{
    struct dsql_pool_options options;
    struct dsql_store_options plain;
    if (!getenv("DSQL_ENDPOINT")) {
        printf("store_bench: bench/store.sh runs it against an endpoint\n");
        return 0;
    }
    rng = dsql_rng_from_os();
    dsql_log_set_level(DSQL_LOG_ERROR);
    must(dsql_metrics_new("bench", &metrics));
    must(dsql_pool_options_env(&options, &err));
    options.sizing.max_open = options.sizing.target_ready = options.standard.warmup_target =
        options.sizing.low_watermark = 1;
    options.budget.staggered_startup_ns = 0;
    options.metrics = metrics;
    must(dsql_pool_open(&options, &pool, &err));
    dsql_store_options_default(&plain);
    plain.pipelined = false;
    must(dsql_store_open(pool, NULL, &stores[0], &err));
    must(dsql_store_open(pool, &plain, &stores[1], &err));
    bare = PQconnectdb("");
    if (PQstatus(bare) != CONNECTION_OK) {
        fprintf(stderr, "store_bench: %s", PQerrorMessage(bare));
        return 1;
    }
    struct dsql_param values[] = {SHARD, dsql_i64(1), DATA};
    enum dsql_rc rc =
        dsql_store_call(stores[0], NULL, DSQL_OP_InsertIntoShards, values, 1, NULL, NULL, &err);
    must(rc == DSQL_DUPLICATE ? DSQL_OK : rc);
    if (argc > 1)
        mix(argv[1]);
    else
        overhead();
    PQfinish(bare);
    dsql_store_close(stores[0]);
    dsql_store_close(stores[1]);
    dsql_pool_close(pool);
    dsql_metrics_destroy(metrics);
    return 0;
}
