/* Passwords of the proxy's clients: SCRAM-SHA-256 and the users file. */
#include <stdio.h>

#include "proxy/users.h"
#include "support/test.h"

/* Salt, password "pencil" and the client's nonce are those of RFC 7677; the name is empty, as libpq
 * sends it. The proofs were computed with Python's hashlib. */
#define VERIFIER                                                                                   \
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"    \
    "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
#define SERVERS "%hvYDpWUa2RaTCAfuxFIlj)h"
#define NONCE   "rOprNGfwEbeRWgbNEkqO" SERVERS
#define BARE    "n=,r=rOprNGfwEbeRWgbNEkqO"
#define PROOF_N "fYWhsZD1j0kbaGJ0u8xvoSU7KZgn+mYtAvISn13qfu8="
#define PROOF_Y "pL4pXgZ37cyDB/9LPKRbenWTeHzhK4rOXlcWAp2sZ1o="

static const struct {
    const char *first, *last, *answer; /* NULL: refused */
} exchanges[] = {
    {"n,," BARE, "c=biws,r=" NONCE ",p=" PROOF_N, "v=hV69dnfNwe4BjNaaM5dP/Zcv2fIB8d+BSzMbm64cBJ8="},
    {"y,," BARE, "c=eSws,r=" NONCE ",p=" PROOF_Y, "v=o/nY0InU156kKHp8QDyLCVGOvOb/LsFyME0Eyl2//Tk="},
    {"n,," BARE, "c=biws,r=" NONCE ",p=" PROOF_Y, NULL},
    {"y,," BARE, "c=biws,r=" NONCE ",p=" PROOF_N, NULL}, /* the flag was changed under way */
    {"n,," BARE, "c=biws,r=rOprNGfwEbeRWgbNEkqO,p=" PROOF_N, NULL}, /* without our nonce */
    {"n,," BARE, "c=biws,r=" NONCE ",p=AAAA", NULL},
    {"n,," BARE, "c=biws,r=" NONCE ",p=", NULL},
    {"n,," BARE, "c=biws,r=" NONCE, NULL},
    {"n,," BARE, "c=biws,r=" NONCE ",p=" PROOF_N ",x=y", NULL},
    {"n,," BARE, "", NULL},
    {"p=tls-unique,," BARE, "c=biws,r=" NONCE ",p=" PROOF_N, NULL},
    {"n,a=other," BARE, "c=biws,r=" NONCE ",p=" PROOF_N, NULL},
    {"n,,n=,r=", "c=biws,r=" SERVERS ",p=" PROOF_N, NULL},
    {"n,,r=x,n=", "c=biws,r=x" SERVERS ",p=" PROOF_N, NULL},
    {"n", "c=biws,r=" NONCE ",p=" PROOF_N, NULL},
    {"", "c=biws,r=" NONCE ",p=" PROOF_N, NULL},
};

TEST(only_the_right_proof_is_taken)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(exchanges); i++) {
        struct dsql_scram_verifier verifier;
        struct dsql_scram scram;
        struct dsql_strbuf reply;
        char memory[1024];
        assert_true(dsql_scram_verifier_parse(dsql_span_of(VERIFIER), &verifier));
        dsql_scram_init(&scram, &verifier);
        assert_int_equal(strlen(scram.nonce), DSQL_SCRAM_NONCE);
        memcpy(scram.nonce, SERVERS, sizeof(SERVERS));
        dsql_strbuf_init(&reply, memory, sizeof(memory));
        bool ok = dsql_scram_first(&scram, dsql_span_of(exchanges[i].first), &reply);
        dsql_strbuf_clear(&reply);
        ok = ok && dsql_scram_final(&scram, dsql_span_of(exchanges[i].last), &reply);
        assert_int_equal(ok, exchanges[i].answer != NULL);
        if (ok)
            assert_string_equal(reply.ptr, exchanges[i].answer);
        dsql_scram_fini(&scram);
    }
}

TEST(a_users_file_is_read_as_pgbouncer_writes_it)
{
    struct dsql_users users;
    struct dsql_err err;
    struct dsql_scram_verifier verifier, again;
    assert_int_equal(dsql_users_parse(DSQL_SPAN("; a comment\n\n"
                                                "\"clear\" \"a \"\"quoted\"\" word\" \"more\"\r\n"
                                                "  \"stored\"   \"" VERIFIER "\"\n"),
                                      &users, &err),
                     DSQL_OK);
    assert_int_equal(users.count, 2);
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("stored"), &verifier));
    assert_int_equal(verifier.iterations, 4096);
    assert_memory_equal(verifier.salt, "\x5b\x6d\x99\x68", 4);
    assert_int_equal(users.users[0].password.len_, 15);
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("clear"), &verifier));
    assert_true(dsql_secret_is_empty(&users.users[0].password)); /* not kept longer than needed */
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("clear"), &again));
    assert_memory_equal(verifier.salt, again.salt, 16);
    dsql_users_fini(&users);
}

/* A user that does not exist is answered as one that does: the same salt each time, no proof. */
TEST(a_user_that_does_not_exist_is_not_told_from_one_that_does)
{
    struct dsql_users users;
    struct dsql_err err;
    struct dsql_scram_verifier one, again, other;
    assert_int_equal(dsql_users_parse(DSQL_SPAN(""), &users, &err), DSQL_OK);
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("nobody"), &one));
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("nobody"), &again));
    assert_true(dsql_users_verifier(&users, DSQL_SPAN("somebody"), &other));
    assert_int_equal(one.iterations, DSQL_SCRAM_ITERATIONS);
    assert_memory_equal(one.salt, again.salt, 16);
    assert_memory_not_equal(one.salt, other.salt, 16);
    assert_memory_not_equal(one.stored_key, again.stored_key, DSQL_SCRAM_KEY);
    dsql_users_fini(&users);
}

TEST(what_is_no_users_file_is_refused_without_telling_what_is_in_it)
{
    static const char *const wrong[] = {
        "name password\n",
        "\"name\"\n",
        "\"name\" \"hush-hush\n",
        "\"name\" \"\"\n",
        "\"\" \"hush-hush\"\n",
        "\"name\" \"md5000102030405060708090a0b0c0d0e0f\"\n",
        "\"name\" \"SCRAM-SHA-256$0:hush\"\n",
        "\"name\" \"hush-hush\"\n\"name\" \"other\"\n",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(wrong); i++) {
        struct dsql_users users;
        struct dsql_err err;
        assert_int_equal(dsql_users_parse(dsql_span_of(wrong[i]), &users, &err), DSQL_INVALID);
        assert_null(strstr(err.message, "hush"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_right_proof_is_taken),
        cmocka_unit_test(a_users_file_is_read_as_pgbouncer_writes_it),
        cmocka_unit_test(a_user_that_does_not_exist_is_not_told_from_one_that_does),
        cmocka_unit_test(what_is_no_users_file_is_refused_without_telling_what_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
