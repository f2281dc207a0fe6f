/* Which answers a client is owed: what it sends and what it hears, letter by letter. */
#include "local/front/pipeline.h"
#include "support/test.h"

/*
 * Words of messages: > goes to PostgreSQL, < comes from it, in the letters of the protocol (so that
 * >E is Execute and <E an error). = says what is then expected: how many ends are owed, and q if
 * the pipeline is quiet, s if PostgreSQL skips, c if it reads data.
 */
static const struct {
    const char *name, *steps;
} cases[] = {
    {"a query", "=0q >Q =1 <T <D <C =1 <Z =0q"},
    {"a query that fails", ">Q <E =1 <Z =0q"},
    {"queries in one go", ">QQQ =3 <CZ <EZ =1 <IZ =0q"},
    {"the extended protocol", ">PBDES =1 <12T <DCZ =0q"},
    {"it is not quiet without its Sync", ">PBEH <12C =0 >S =1 <Z =0q"},
    {"portals", ">PBE <12s =0 >EDC <Cn3 =0 >S <Z =0q"},
    {"a description of a statement", ">PDS <1tnZ =0q"},
    {"an error skips the rest", ">PBDES <E =1 <Z =0q"},
    {"up to the first Sync", ">PBESPBES =2 <EZ =1 <12CZ =0q"},
    {"a query too", ">PQS =2 <E =1 <Z =0q"},
    {"several", ">PQQESPBES =4 <E =2 <Z <12CZ =0q"},
    {"not the query behind the Sync", ">PSQ <E =2 <Z =1 <CZ =0q"},
    {"not where the query fails", ">PQS <1 <E =2 <Z =1 <Z =0q"},
    {"what comes after the error", ">PH <E =0s >BEQQ =0s >S =1 <Z =0q"},
    {"an error of a query skips nothing", ">QPBES <EZ =1 <12CZ =0q"},
    {"COPY by a query", ">Q <G =1c >ddc =1 <CZ =0q"},
    {"and all at once", ">Qddc <GCZ =0q"},
    {"twice in a query", ">Qdcdc <GCGCZ =0q"},
    {"it fails while there are data", ">Q <G >d <EZ =0q >d =0q >c =0q"},
    {"and is not allowed", ">Qdf <EZ =0q"},
    {"a Sync among data is not answered", ">PBES =1 <12G =0c >dcS =1 <CZ =0q"},
    {"nor one that came before", ">PBESdcSCS =3 <12G =2 <CZ =1 <3Z =0q"},
    {"nor one that comes later", ">PBE <12G =0c >S =0c >dS =0c >cS =1 <CZ =0q"},
    {"COPY without a Sync in front", ">PBEdcS <12GCZ =0q"},
    {"COPY that fails", ">PBESdcSCS <12GE =2 <Z =1 <3Z =0q"},
    {"COPY that can't be", ">PBESdcSCS <12E =3 <Z <Z =1 <3Z =0q"},
    {"an end without a beginning", ">cPBES <12CZ =0q"},
    {"COPY to the client", ">PBES <12H <dc =1 <CZ =0q"},
    {"more than was expected", ">PBES <12CZ <Z =0q >Q =1 <Z =0q"},
};

static void expect(const struct dsql_pipeline *pipeline, const char *name, const char *state)
{
    bool quiet = state[1] == 'q', skips = state[1] == 's', copies = state[1] == 'c';
    if (pipeline->ends != (uint64_t)(state[0] - '0') || dsql_pipeline_is_quiet(pipeline) != quiet ||
        pipeline->skipping != skips || pipeline->copying != copies)
        fail_msg("%s: at =%s it owes %llu%s%s%s", name, state, (unsigned long long)pipeline->ends,
                 dsql_pipeline_is_quiet(pipeline) ? ", quiet" : "",
                 pipeline->skipping ? ", skipping" : "", pipeline->copying ? ", copying" : "");
}

static void run(const char *name, const char *steps)
{
    struct dsql_pipeline pipeline = {0};
    char mode = '>';
    for (const char *at = steps; *at; at++) {
        if (*at == '>' || *at == '<' || *at == '=')
            mode = *at;
        else if (mode == '>' && *at != ' ')
            assert_true(dsql_pipeline_sent(&pipeline, (uint8_t)*at));
        else if (mode == '<' && *at != ' ')
            dsql_pipeline_heard(&pipeline, (uint8_t)*at);
        if (mode == '=' && *at == '=')
            expect(&pipeline, name, at + 1);
    }
    dsql_pipeline_fini(&pipeline);
}

TEST(every_case)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        run(cases[i].name, cases[i].steps);
}

/* Ends are counted from the beginning whether they were answered or not, and the memory of a
 * client that never waits does not grow with what was answered. */
TEST(a_client_that_never_waits)
{
    struct dsql_pipeline pipeline = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(dsql_pipeline_sent(&pipeline, 'Q'));
    for (int i = 0; i < 100000; i++) {
        assert_true(dsql_pipeline_sent(&pipeline, i % 2 ? 'P' : 'Q'));
        assert_true(dsql_pipeline_sent(&pipeline, i % 2 ? 'S' : 'Q'));
        dsql_pipeline_heard(&pipeline, 'E');
        dsql_pipeline_heard(&pipeline, 'Z');
    }
    assert_int_equal(pipeline.ends + pipeline.passed, 1000 + 150000);
    assert_true(pipeline.room < (size_t)1 << 20);
    dsql_pipeline_fini(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        cmocka_unit_test(a_client_that_never_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
