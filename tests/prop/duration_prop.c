/* Every duration survives being written and read. */
#include "base/duration.h"
#include "support/prop.h"
#include "support/test.h"

static bool round_trips(struct prop *p)
{
    int64_t ns = (int64_t)prop_any_u64(p), back = 0;
    ns = prop_below(p, 2) ? (ns == INT64_MIN ? ns : -ns) : ns;
    STRBUF(text, DSQL_DURATION_TEXT_MAX);
    dsql_duration_format(&text, ns);
    return prop_that(p, !text.cut, "%lld is longer than DSQL_DURATION_TEXT_MAX", (long long)ns) &&
           prop_that(p, dsql_duration_parse(dsql_strbuf_span(&text), &back), "%s can't be read",
                     text.ptr) &&
           prop_that(p, back == ns, "%lld became %s and then %lld", (long long)ns, text.ptr,
                     (long long)back);
}

/* Any text either is refused or means what the sum of its parts means. */
static bool any_text_is_safe(struct prop *p)
{
    static const char alphabet[] = "0159.hmsun-+ x";
    char text[24];
    size_t len = (size_t)prop_below(p, sizeof(text));
    for (size_t i = 0; i < len; i++)
        text[i] = alphabet[prop_below(p, sizeof(alphabet) - 1)];
    int64_t ns = 42, again = 0;
    if (!dsql_duration_parse((struct dsql_span){text, len}, &ns))
        return prop_that(p, ns == 42, "refused, but changed to %lld", (long long)ns);
    STRBUF(shown, DSQL_DURATION_TEXT_MAX);
    dsql_duration_format(&shown, ns);
    return prop_that(p, dsql_duration_parse(dsql_strbuf_span(&shown), &again) && again == ns,
                     "'%.*s' became %s", (int)len, text, shown.ptr);
}

TEST(round_trip)
{
    prop_run("durations round-trip", round_trips, 20000);
}
TEST(any_text)
{
    prop_run("any text is safe", any_text_is_safe, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(any_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
