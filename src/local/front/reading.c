#include "local/front/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"
#include "local/front/front.h"
#include "pgwire/frontend.h"

/* For the parser and the deepest text that is read at all. */
#define STACK_BYTES ((size_t)16 << 20)

static void free_now(struct dsql_deferred_free *ending)
{
    struct dsql_reading *reading = DSQL_CONTAINER_OF(ending, struct dsql_reading, ending);
    dsql_sql_script_unref(reading->script);
    dsql_strbuf_fini(&reading->query.sql);
    free(reading->message);
    free(reading->rest);
    free(reading);
}

/* A session may end while its message is looked at: the memory stays until the turn is over. */
static void free_reading(struct dsql_reading *reading)
{
    struct dsql_loop *loop = &reading->all->front->loop;
    dsql_loop_stop(loop, &reading->portion);
    dsql_loop_free_later(loop, &reading->ending, free_now);
}

static void *read_text(void *arg)
{
    struct dsql_reading *reading = arg;
    struct dsql_readings *all = reading->all;
    reading->rc = dsql_sql_script_new_as(reading->text, reading->dialect, &reading->script);
    dsql_lock(&all->lock);
    reading->next = all->finished;
    all->finished = reading;
    dsql_unlock(&all->lock);
    ssize_t written;
    do
        written = write(all->done_watch.fd, &(uint64_t){1}, sizeof(uint64_t));
    while (written < 0 && errno == EINTR);
    return NULL;
}

static bool start_thread(struct dsql_reading *reading)
{
    bool started = !dsql_thread_start(&reading->thread, STACK_BYTES, read_text, reading);
    reading->with_thread = started;
    reading->all->threads += started;
    return started;
}

/* Without a thread the string is read here, however long that takes. */
static void read_here(struct dsql_reading *reading)
{
    reading->rc = dsql_sql_script_new_as(reading->text, reading->dialect, &reading->script);
    reading->read = true;
}

/* The message goes its way: to its end, or until its next portion. */
static void pass_on(struct dsql_reading *reading)
{
    struct dsql_session *session = reading->session;
    dsql_front_relay_read(session, reading);
    if (session->reading != reading || dsql_heap_node_is_in(&reading->portion.node))
        return; /* the session is closed, or there is another portion */
    session->reading = NULL;
    reading->session = NULL;
    dsql_session_go_on(session, (struct dsql_span){reading->rest, reading->rest_len});
    free_reading(reading);
}

static void next_portion(struct dsql_timer *timer)
{
    pass_on(DSQL_CONTAINER_OF(timer, struct dsql_reading, portion));
}

void dsql_reading_go_on(struct dsql_reading *reading)
{
    if (dsql_loop_start(&reading->all->front->loop, &reading->portion, 0))
        dsql_session_drop(reading->session, "out of memory");
}

static void start_waiting(struct dsql_readings *all)
{
    while (all->waiting && all->threads < DSQL_READING_THREADS) {
        struct dsql_reading *reading = all->waiting;
        all->waiting = reading->next;
        reading->next = NULL;
        if (!reading->session) {
            free_reading(reading);
        } else if (!start_thread(reading)) {
            read_here(reading);
            dsql_reading_go_on(reading);
        }
    }
}

/* Joins the threads that are done; gives their readings back as a list. */
static struct dsql_reading *take_finished(struct dsql_readings *all)
{
    dsql_lock(&all->lock);
    struct dsql_reading *list = all->finished;
    all->finished = NULL;
    dsql_unlock(&all->lock);
    for (struct dsql_reading *at = list; at; at = at->next) {
        (void)pthread_join(at->thread, NULL);
        at->with_thread = false;
        at->read = true;
        all->threads--;
    }
    return list;
}

static void threads_done(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_readings *all = DSQL_CONTAINER_OF(watch, struct dsql_readings, done_watch);
    uint64_t count;
    (void)events;
    (void)!read(watch->fd, &count, sizeof(count));
    for (struct dsql_reading *at = take_finished(all), *next; at; at = next) {
        next = at->next;
        at->next = NULL;
        if (at->script)
            dsql_sql_cache_put(&all->front->cache, at->script);
        if (at->session)
            pass_on(at);
        else
            free_reading(at);
    }
    start_waiting(all);
}

enum dsql_rc dsql_readings_init(struct dsql_readings *all, struct dsql_front *front,
                                struct dsql_err *err)
{
    *all = (struct dsql_readings){
        .front = front,
        .done_watch = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = threads_done},
        .lock = PTHREAD_MUTEX_INITIALIZER};
    if (all->done_watch.fd < 0)
        return dsql_err_set(err, DSQL_IO, "eventfd: %s", strerror(errno));
    dsql_loop_watch(&front->loop, &all->done_watch, EPOLLIN);
    return DSQL_OK;
}

void dsql_readings_fini(struct dsql_readings *all)
{
    if (!all->front)
        return;
    while (all->waiting) {
        struct dsql_reading *reading = all->waiting;
        all->waiting = reading->next;
        free_reading(reading);
    }
    struct pollfd any = {.fd = all->done_watch.fd, .events = POLLIN};
    while (all->threads > 0) {
        uint64_t count;
        (void)dsql_clock_poll(all->front->options->clock, &any, 1, (struct dsql_mono){INT64_MAX});
        (void)!read(all->done_watch.fd, &count, sizeof(count));
        for (struct dsql_reading *at = take_finished(all), *next; at; at = next) {
            next = at->next;
            free_reading(at);
        }
    }
    dsql_loop_close(&all->done_watch);
}

/* The query string of a Query or a Parse. */
static bool text_of(const struct dsql_pg_piece *piece, struct dsql_span *text)
{
    struct dsql_pg_fe msg;
    struct dsql_err err;
    bool has_text = piece->type == DSQL_PG_FE_QUERY || piece->type == DSQL_PG_FE_PARSE;
    if (!has_text || piece->raw.len <= DSQL_READING_LONG || !piece->first || !piece->last ||
        dsql_pg_fe_parse(piece->type, piece->body, &msg, &err))
        return false;
    *text = msg.type == DSQL_PG_FE_QUERY ? msg.query : msg.parse.query;
    return text->len > DSQL_READING_LONG;
}

static struct dsql_reading *make(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_reading *reading = calloc(1, sizeof(*reading));
    char *message = malloc(piece->raw.len);
    if (!reading || !message) {
        free(reading);
        free(message);
        return NULL;
    }
    memcpy(message, piece->raw.ptr, piece->raw.len);
    size_t header = piece->raw.len - piece->body.len;
    *reading = (struct dsql_reading){
        .all = &session->front->readings,
        .session = session,
        .message = message,
        .piece = *piece,
        .dialect = session->front->options->dialect,
        .portion = {.due = next_portion},
    };
    reading->piece.raw.ptr = message;
    reading->piece.body.ptr = message + header;
    bool found = text_of(&reading->piece, &reading->text);
    assert(found);
    dsql_strbuf_init_heap(&reading->query.sql, DSQL_OUTBOX_MAX);
    return reading;
}

bool dsql_reading_begin(struct dsql_session *session, const struct dsql_pg_piece *piece)
{
    struct dsql_span text;
    struct dsql_readings *all = &session->front->readings;
    assert(!session->reading);
    if (!text_of(piece, &text))
        return false;
    struct dsql_reading *reading = make(session, piece);
    if (!reading)
        return false;
    session->reading = reading;
    reading->script = dsql_sql_cache_find(&session->front->cache, reading->text);
    reading->read = reading->script != NULL;
    if (reading->read) {
        dsql_reading_go_on(reading);
        return true;
    }
    struct dsql_reading **last = &all->waiting;
    while (*last)
        last = &(*last)->next;
    *last = reading;
    start_waiting(all);
    return true;
}

void dsql_reading_keep(struct dsql_session *session, struct dsql_span rest)
{
    struct dsql_reading *reading = session->reading;
    if (!reading || rest.len == 0)
        return;
    assert(!reading->rest);
    reading->rest = malloc(rest.len);
    if (!reading->rest) {
        dsql_session_drop(session, "out of memory");
        return;
    }
    memcpy(reading->rest, rest.ptr, rest.len);
    reading->rest_len = rest.len;
}

void dsql_reading_leave(struct dsql_session *session)
{
    struct dsql_reading *reading = session->reading;
    if (!reading)
        return;
    session->reading = NULL;
    reading->session = NULL;
    /* (R2) and those that wait for a thread are freed where they are taken from their list. */
    if (reading->read)
        free_reading(reading);
}
