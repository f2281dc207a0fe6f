#include "cli/promql.h"

#include "support/test.h"

static const struct dsql_promql_scope none = {"", ""};
static const struct dsql_promql_scope one = {"service=\"a\"", "operation=\"b\""};

static void expands_to(const char *query, const struct dsql_promql_scope *scope, const char *wanted)
{
    STRBUF(out, 512);
    struct dsql_err err = {0};
    if (dsql_promql_add(&out, query, scope, &err))
        fail_msg("%s: %s", query, err.message);
    assert_string_equal(out.ptr, wanted);
}

TEST(symbols_become_names)
{
    expands_to("1 + vector(0)", &one, "1 + vector(0)");
    expands_to("", &one, "");
    expands_to("@reservoir_size", &none, "dsql_reservoir_size");
    expands_to("@reservoir_size/@reservoir_target", &none,
               "dsql_reservoir_size/dsql_reservoir_target");
    expands_to("rate(@reservoir_empty[5m]) > 0", &one,
               "rate(dsql_reservoir_empty_total{service=\"a\"}[5m]) > 0");
    expands_to("@tx_conflicts", &one, "dsql_tx_conflicts_total{service=\"a\",operation=\"b\"}");
    expands_to("@pool_wait_duration:bucket", &none, "dsql_pool_wait_duration_bucket");
    expands_to("@tx_backoff:sum / @tx_backoff:count", &none,
               "dsql_tx_backoff_seconds_sum / dsql_tx_backoff_seconds_count");
}

TEST(label_values_become_matchers)
{
    expands_to("@reservoir_discards{reason=drain}", &none,
               "dsql_reservoir_discards_total{reason=\"drain\"}");
    expands_to("@reservoir_discards{reason!=drain}[5m]", &none,
               "dsql_reservoir_discards_total{reason!=\"drain\"}[5m]");
    expands_to("@reservoir_discards{reason=broken|drain}", &one,
               "dsql_reservoir_discards_total{reason=~\"broken|drain\",service=\"a\"}");
    expands_to("@reservoir_discards{reason!=broken|drain}", &none,
               "dsql_reservoir_discards_total{reason!~\"broken|drain\"}");
    expands_to("@tx_retries{sqlstate=08006}", &none, "dsql_tx_retries_total{sqlstate=\"08006\"}");
    expands_to("@tx_retries{attempt=2}", &none, "dsql_tx_retries_total{attempt=\"2\"}");
}

TEST(what_is_not_in_the_tables_is_refused)
{
    static const struct {
        const char *query, *says;
    } cases[] = {
        {"@reservoir_sise", "'reservoir_sise' is no metric"},
        {"@", "'' is no metric"},
        {"rate(@dsql_reservoir_size[5m])", "'dsql_reservoir_size' is no metric"},
        {"@pool_wait_duration", "'' is no part"},
        {"@pool_wait_duration:bukket", "'bukket' is no part"},
        {"@reservoir_size:sum", "'sum' is no part"},
        {"@reservoir_discards{reason=broke}", "no reason=broke"},
        {"@reservoir_discards{reason=broken|}", "no reason="},
        {"@reservoir_discards{reason=rate_limit}", "no reason=rate_limit"}, /* of another metric */
        {"@reservoir_discards{raisin=broken}", "no raisin=broken"},
        {"@reservoir_size{reason=broken}", "no reason=broken"},
        {"@tx_retries{sqlstate=1}", "no sqlstate=1"}, /* of the other label of the pair */
        {"@reservoir_discards{reason=broken", "without '}'"},
        {"@reservoir_discards{}", "no ="},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(out, 512);
        struct dsql_err err = {0};
        assert_int_equal(dsql_promql_add(&out, cases[i].query, &one, &err), DSQL_INVALID);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].query, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_become_names),
        cmocka_unit_test(label_values_become_matchers),
        cmocka_unit_test(what_is_not_in_the_tables_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
