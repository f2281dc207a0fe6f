#include "local/front/aside.h"

#include "net/stream.h"
#include "pgwire/put_frontend.h"

enum { READ_CHUNK = 16 << 10, MESSAGE_MOST = 1 << 20 };

static void close_it(struct dsql_aside *aside)
{
    if (aside->watch.fd < 0)
        return;
    dsql_loop_close(&aside->watch);
    dsql_outbox_fini(&aside->out);
    dsql_pg_framer_fini(&aside->in);
    if (aside->busy) {
        aside->busy = false;
        aside->done(aside);
    }
}

static void flush(struct dsql_aside *aside)
{
    const struct dsql_stream stream = {aside->watch.fd, NULL};
    enum dsql_stream_state state =
        aside->out.bytes.cut ? DSQL_STREAM_ENDED : dsql_stream_write(stream, &aside->out);
    if (state == DSQL_STREAM_ENDED)
        close_it(aside);
    else
        dsql_loop_watch(aside->loop, &aside->watch,
                        EPOLLIN | EPOLLRDHUP | (state == DSQL_STREAM_WAITS ? EPOLLOUT : 0u));
}

static void take(struct dsql_aside *aside, const struct dsql_pg_piece *piece)
{
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (!(piece->first && piece->last) || dsql_pg_be_parse(piece->type, piece->body, &msg, &err))
        return;
    if (msg.type == DSQL_PG_BE_DATA_ROW && aside->hidden == 0)
        aside->row(aside, msg.row);
    if (msg.type != DSQL_PG_BE_READY)
        return;
    if (aside->hidden > 0) {
        aside->hidden--;
        return;
    }
    aside->busy = false;
    aside->done(aside);
}

static void ready(struct dsql_watch *watch, uint32_t events)
{
    static char chunk[READ_CHUNK]; /* one loop, one thread */
    struct dsql_aside *aside = DSQL_CONTAINER_OF(watch, struct dsql_aside, watch);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
        const struct dsql_stream stream = {watch->fd, NULL};
        size_t got;
        if (dsql_stream_read(stream, chunk, sizeof(chunk), &got) == DSQL_STREAM_ENDED) {
            close_it(aside);
            return;
        }
        struct dsql_span bytes = {chunk, got};
        struct dsql_pg_piece piece;
        struct dsql_err err;
        while (watch->fd >= 0) {
            if (dsql_pg_framer_next(&aside->in, &bytes, &piece, &err)) {
                close_it(aside);
                return;
            }
            if (!piece.ready)
                break;
            take(aside, &piece);
        }
    }
    if (watch->fd >= 0)
        flush(aside);
}

void dsql_aside_init(struct dsql_aside *aside, struct dsql_loop *loop,
                     const struct dsql_postgres *pg)
{
    *aside = (struct dsql_aside){.loop = loop, .pg = pg, .watch = {.fd = -1, .ready = ready}};
    dsql_pg_limits_session(&aside->limits, DSQL_PG_BACKEND, MESSAGE_MOST);
}

void dsql_aside_fini(struct dsql_aside *aside)
{
    aside->busy = false;
    close_it(aside);
}

bool dsql_aside_ask(struct dsql_aside *aside, struct dsql_span sql)
{
    if (aside->busy)
        return false;
    if (aside->watch.fd < 0) {
        int fd = dsql_postgres_connect(aside->pg, true);
        if (fd < 0)
            return false;
        aside->watch = (struct dsql_watch){.fd = fd, .ready = ready};
        dsql_outbox_init(&aside->out);
        dsql_pg_framer_init(&aside->in, &aside->limits);
        dsql_postgres_put_hello(aside->pg, &aside->out.bytes);
        aside->hidden = 1;
    }
    dsql_pg_put_query(&aside->out.bytes, sql);
    aside->busy = true;
    flush(aside);
    return true;
}
