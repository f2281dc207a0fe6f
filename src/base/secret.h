/*
 * A secret: keys, session tokens, passwords. It is wiped when freed and compared without telling
 * how far two values agree. The only way to the bytes is dsql_secret_reveal(), so that a search
 * finds every place where one leaves its type.
 *
 * What compiles and what does not: neither a secret, nor a pointer to one, nor what
 * dsql_secret_reveal() returns is taken by DSQL_F or by a function that takes a span. One has to
 * write dsql_revealed_span(), or the member ptr, and from there on the bytes are text like any
 * other.
 */
#ifndef DSQL_BASE_SECRET_H
#define DSQL_BASE_SECRET_H

#include "base/span.h"

struct dsql_secret {
    char *bytes_; /* hands off: use dsql_secret_reveal() */
    size_t len_;
};

/* All zero is an empty secret. */

/* Replaces the value with a copy of s. On DSQL_NO_MEMORY the old value stays. */
DSQL_MUST_USE enum dsql_rc dsql_secret_set(struct dsql_secret *secret, struct dsql_span s);

/* Wipes and frees; the secret is empty afterwards and may be used again. */
void dsql_secret_fini(struct dsql_secret *secret);

static inline bool dsql_secret_is_empty(const struct dsql_secret *secret)
{
    return secret->len_ == 0;
}

/* The bytes of a secret, terminated too; they live until it changes. */
struct dsql_revealed {
    const char *ptr;
    size_t len;
};

static inline struct dsql_revealed dsql_secret_reveal(const struct dsql_secret *secret)
{
    return (struct dsql_revealed){secret->len_ ? secret->bytes_ : "", secret->len_};
}

/* For what has to work on the bytes: signing, sending, comparing. Never for what is shown. */
static inline struct dsql_span dsql_revealed_span(struct dsql_revealed revealed)
{
    return (struct dsql_span){revealed.ptr, revealed.len};
}

/* In time that depends on the lengths only. */
bool dsql_secret_eq(const struct dsql_secret *a, const struct dsql_secret *b);
bool dsql_span_eq_secretly(struct dsql_span a, struct dsql_span b);

#endif
