/* The framer: lengths at their edges, pieces, and what it owns meanwhile. */
#include "pgwire/frame.h"
#include "support/test.h"

enum { MOST = 10 * 1024 * 1024 };

static struct dsql_pg_limits session, login, rows;

static int make_limits(void **state)
{
    (void)state;
    dsql_pg_limits_session(&session, DSQL_PG_FRONTEND, MOST);
    dsql_pg_limits_session(&rows, DSQL_PG_BACKEND, INT32_MAX);
    dsql_pg_limits_login(&login);
    return 0;
}

static struct dsql_pg_piece next_ok(struct dsql_pg_framer *framer, struct dsql_span *in)
{
    struct dsql_pg_piece piece;
    struct dsql_err err = {.message = ""};
    enum dsql_rc rc = dsql_pg_framer_next(framer, in, &piece, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, DSQL_OK);
    return piece;
}

TEST(first_bytes_are_judged)
{
    static const struct {
        const struct dsql_pg_limits *limits; /* NULL: startup */
        struct dsql_span bytes;
        enum dsql_rc rc;
        const char *message;
    } rows_[] = {
        {NULL, DSQL_SPAN("\0\0\0\7"), DSQL_PROTOCOL, "invalid length of startup packet: 7 bytes"},
        {NULL, DSQL_SPAN("\0\0\0\0"), DSQL_PROTOCOL, "invalid length of startup packet: 0 bytes"},
        {NULL, DSQL_SPAN("\377\377\377\377"), DSQL_PROTOCOL,
         "invalid length of startup packet: -1 bytes"},
        {NULL, DSQL_SPAN("\0\0\0\10"), DSQL_OK, ""},
        {NULL, DSQL_SPAN("\0\0\047\024"), DSQL_OK, ""}, /* 10,004 */
        {NULL, DSQL_SPAN("\0\0\047\025"), DSQL_LIMIT,
         "invalid length of startup packet: 10005 bytes, at most 10004 are taken"},
        {NULL, DSQL_SPAN("GET / HTTP/1.1\r\n"), DSQL_LIMIT,
         "invalid length of startup packet: 1195725856 bytes, at most 10004 are taken"},
        {&session, DSQL_SPAN("S\0\0\0\3"), DSQL_PROTOCOL,
         "invalid message length: 3 bytes for type 'S'"},
        {&session, DSQL_SPAN("S\0\0\0\0"), DSQL_PROTOCOL,
         "invalid message length: 0 bytes for type 'S'"},
        {&session, DSQL_SPAN("Q\200\0\0\0"), DSQL_PROTOCOL,
         "invalid message length: -2147483648 bytes for type 'Q'"},
        {&session, DSQL_SPAN("S\0\0\0\4"), DSQL_OK, ""},
        {&session, DSQL_SPAN("Q\100\0\0\0"), DSQL_LIMIT,
         "invalid message length: 1073741824 bytes for type 'Q', at most 10485760 are taken"},
        {&session, DSQL_SPAN("Q\0\240\0\0"), DSQL_OK, ""}, /* 10 MiB */
        {&session, DSQL_SPAN("Q\0\240\0\1"), DSQL_LIMIT,
         "invalid message length: 10485761 bytes for type 'Q', at most 10485760 are taken"},
        {&session, DSQL_SPAN("d\0\240\0\1"), DSQL_LIMIT,
         "invalid message length: 10485761 bytes for type 'd', at most 10485760 are taken"},
        {&session, DSQL_SPAN("E\0\0\047\020"), DSQL_OK, ""}, /* 10,000 */
        {&session, DSQL_SPAN("E\0\0\047\021"), DSQL_LIMIT,
         "invalid message length: 10001 bytes for type 'E', at most 10000 are taken"},
        {&session, DSQL_SPAN("p\0\0\0\5"), DSQL_PROTOCOL, "invalid message type 112"},
        {&session, DSQL_SPAN("\0\0\0\0\5"), DSQL_PROTOCOL, "invalid message type 0"},
        {&login, DSQL_SPAN("Q\0\0\0\5"), DSQL_PROTOCOL, "invalid message type 81"},
        {&login, DSQL_SPAN("p\0\0\377\377"), DSQL_OK, ""}, /* 65,535 */
        {&login, DSQL_SPAN("p\0\1\0\0"), DSQL_LIMIT,
         "invalid message length: 65536 bytes for type 'p', at most 65535 are taken"},
        {&rows, DSQL_SPAN("D\177\377\377\377"), DSQL_OK, ""},
        {&rows, DSQL_SPAN("Z\0\0\165\061"), DSQL_LIMIT,
         "invalid message length: 30001 bytes for type 'Z', at most 30000 are taken"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows_); i++) {
        struct dsql_pg_framer framer;
        if (rows_[i].limits)
            dsql_pg_framer_init(&framer, rows_[i].limits);
        else
            dsql_pg_framer_init_startup(&framer);
        struct dsql_span in = rows_[i].bytes;
        struct dsql_pg_piece piece;
        struct dsql_err err = {.message = ""};
        assert_int_equal(dsql_pg_framer_next(&framer, &in, &piece, &err), rows_[i].rc);
        assert_string_equal(err.message, rows_[i].message);
        assert_string_equal(err.sqlstate, rows_[i].rc ? "08P01" : "");
        if (rows_[i].rc) {
            assert_false(piece.ready);
            assert_int_equal(dsql_pg_framer_next(&framer, &in, &piece, &err), DSQL_PROTOCOL);
            assert_string_equal(err.message, "the stream was lost at an earlier message");
        }
        dsql_pg_framer_fini(&framer);
    }
}

TEST(a_message_in_one_read_is_not_copied)
{
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &session);
    const struct dsql_span bytes = DSQL_SPAN("Q\0\0\0\7ab\0S\0\0\0\4d\0\0\0\6xyX");
    struct dsql_span in = bytes;

    struct dsql_pg_piece query = next_ok(&framer, &in);
    assert_true(query.ready && query.first && query.last);
    assert_int_equal(query.type, DSQL_PG_FE_QUERY);
    assert_int_equal(query.length, 7);
    assert_ptr_equal(query.raw.ptr, bytes.ptr);
    assert_int_equal(query.raw.len, 8);
    assert_span(query.body, DSQL_SPAN("ab\0"));

    struct dsql_pg_piece sync = next_ok(&framer, &in);
    assert_ptr_equal(sync.raw.ptr, bytes.ptr + 8);
    assert_int_equal(sync.type, DSQL_PG_FE_SYNC);
    assert_int_equal(sync.body.len, 0);
    assert_true(dsql_pg_framer_is_between(&framer));

    struct dsql_pg_piece data = next_ok(&framer, &in);
    assert_true(data.first && data.last);
    assert_span(data.body, DSQL_SPAN("xy"));

    assert_false(next_ok(&framer, &in).ready);
    assert_int_equal(in.len, 0);
    assert_false(dsql_pg_framer_is_between(&framer));
    assert_null(framer.held);
    dsql_pg_framer_fini(&framer);
}

TEST(a_message_in_many_reads_comes_whole)
{
    const struct dsql_span bytes = DSQL_SPAN("Q\0\0\0\15select 1\0");
    for (size_t cut = 1; cut < bytes.len; cut++) {
        struct dsql_pg_framer framer;
        dsql_pg_framer_init(&framer, &session);
        struct dsql_span in = dsql_span_first(bytes, cut);
        assert_false(next_ok(&framer, &in).ready);
        assert_int_equal(in.len, 0);
        assert_false(dsql_pg_framer_is_between(&framer));
        in = dsql_span_from(bytes, cut);
        struct dsql_pg_piece piece = next_ok(&framer, &in);
        assert_true(piece.first && piece.last);
        assert_span(piece.raw, bytes);
        assert_span(piece.body, DSQL_SPAN("select 1\0"));
        assert_true(dsql_pg_framer_is_between(&framer));
        assert_false(next_ok(&framer, &in).ready);
        assert_null(framer.held); /* (FR3) */
        assert_true(dsql_pg_framer_is_between(&framer));
        dsql_pg_framer_fini(&framer);
    }
}

TEST(an_empty_message_may_be_cut_too)
{
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &session);
    struct dsql_span in = DSQL_SPAN("S\0\0");
    assert_false(next_ok(&framer, &in).ready);
    in = DSQL_SPAN("\0\4H\0");
    struct dsql_pg_piece piece = next_ok(&framer, &in);
    assert_true(piece.ready && piece.first && piece.last);
    assert_span(piece.raw, DSQL_SPAN("S\0\0\0\4"));
    assert_false(next_ok(&framer, &in).ready);
    in = DSQL_SPAN("\0\0\4");
    piece = next_ok(&framer, &in);
    assert_int_equal(piece.type, DSQL_PG_FE_FLUSH);
    assert_span(piece.raw, DSQL_SPAN("H\0\0\0\4"));
    dsql_pg_framer_fini(&framer);
}

TEST(a_long_row_passes_without_being_held)
{
    enum { CHUNK = 8192, BODY = MOST };
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &rows);
    char *chunk = calloc(1, CHUNK);
    struct dsql_span in = DSQL_SPAN("D\0\240");
    assert_false(next_ok(&framer, &in).ready);
    in = DSQL_SPAN("\0\4");
    struct dsql_pg_piece piece = next_ok(&framer, &in);
    assert_true(piece.first && !piece.last);
    assert_span(piece.raw, DSQL_SPAN("D\0\240\0\4"));
    assert_int_equal(piece.length, BODY + 4);
    for (size_t sent = 0; sent < BODY; sent += CHUNK) {
        in = (struct dsql_span){chunk, CHUNK};
        piece = next_ok(&framer, &in);
        assert_false(piece.first);
        assert_int_equal(piece.last, sent + CHUNK == BODY);
        assert_ptr_equal(piece.body.ptr, chunk);
        assert_int_equal(piece.body.len, CHUNK);
        assert_null(framer.held);
        assert_false(next_ok(&framer, &in).ready);
    }
    assert_true(dsql_pg_framer_is_between(&framer));
    free(chunk);
    dsql_pg_framer_fini(&framer);
}

TEST(memory_follows_what_came_not_what_was_announced)
{
    struct dsql_pg_limits trusting;
    dsql_pg_limits_session(&trusting, DSQL_PG_FRONTEND, INT32_MAX);
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &trusting);
    struct dsql_span in = DSQL_SPAN("Q\100\0\0\0select");
    assert_false(next_ok(&framer, &in).ready);
    assert_in_range(framer.held_cap, 11, 256);
    char more[1000] = "";
    for (int i = 0; i < 100; i++) {
        in = (struct dsql_span){more, sizeof(more)};
        assert_false(next_ok(&framer, &in).ready);
        assert_in_range(framer.held_cap, framer.done, 2 * framer.done);
    }
    dsql_pg_framer_fini(&framer);
}

TEST(a_short_message_is_held_in_no_more_than_it_needs)
{
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &session);
    struct dsql_span in = DSQL_SPAN("Q\0\0\0\15sel");
    assert_false(next_ok(&framer, &in).ready);
    assert_int_equal(framer.held_cap, 14);
    dsql_pg_framer_fini(&framer);
}

TEST(a_connection_goes_through_its_phases)
{
    struct dsql_pg_framer framer;
    dsql_pg_framer_init_startup(&framer);
    struct dsql_span in = DSQL_SPAN("\0\0\0\10\4\322\026\057"
                                    "\0\0\0\21\0\3\0\0user\0a\0\0"
                                    "p\0\0\0\6x\0"
                                    "Q\0\0\0\5\0");
    struct dsql_pg_piece piece = next_ok(&framer, &in);
    assert_int_equal(piece.type, 0);
    assert_int_equal(piece.length, 8);
    assert_span(piece.body, DSQL_SPAN("\4\322\026\057"));
    piece = next_ok(&framer, &in);
    assert_int_equal(piece.length, 17);
    assert_int_equal(piece.body.len, 13);
    in = dsql_span_from(DSQL_SPAN("\0p\0\0\0\6x\0Q\0\0\0\5\0"), 1);
    dsql_pg_framer_expect(&framer, &login);
    piece = next_ok(&framer, &in);
    assert_int_equal(piece.type, DSQL_PG_FE_PASSWORD);
    dsql_pg_framer_expect(&framer, &session);
    piece = next_ok(&framer, &in);
    assert_int_equal(piece.type, DSQL_PG_FE_QUERY);
    dsql_pg_framer_fini(&framer);
}

TEST(a_startup_packet_in_parts_comes_whole)
{
    const struct dsql_span bytes = DSQL_SPAN("\0\0\0\10\4\322\026\057");
    struct dsql_pg_framer framer;
    dsql_pg_framer_init_startup(&framer);
    for (size_t i = 0; i + 1 < bytes.len; i++) {
        struct dsql_span in = {bytes.ptr + i, 1};
        assert_false(next_ok(&framer, &in).ready);
    }
    struct dsql_span in = dsql_span_from(bytes, bytes.len - 1);
    struct dsql_pg_piece piece = next_ok(&framer, &in);
    assert_true(piece.first && piece.last);
    assert_span(piece.raw, bytes);
    assert_int_equal(piece.body.len, 4);
    dsql_pg_framer_fini(&framer);
}

TEST(part_of_a_message_can_be_taken_back)
{
    static const struct dsql_span message = {"Q\0\0\0\6a", 7};
    for (size_t cut = 0; cut < message.len; cut++) {
        struct dsql_pg_framer framer;
        STRBUF(back, 16);
        dsql_pg_framer_init(&framer, &session);
        struct dsql_span in = dsql_span_first(message, cut);
        assert_false(next_ok(&framer, &in).ready);
        dsql_pg_framer_unread(&framer, &back);
        assert_span(dsql_strbuf_span(&back), dsql_span_first(message, cut));
        assert_true(dsql_pg_framer_is_between(&framer));
        assert_null(framer.held);
        in = message;
        assert_span(next_ok(&framer, &in).raw, message);
        dsql_pg_framer_unread(&framer, &back); /* nothing: it was handed out */
        assert_int_equal(back.len, cut);
        dsql_pg_framer_fini(&framer);
    }
}

TEST(limits_are_set_by_type)
{
    struct dsql_pg_limits limits = session;
    dsql_pg_limits_set(&limits, DSQL_PG_FE_QUERY, 6, 8);
    struct dsql_pg_framer framer;
    dsql_pg_framer_init(&framer, &limits);

    struct dsql_span in = DSQL_SPAN("Q\0\0\0\6a");
    assert_false(next_ok(&framer, &in).ready); /* up to 6: whole */
    in = DSQL_SPAN("\0Q\0\0\0\7a");
    assert_true(next_ok(&framer, &in).last);
    struct dsql_pg_piece piece = next_ok(&framer, &in); /* 7 and 8: as it comes */
    assert_true(piece.first && !piece.last);
    assert_span(piece.body, DSQL_SPAN("a"));
    in = DSQL_SPAN("b\0Q\0\0\0\11");
    piece = next_ok(&framer, &in);
    assert_true(!piece.first && piece.last);
    assert_span(piece.raw, DSQL_SPAN("b\0"));
    assert_int_equal(dsql_pg_framer_next(&framer, &in, &piece, NULL), DSQL_LIMIT);
    dsql_pg_framer_fini(&framer);
}

TEST(each_type_stands_once)
{
    for (int side = 0; side < 2; side++) {
        size_t count;
        const struct dsql_pg_type_info *types = dsql_pg_types((enum dsql_pg_side)side, &count);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < i; j++)
                assert_int_not_equal(types[i].type, types[j].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_bytes_are_judged),
        cmocka_unit_test(a_message_in_one_read_is_not_copied),
        cmocka_unit_test(a_message_in_many_reads_comes_whole),
        cmocka_unit_test(an_empty_message_may_be_cut_too),
        cmocka_unit_test(a_long_row_passes_without_being_held),
        cmocka_unit_test(memory_follows_what_came_not_what_was_announced),
        cmocka_unit_test(a_short_message_is_held_in_no_more_than_it_needs),
        cmocka_unit_test(a_connection_goes_through_its_phases),
        cmocka_unit_test(a_startup_packet_in_parts_comes_whole),
        cmocka_unit_test(part_of_a_message_can_be_taken_back),
        cmocka_unit_test(limits_are_set_by_type),
        cmocka_unit_test(each_type_stands_once),
    };
    return cmocka_run_group_tests(tests, make_limits, NULL);
}
