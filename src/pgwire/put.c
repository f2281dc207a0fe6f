#include "pgwire/put.h"

struct dsql_pg_msg dsql_pg_msg_begin(struct dsql_strbuf *out, uint8_t type)
{
    struct dsql_pg_msg msg = {.out = out, .start = out->len};
    if (type)
        dsql_pg_msg_u8(&msg, type);
    msg.length_at = out->len;
    dsql_pg_msg_u32(&msg, 0);
    return msg;
}

static void write_u32(char *at, uint32_t value)
{
    for (int i = 3; i >= 0; i--, value >>= 8)
        at[i] = (char)(uint8_t)value;
}

void dsql_pg_msg_end(struct dsql_pg_msg *msg)
{
    struct dsql_strbuf *out = msg->out;
    size_t length = out->len - msg->length_at;
    if (length > INT32_MAX)
        out->cut = true;
    if (!out->cut) {
        write_u32(out->ptr + msg->length_at, (uint32_t)length);
    } else if (out->len > msg->start) {
        out->len = msg->start;
        out->ptr[out->len] = '\0';
    }
}

void dsql_pg_msg_u8(struct dsql_pg_msg *msg, uint8_t value)
{
    dsql_strbuf_add_char(msg->out, (char)value);
}

void dsql_pg_msg_u16(struct dsql_pg_msg *msg, uint16_t value)
{
    char bytes[2] = {(char)(uint8_t)(value >> 8), (char)(uint8_t)value};
    dsql_strbuf_add(msg->out, (struct dsql_span){bytes, sizeof(bytes)});
}

void dsql_pg_msg_u32(struct dsql_pg_msg *msg, uint32_t value)
{
    char bytes[4];
    write_u32(bytes, value);
    dsql_strbuf_add(msg->out, (struct dsql_span){bytes, sizeof(bytes)});
}

void dsql_pg_msg_bytes(struct dsql_pg_msg *msg, struct dsql_span bytes)
{
    dsql_strbuf_add(msg->out, bytes);
}

void dsql_pg_msg_text(struct dsql_pg_msg *msg, struct dsql_span text)
{
    if (text.len > 0 && memchr(text.ptr, '\0', text.len))
        msg->out->cut = true;
    dsql_strbuf_add(msg->out, text);
    dsql_pg_msg_u8(msg, '\0');
}

void dsql_pg_msg_count(struct dsql_pg_msg *msg, size_t count)
{
    if (count > UINT16_MAX)
        msg->out->cut = true;
    dsql_pg_msg_u16(msg, (uint16_t)count);
}

void dsql_pg_msg_value(struct dsql_pg_msg *msg, struct dsql_pg_value value)
{
    if (value.is_null) {
        dsql_pg_msg_u32(msg, UINT32_MAX);
        return;
    }
    if (value.bytes.len > INT32_MAX)
        msg->out->cut = true;
    dsql_pg_msg_u32(msg, (uint32_t)value.bytes.len);
    dsql_pg_msg_bytes(msg, value.bytes);
}

void dsql_pg_msg_list(struct dsql_pg_msg *msg, uint16_t count, struct dsql_span raw)
{
    dsql_pg_msg_u16(msg, count);
    dsql_pg_msg_bytes(msg, raw);
}

void dsql_pg_put_empty(struct dsql_strbuf *out, uint8_t type)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, type);
    dsql_pg_msg_end(&msg);
}

void dsql_pg_put_text(struct dsql_strbuf *out, uint8_t type, struct dsql_span text)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(out, type);
    dsql_pg_msg_text(&msg, text);
    dsql_pg_msg_end(&msg);
}
