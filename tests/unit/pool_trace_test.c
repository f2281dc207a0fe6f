/*
 * The flight recorder on a libpq that connects to nobody: what a pool records is replayed to the
 * byte, a decision that is changed is found, the ring turns, and a recording is nobody else's.
 * TRACE_KEEP=FILE keeps the recording of the first test, for tests/keeper_mutants.sh.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pool/pool.h"
#include "sim/replay.h"
#include "support/fake_pq.h"
#include "support/test.h"

static char folder[64], path[128], old[128];

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * DSQL_MS};
    (void)nanosleep(&time, NULL);
}

static int set_up(void **state)
{
    (void)state;
    fake_pq_reset();
    dsql_log_set_level(DSQL_LOG_ERROR);
    (void)snprintf(folder, sizeof(folder), "/tmp/dsql-trace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/pool", folder);
    (void)snprintf(old, sizeof(old), "%s/pool.old", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(old);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static struct dsql_pool *open_recorded(int64_t n)
{
    struct dsql_pool_options options;
    struct dsql_pool *pool = NULL;
    struct dsql_err err = {0};
    fake_pq_options(&options, n);
    options.sizing.target_ready = n - n / 4;
    options.lifetime.base_ns = 100 * DSQL_MS;
    options.lifetime.jitter_ns = 50 * DSQL_MS;
    options.lifetime.guard_window_ns = 20 * DSQL_MS;
    (void)snprintf(options.trace, sizeof(options.trace), "%s", path);
    if (dsql_pool_open(&options, &pool, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return pool;
}

/* Callers, drops and refusals for a while. */
static void live(struct dsql_pool *pool, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct dsql_conn *conns[6];
        struct dsql_err err;
        int held = 0;
        if (i % 8 == 3)
            (void)fake_pq_drop(2);
        fake_pq_refuse(i % 16 == 7 ? "FATAL:  Unable to accept connection, rate exceeded." : NULL);
        while (held < 6 && dsql_pool_checkout(pool, 5 * DSQL_MS, &conns[held], &err) == DSQL_OK)
            held++;
        sleep_ms(10);
        for (int k = 0; k < held; k++) {
            if ((i + k) % 5 == 0)
                dsql_pool_discard(conns[k]);
            else
                dsql_pool_return(conns[k]);
        }
    }
    fake_pq_refuse(NULL);
}

static struct dsql_span read_recording(void)
{
    FILE *file = fopen(path, "re");
    struct stat st;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    char *bytes = malloc((size_t)st.st_size + 1);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
    (void)fclose(file);
    return (struct dsql_span){bytes, (size_t)st.st_size};
}

static void keep(struct dsql_span file)
{
    const char *name = getenv("TRACE_KEEP");
    FILE *out = name ? fopen(name, "we") : NULL;
    assert_true(!name || out);
    if (out) {
        assert_int_equal(fwrite(file.ptr, 1, file.len, out), file.len);
        assert_int_equal(fclose(out), 0);
    }
}

TEST(what_is_recorded_is_replayed_to_the_byte)
{
    struct dsql_pool *pool = open_recorded(8);
    struct dsql_pool_stats stats;
    do {
        live(pool, 60);
        dsql_pool_stats(pool, &stats);
    } while (stats.opens < 40); /* however slow its thread is */
    dsql_pool_close(pool);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    struct dsql_span file = read_recording();
    struct dsql_sim_replay replay;
    struct dsql_err err;
    assert_int_equal(dsql_sim_replay(file, NULL, NULL, &replay, &err), DSQL_OK);
    if (replay.differs)
        fail_msg("%s", replay.difference);
    assert_true(replay.closed && replay.decisions > 100 && replay.turns > 10);
    assert_int_equal(replay.gaps, 0);
    keep(file);
    free((char *)(uintptr_t)file.ptr);
}

/* Finds the first record like this and changes its last byte, which is a part of the decision. */
struct search {
    enum dsql_keeper_call_kind kind;
    enum dsql_keeper_do what;
    uint64_t number;
};

static void look_for(void *arg, const struct dsql_sim_replay_event *e)
{
    struct search *s = arg;
    if (s->number == 0 && e->call->kind == s->kind && e->reply->step.what == s->what)
        s->number = e->number;
}

/* The chunks with the reply of one record changed: as a program with another policy wrote it. */
static void change(struct dsql_span file, uint64_t number)
{
    uint8_t *at = (uint8_t *)(uintptr_t)file.ptr, *end = at + file.len;
    struct dsql_trace_chunk chunk;
    uint64_t n = 0;
    while (dsql_trace_take_chunk(at, (size_t)(end - at), &chunk)) {
        uint8_t *bytes = at + DSQL_TRACE_HEADER;
        struct dsql_codec c = dsql_codec_reader(bytes, chunk.len);
        struct dsql_keeper keeper;
        struct dsql_trace_opening opening;
        if (chunk.index == 0) {
            dsql_codec_opening(&c, &opening);
            assert_int_equal(dsql_trace_take_snapshot(&c, &keeper), DSQL_OK);
            dsql_keeper_fini(&keeper);
        }
        while (dsql_codec_left(&c) > 0 && !dsql_codec_take_end(&c)) {
            struct dsql_keeper_call call;
            struct dsql_keeper_reply reply;
            dsql_codec_call(&c, &call);
            dsql_codec_reply(&c, call.kind, &reply);
            if (++n == number) {
                ((uint8_t *)(uintptr_t)c.from)[-1] ^= 2;
                dsql_trace_put_chunk(at, &chunk, bytes);
                return;
            }
        }
        at = bytes + chunk.len;
    }
    fail_msg("no record %llu", (unsigned long long)number);
}

TEST(a_decision_that_differs_ends_the_replay)
{
    static const struct search searches[] = {
        {DSQL_KEEPER_CALL_NEXT, DSQL_KEEPER_OPEN, 0},
        {DSQL_KEEPER_CALL_NEXT, DSQL_KEEPER_SLEEP, 0},
        {DSQL_KEEPER_CALL_NEXT, DSQL_KEEPER_CLOSE, 0},
        {DSQL_KEEPER_CALL_OPENED, 0, 0},
        {DSQL_KEEPER_CALL_FAILED, 0, 0},
    };
    struct dsql_pool *pool = open_recorded(8);
    live(pool, 60);
    dsql_pool_close(pool);
    for (size_t i = 0; i < DSQL_COUNT_OF(searches); i++) {
        struct search search = searches[i];
        struct dsql_span file = read_recording();
        struct dsql_sim_replay replay;
        struct dsql_err err;
        char record[40];
        assert_int_equal(dsql_sim_replay(file, look_for, &search, &replay, &err), DSQL_OK);
        assert_true(search.number > 0 && !replay.differs);
        change(file, search.number);
        enum dsql_rc rc = dsql_sim_replay(file, NULL, NULL, &replay, &err);
        if (rc != DSQL_OK || !replay.differs)
            fail_msg("case %zu: %d %s", i, (int)rc, rc ? err.message : "equal");
        (void)snprintf(record, sizeof(record), "record %llu at", (unsigned long long)search.number);
        assert_non_null(strstr(replay.difference, record));
        assert_int_equal(replay.records, search.number);
        free((char *)(uintptr_t)file.ptr);
    }
}

/* Without a pool: turns of a keeper until the ring has turned more than once. */
TEST(the_ring_keeps_the_newest_segments)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct dsql_pool_options options;
    struct dsql_trace *trace = NULL;
    struct dsql_err err = {0};
    struct dsql_keeper keeper;
    const struct dsql_keeper_config config = {
        .max_open = 4,
        .target = 0,
        .lifetime = {DSQL_S, 0, 0},
        .permit_backoff_ns = 1,
    };
    fake_pq_options(&options, 4);
    assert_int_equal(dsql_keeper_init(&keeper, &config, dsql_rng_seeded(1), (struct dsql_mono){0}),
                     DSQL_OK);
    if (dsql_trace_open(path, 4, &dsql_clock_system, &lock, &trace, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    for (int64_t i = 0; i < 150000; i++) {
        struct dsql_keeper_reply reply;
        struct dsql_keeper_call call = {
            .kind = DSQL_KEEPER_CALL_TURN, .now = {DSQL_H + i * DSQL_MS}, .count = 0};
        pthread_mutex_lock(&lock);
        dsql_trace_call(trace, &keeper, &call, &reply);
        do {
            call = (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_NEXT};
            dsql_trace_call(trace, &keeper, &call, &reply);
            call =
                (struct dsql_keeper_call){.kind = DSQL_KEEPER_CALL_SLOTS, .count = 4, .rate = 0.1};
            if (reply.step.what == DSQL_KEEPER_SLOTS)
                dsql_trace_call(trace, &keeper, &call, &(struct dsql_keeper_reply){0});
        } while (reply.step.what != DSQL_KEEPER_SLEEP);
        pthread_mutex_unlock(&lock);
        if (i % 500 == 0)
            sleep_ms(1); /* the writer's turn */
    }
    dsql_trace_close(trace, &keeper);
    dsql_keeper_fini(&keeper);
    struct dsql_span file = read_recording();
    struct dsql_sim_replay replay;
    assert_true(file.len <= DSQL_TRACE_SEGMENTS * dsql_trace_segment_size(4));
    assert_int_equal(dsql_sim_replay(file, NULL, NULL, &replay, &err), DSQL_OK);
    assert_int_equal(replay.segments, DSQL_TRACE_SEGMENTS);
    assert_true(!replay.differs && replay.closed);
    assert_true(replay.base.ns > DSQL_H); /* the oldest are gone */
    assert_true(replay.last.ns == DSQL_H + 149999 * DSQL_MS || replay.gaps > 0);
    free((char *)(uintptr_t)file.ptr);
}

TEST(a_child_does_not_write_to_the_recording)
{
    struct dsql_pool *pool = open_recorded(4);
    live(pool, 5);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* Nothing here takes a lock that a thread of the parent may have held. */
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        struct dsql_trace *trace;
        struct dsql_err err;
        bool refused =
            dsql_trace_open(path, 4, &dsql_clock_system, &lock, &trace, &err) == DSQL_IO &&
            strstr(err.message, "another process records to it");
        dsql_pool_close(pool);
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    live(pool, 5);
    dsql_pool_close(pool);
    assert_int_not_equal(access(old, F_OK), 0);
    struct dsql_span file = read_recording();
    struct dsql_sim_replay replay;
    struct dsql_err err;
    assert_int_equal(dsql_sim_replay(file, NULL, NULL, &replay, &err), DSQL_OK);
    assert_true(!replay.differs && replay.closed);
    free((char *)(uintptr_t)file.ptr);
}

TEST(only_a_file_of_its_own_is_written)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct dsql_trace *trace = NULL;
    struct dsql_err err = {0};
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(dsql_trace_open(path, 4, &dsql_clock_system, &lock, &trace, &err), DSQL_IO);
    assert_non_null(strstr(err.message, "it is a link"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(dsql_trace_open(path, 4, &dsql_clock_system, &lock, &trace, &err), DSQL_IO);
    assert_non_null(strstr(err.message, "no file of this user's"));
    assert_int_equal(unlink(path), 0);
    assert_null(trace);
    /* A pool that can't record works. */
    assert_int_equal(mkfifo(path, 0600), 0);
    struct dsql_pool *pool = open_recorded(4);
    live(pool, 2);
    dsql_pool_close(pool);
}

static void write_text(const char *file, const char *text)
{
    FILE *out = fopen(file, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* Another name of a file that somebody else wants to keep: its name is put aside, and what is in it
 * stays as it was. */
TEST(a_hard_link_is_not_written_through)
{
    struct stat kept, made;
    char text[32] = "";
    char precious[128];
    (void)snprintf(precious, sizeof(precious), "%s/precious", folder);
    write_text(precious, "precious");
    assert_int_equal(link(precious, path), 0);
    struct dsql_pool *pool = open_recorded(4);
    live(pool, 2);
    dsql_pool_close(pool);
    assert_int_equal(stat(precious, &kept), 0);
    assert_int_equal(stat(path, &made), 0);
    assert_int_not_equal(kept.st_ino, made.st_ino);
    assert_int_equal(made.st_nlink, 1);
    assert_int_equal(made.st_mode & 07777, 0600);
    FILE *in = fopen(precious, "re");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof(text), in));
    (void)fclose(in);
    assert_int_equal(unlink(precious), 0);
    assert_string_equal(text, "precious");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_recorded_is_replayed_to_the_byte, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_decision_that_differs_ends_the_replay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_ring_keeps_the_newest_segments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_does_not_write_to_the_recording, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_a_file_of_its_own_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hard_link_is_not_written_through, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
