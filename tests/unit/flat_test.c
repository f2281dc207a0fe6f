/* Values behind each other in one piece of memory. */
#include "base/flat.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* What is put comes back, in its order and in place: bytes, nothing, and NULL. */
static void what_is_put_comes_back(void **state)
{
    (void)state;
    unsigned char *data = NULL;
    size_t cap = 0, len = 0, at = 0;
    const char *texts[] = {"abc", "", NULL, "d"};
    for (size_t i = 0; i < DSQL_COUNT_OF(texts); i++) {
        size_t size = texts[i] ? strlen(texts[i]) : 0;
        assert_true(dsql_flat_reserve(&data, &cap, len + dsql_flat_size(size)));
        len += dsql_flat_put(data + len, texts[i], size);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(texts); i++) {
        struct dsql_slice value;
        at += dsql_flat_get(data + at, &value);
        if (!texts[i]) {
            assert_null(value.ptr);
            assert_int_equal(value.len, 0);
            continue;
        }
        assert_int_equal(value.len, strlen(texts[i]));
        assert_memory_equal(value.ptr, texts[i], value.len);
    }
    assert_int_equal(at, len);
    free(data);
}

/* It grows, and keeps what it had. */
static void it_grows(void **state)
{
    (void)state;
    unsigned char *data = NULL;
    size_t cap = 0, len = 0, at = 0;
    for (int64_t i = 0; i < 10000; i++) {
        assert_true(dsql_flat_reserve(&data, &cap, len + dsql_flat_size(sizeof(i))));
        len += dsql_flat_put(data + len, &i, sizeof(i));
    }
    for (int64_t i = 0, number; i < 10000; i++) {
        struct dsql_slice value;
        at += dsql_flat_get(data + at, &value);
        memcpy(&number, value.ptr, sizeof(number));
        assert_int_equal(number, i);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_comes_back),
        cmocka_unit_test(it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
