/* The framer and the builders when memory runs out. */
#include "pgwire/frame.h"
#include "pgwire/put_frontend.h"
#include "support/alloc_fault.h"
#include "support/test.h"

/* A message fed byte by byte grows its buffer several times; a failure must end
 * the stream cleanly. */
static bool frame_a_message(void)
{
    static struct dsql_pg_limits limits;
    dsql_pg_limits_session(&limits, DSQL_PG_FRONTEND, 1 << 20);
    char bytes[1006] = "Q\0\0\3\355";
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &limits);
    struct dsql_pg_piece piece = {0};
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < sizeof(bytes) && rc == DSQL_OK; i++) {
        struct dsql_span in = {bytes + i, 1};
        rc = dsql_pg_framer_next(&framer, &in, &piece, NULL);
    }
    assert_true(rc == DSQL_NO_MEMORY || (rc == DSQL_OK && piece.ready && piece.last));
    dsql_pg_framer_fini(&framer);
    return rc == DSQL_OK;
}

static bool build_messages(void)
{
    struct dsql_strbuf out;
    dsql_strbuf_init_heap(&out, 1 << 20);
    for (int i = 0; i < 100; i++)
        dsql_pg_put_query(&out, DSQL_SPAN("select 1"));
    bool complete = !out.cut;
    assert_int_equal(out.len % 14, 0); /* whole messages only */
    dsql_strbuf_fini(&out);
    return complete;
}

TEST(the_framer_survives)
{
    assert_in_range(alloc_fault_run("frame", frame_a_message, false), 3, 10);
}
TEST(the_builders_survive)
{
    assert_in_range(alloc_fault_run("build", build_messages, false), 3, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_framer_survives),
        cmocka_unit_test(the_builders_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
