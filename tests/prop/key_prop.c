/* Keys as text: they come back as they were, keep their order, and are text that PostgreSQL takes.
 */
#include "base/utf8.h"
#include "support/prop.h"
#include "support/test.h"
#include "temporal/key.h"

enum { LEN_MAX = 40 };

struct bytes {
    char data[LEN_MAX];
    size_t len;
};

/* Often the same few bytes, so that prefixes and near misses happen. */
static struct bytes draw(struct prop *p)
{
    static const unsigned char few[] = {0x00, 0x01, 0x02, 0x7f, 0x80, 0xbf, 0xc0, 0xff, 'a'};
    struct bytes b = {.len = prop_below(p, LEN_MAX + 1)};
    bool narrow = prop_below(p, 2) == 0;
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = (char)(narrow ? few[prop_below(p, sizeof(few))] : prop_below(p, 256));
    return b;
}

static struct dsql_span span(const struct bytes *b)
{
    return (struct dsql_span){b->data, b->len};
}

static int compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    int by_len = a_len < b_len ? -1 : a_len > b_len;
    return order ? (order < 0 ? -1 : 1) : by_len;
}

static bool round_trips(struct prop *p)
{
    struct bytes b = draw(p);
    char text[2 * LEN_MAX], back[2 * LEN_MAX];
    size_t len = 0, size = dsql_key_size(span(&b));
    dsql_key_encode(span(&b), text);
    return prop_that(p, dsql_key_decode((struct dsql_span){text, size}, back, &len),
                     "undecodable") &&
           prop_that(p, len == b.len && memcmp(back, b.data, len) == 0, "another value");
}

static bool keeps_order(struct prop *p)
{
    struct bytes a = draw(p), b = draw(p);
    char text_a[2 * LEN_MAX], text_b[2 * LEN_MAX];
    if (prop_below(p, 3) == 0) { /* a beginning of the other */
        b = a;
        b.len = prop_below(p, a.len + 1);
    }
    dsql_key_encode(span(&a), text_a);
    dsql_key_encode(span(&b), text_b);
    return prop_that(p,
                     compare(a.data, a.len, b.data, b.len) ==
                         compare(text_a, dsql_key_size(span(&a)), text_b, dsql_key_size(span(&b))),
                     "another order");
}

static bool is_text(struct prop *p)
{
    struct bytes b = draw(p);
    char text[2 * LEN_MAX];
    size_t size = dsql_key_size(span(&b));
    dsql_key_encode(span(&b), text);
    for (size_t at = 0; at < size;) {
        size_t len = dsql_utf8_len((struct dsql_span){text + at, size - at});
        if (!prop_that(p, len > 0 && text[at] != 0, "no text at %zu", at))
            return false;
        at += len;
    }
    return true;
}

/* What is decoded is what encode() makes: two texts never mean the same key. */
static bool decodes_nothing_else(struct prop *p)
{
    struct bytes text = draw(p);
    char back[LEN_MAX], again[2 * LEN_MAX];
    size_t len;
    if (!dsql_key_decode(span(&text), back, &len))
        return true;
    dsql_key_encode((struct dsql_span){back, len}, again);
    return prop_that(p,
                     dsql_key_size((struct dsql_span){back, len}) == text.len &&
                         memcmp(again, text.data, text.len) == 0,
                     "a second form");
}

TEST(key_round_trips)
{
    prop_run("a key comes back as it was", round_trips, 20000);
}
TEST(key_keeps_order)
{
    prop_run("keys keep their order", keeps_order, 20000);
}
TEST(key_is_text)
{
    prop_run("a key is UTF-8 without zeros", is_text, 20000);
}
TEST(key_has_one_form)
{
    prop_run("a key has one form", decodes_nothing_else, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_round_trips),
        cmocka_unit_test(key_keeps_order),
        cmocka_unit_test(key_is_text),
        cmocka_unit_test(key_has_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
