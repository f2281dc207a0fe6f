/* cmocka with the headers it wants, and what most tests share. */
#ifndef DSQL_TESTS_TEST_H
#define DSQL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/span.h"
#include "base/strbuf.h"

/* A test function that uses nothing cmocka passes in. */
#define TEST(name) static void name(void **state __attribute__((unused)))

/* A strbuf over memory of its own. */
#define STRBUF(name, size)                                                                         \
    char name##_memory[size];                                                                      \
    struct dsql_strbuf name;                                                                       \
    dsql_strbuf_init(&name, name##_memory, sizeof(name##_memory))

/* The bytes, not the place of them. */
static inline void assert_span(struct dsql_span got, struct dsql_span want)
{
    assert_int_equal(got.len, want.len);
    assert_memory_equal(got.ptr, want.ptr, want.len);
}

#endif
