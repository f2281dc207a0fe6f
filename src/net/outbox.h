/* Bytes waiting to be sent: filled as a strbuf, drained from the front, owning nothing when empty.
 */
#ifndef DSQL_NET_OUTBOX_H
#define DSQL_NET_OUTBOX_H

#include "base/strbuf.h"

enum {
    DSQL_OUTBOX_MAX = 64 << 20,
    DSQL_OUTBOX_FULL = 256 << 10, /* above, the other side is not read any more */
};

struct dsql_outbox {
    struct dsql_strbuf bytes;
    size_t sent;
};

static inline void dsql_outbox_init(struct dsql_outbox *box)
{
    dsql_strbuf_init_heap(&box->bytes, DSQL_OUTBOX_MAX);
    box->sent = 0;
}

static inline void dsql_outbox_fini(struct dsql_outbox *box)
{
    dsql_strbuf_fini(&box->bytes);
    box->sent = 0;
}

static inline struct dsql_span dsql_outbox_waiting(const struct dsql_outbox *box)
{
    return dsql_span_from(dsql_strbuf_span(&box->bytes), box->sent);
}

static inline bool dsql_outbox_is_full(const struct dsql_outbox *box)
{
    return dsql_outbox_waiting(box).len > DSQL_OUTBOX_FULL;
}

/* n more bytes are on their way. */
static inline void dsql_outbox_sent(struct dsql_outbox *box, size_t n)
{
    box->sent += n;
    assert(box->sent <= box->bytes.len);
    if (box->sent == box->bytes.len)
        dsql_outbox_fini(box);
}

#endif
