#include "tx/verb.h"

#include "base/defs.h"
#include "support/test.h"

TEST(the_first_words_tell)
{
    static const struct {
        const char *sql;
        enum dsql_verb verb;
    } rows[] = {
        {"", DSQL_VERB_OTHER},
        {"SELECT 1", DSQL_VERB_OTHER},
        {"WITH a AS (INSERT INTO t VALUES (1)) UPDATE t SET v = 1", DSQL_VERB_OTHER},
        {"insert into t values (1)", DSQL_VERB_COUNTED},
        {"UPDATE t SET v = 1", DSQL_VERB_COUNTED},
        {"Delete\tFROM t", DSQL_VERB_COUNTED},
        {"merge into t", DSQL_VERB_COUNTED},
        {"COMMIT", DSQL_VERB_CONTROL},
        {"commit;", DSQL_VERB_CONTROL},
        {"commit and chain", DSQL_VERB_CONTROL},
        {"commits", DSQL_VERB_OTHER},
        {"commit_", DSQL_VERB_OTHER},
        {"END", DSQL_VERB_CONTROL},
        {"begin", DSQL_VERB_CONTROL},
        {"START TRANSACTION", DSQL_VERB_CONTROL},
        {"abort", DSQL_VERB_CONTROL},
        {"ROLLBACK TO a", DSQL_VERB_CONTROL},
        {" ;\n\t; COMMIT", DSQL_VERB_CONTROL},
        {"-- a\nCOMMIT", DSQL_VERB_CONTROL},
        {"-- COMMIT", DSQL_VERB_OTHER},
        {"-- a\rCOMMIT", DSQL_VERB_CONTROL},
        {"/* a /* b */ c */COMMIT", DSQL_VERB_CONTROL},
        {"/* a */ -- b\n /**/ commit/* c */", DSQL_VERB_CONTROL},
        {"/* COMMIT", DSQL_VERB_OTHER},
        {"/*/ COMMIT", DSQL_VERB_OTHER},
        {"PREPARE transaction 'a'", DSQL_VERB_CONTROL},
        {"PREPARE/* a */TRANSACTION 'a'", DSQL_VERB_CONTROL},
        {"PREPARE a AS SELECT 1", DSQL_VERB_OTHER},
        {"copy t to stdout", DSQL_VERB_COPY},
        {"COPY(SELECT 1) TO STDOUT", DSQL_VERB_COPY},
        {"DEALLOCATE ALL", DSQL_VERB_FORGET},
        {"deallocate prepare all", DSQL_VERB_FORGET},
        {"DEALLOCATE a", DSQL_VERB_OTHER},
        {"DISCARD ALL", DSQL_VERB_FORGET},
        {"DISCARD PLANS", DSQL_VERB_OTHER},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        if (dsql_verb_of(rows[i].sql) != rows[i].verb)
            fail_msg("'%s' is %d", rows[i].sql, (int)dsql_verb_of(rows[i].sql));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_words_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
