/*
 * Writing a message field by field into a strbuf:
 *
 *     struct dsql_pg_msg msg = dsql_pg_msg_begin(out, DSQL_PG_FE_QUERY);
 *     dsql_pg_msg_text(&msg, sql);
 *     dsql_pg_msg_end(&msg);
 *
 * A message that does not fit, or cannot be said in the protocol (a NUL inside a text, more than
 * 65,535 elements, more than INT32_MAX bytes), leaves nothing behind but out->cut: the buffer holds
 * whole messages at all times, none follows a missing one, and one check before sending is enough.
 * Cutting a text short at a NUL instead would make another statement of it.
 */
#ifndef DSQL_PGWIRE_PUT_H
#define DSQL_PGWIRE_PUT_H

#include "base/strbuf.h"
#include "pgwire/lists.h"

struct dsql_pg_msg {
    struct dsql_strbuf *out;
    size_t start;     /* of the message in out */
    size_t length_at; /* where its length will stand */
};

/* type 0 for a startup packet, which has no type byte. */
struct dsql_pg_msg dsql_pg_msg_begin(struct dsql_strbuf *out, uint8_t type);
void dsql_pg_msg_end(struct dsql_pg_msg *msg);

void dsql_pg_msg_u8(struct dsql_pg_msg *msg, uint8_t value);
void dsql_pg_msg_u16(struct dsql_pg_msg *msg, uint16_t value);
void dsql_pg_msg_u32(struct dsql_pg_msg *msg, uint32_t value);
void dsql_pg_msg_bytes(struct dsql_pg_msg *msg, struct dsql_span bytes);

/* A terminated string. */
void dsql_pg_msg_text(struct dsql_pg_msg *msg, struct dsql_span text);

/* The 16-bit count in front of a list. */
void dsql_pg_msg_count(struct dsql_pg_msg *msg, size_t count);

/* Length and bytes, or NULL. */
void dsql_pg_msg_value(struct dsql_pg_msg *msg, struct dsql_pg_value value);

/* A list as it came from another message. */
void dsql_pg_msg_list(struct dsql_pg_msg *msg, uint16_t count, struct dsql_span raw);

/* A message without fields. */
void dsql_pg_put_empty(struct dsql_strbuf *out, uint8_t type);

/* A message of one text. */
void dsql_pg_put_text(struct dsql_strbuf *out, uint8_t type, struct dsql_span text);

#endif
