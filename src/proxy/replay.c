#include "proxy/replay.h"

#include <stdlib.h>

#include "core/classify.h"
#include "dsql/retry.h"
#include "pgwire/backend.h"
#include "pgwire/put_frontend.h"
#include "proxy/proxy.h"

enum phase {
    RECORDING,
    WAITING,    /* before the next run */
    AGAIN,      /* what comes before the decisive part is run again */
    COMMITTING, /* the decisive part is run again */
    ABORTING,   /* the run is rolled back: an answer differed */
};

/* What a client's names mean. */
struct meanings {
    struct dsql_definitions names;
    struct dsql_statement *unnamed;
};

/* The answers of one run, without those that are withheld. */
struct checksum {
    uint64_t hash, length;
};

struct dsql_replay {
    struct dsql_client *client;
    enum phase phase;
    struct dsql_strbuf record;
    size_t decisive_at;        /* where the decisive part begins in the record; SIZE_MAX: not yet */
    size_t fed;                /* of the record, in this run */
    struct meanings before;    /* the transaction, */
    struct meanings after;     /* and after its first run */
    struct checksum given;     /* what the client has been given */
    struct checksum again;     /* what this run said in its place */
    struct dsql_strbuf held;   /* withheld answers of this run */
    struct dsql_strbuf failed; /* those of the first run: with the conflict */
    struct dsql_retry retry;
    struct dsql_mono began;
    struct dsql_timer timer;
    enum dsql_rc conflict; /* the decisive part of this run met one; DSQL_OK: not */
    bool closed;           /* the decisive part is sent, with its end */
    bool feeding;          /* what is relayed comes from the record */
    bool over;             /* no other run: what is withheld goes out */
    bool differs;          /* an answer of this run tells of another course of things */
};

#define HASH_START UINT64_C(0xcbf29ce484222325)

static void add_count(_Atomic uint64_t *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* -- Parts. */

static void checksum_add(struct checksum *sum, struct dsql_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        sum->hash = (sum->hash ^ (unsigned char)bytes.ptr[i]) * UINT64_C(0x100000001b3);
    sum->length += bytes.len;
}

static void meanings_fini(struct meanings *meanings)
{
    dsql_definitions_fini(&meanings->names);
    dsql_statement_unref(meanings->unnamed);
    meanings->unnamed = NULL;
}

/* False: memory is short. */
static bool meanings_keep(struct meanings *to, const struct dsql_client *client)
{
    for (size_t i = 0; i < client->names.count; i++)
        if (!dsql_definitions_add(&to->names, client->names.of[i]))
            return false;
    to->unnamed = dsql_statement_ref(client->unnamed);
    return true;
}

static bool meanings_restore(const struct meanings *from, struct dsql_client *client)
{
    dsql_definitions_clear(&client->names);
    for (size_t i = 0; i < from->names.count; i++)
        if (!dsql_definitions_add(&client->names, from->names.of[i]))
            return false;
    dsql_statement_unref(client->unnamed);
    client->unnamed = dsql_statement_ref(from->unnamed);
    return true;
}

static void due(struct dsql_timer *timer);

/* Without memory the transaction goes on without a record. */
static void begin(struct dsql_client *client)
{
    struct dsql_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return;
    replay->client = client;
    replay->decisive_at = SIZE_MAX;
    replay->given.hash = HASH_START;
    replay->timer.due = due;
    dsql_strbuf_init_heap(&replay->record, DSQL_REPLAY_BYTES);
    dsql_strbuf_init_heap(&replay->held, DSQL_OUTBOX_MAX);
    dsql_strbuf_init_heap(&replay->failed, DSQL_OUTBOX_MAX);
    client->replay = replay;
    if (!meanings_keep(&replay->before, client))
        dsql_replay_free(client);
}

void dsql_replay_free(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    if (!replay)
        return;
    dsql_loop_stop(&client->proxy->loop, &replay->timer);
    meanings_fini(&replay->before);
    meanings_fini(&replay->after);
    dsql_strbuf_fini(&replay->record);
    dsql_strbuf_fini(&replay->held);
    dsql_strbuf_fini(&replay->failed);
    free(replay);
    client->replay = NULL;
}

static bool is_too_big(const struct dsql_replay *replay)
{
    return replay->record.cut ||
           replay->record.len + replay->held.len + replay->failed.len > DSQL_REPLAY_BYTES;
}

/* What is withheld goes out, and the transaction goes on without a record. */
static void let_go(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    dsql_strbuf_add(&client->out.bytes, dsql_strbuf_span(&replay->held));
    client->out.bytes.cut |= replay->held.cut;
    if (replay->phase == COMMITTING)
        add_count(&client->proxy->counts.retried);
    else if (replay->conflict)
        add_count(&client->proxy->counts.conflicts);
    dsql_replay_free(client);
}

/* The client gets the conflict of the first run. */
static void give_up(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    assert(client->answers.count == 0);
    dsql_strbuf_add(&client->out.bytes, dsql_strbuf_span(&replay->failed));
    client->out.bytes.cut |= replay->failed.cut || !meanings_restore(&replay->after, client);
    client->tx = DSQL_PG_IDLE;
    client->segment_open = client->segment_commits = client->answers.skipping = false;
    client->fatal_seen = false;
    add_count(&client->proxy->counts.conflicts);
    dsql_replay_free(client);
}

/* -- Recording. */

static bool is_between(const struct dsql_client *client)
{
    return client->tx == DSQL_PG_IDLE && !client->segment_open && !client->answers.skipping;
}

bool dsql_replay_admits(struct dsql_client *client, uint8_t type)
{
    const struct dsql_replay *replay = client->replay;
    if (replay && !replay->feeding && (replay->phase != RECORDING || replay->closed))
        return false;
    if (replay) {
        bool query = type == DSQL_PG_FE_QUERY || type == DSQL_PG_FE_FUNCTION_CALL;
        if (query && client->segment_open && !replay->feeding)
            let_go(client); /* an error in front of it would skip it: it might end nothing */
        return true;
    }
    if (client->proxy->options.retries == 0 || !is_between(client))
        return true;
    if (client->answers.count == 0) {
        begin(client);
        return true;
    }
    /* Settings are read back: what the transaction begins with is known afterwards. */
    return dsql_answers_head(&client->answers)->purpose == DSQL_FOR_CLIENT;
}

void dsql_replay_decisive(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    if (replay && !replay->feeding && replay->decisive_at == SIZE_MAX)
        replay->decisive_at = replay->record.len;
}

bool dsql_replay_is_late(const struct dsql_client *client)
{
    const struct dsql_replay *replay = client->replay;
    if (!replay)
        return false;
    return replay->feeding ? replay->fed >= replay->decisive_at : replay->decisive_at != SIZE_MAX;
}

void dsql_replay_note(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_replay *replay = client->replay;
    if (!replay || replay->feeding || piece->type == DSQL_PG_FE_FLUSH)
        return; /* a Flush has no answer that a later run could wait for */
    dsql_strbuf_add(&replay->record, piece->raw);
    if (!piece->first || !piece->last || is_too_big(replay)) {
        let_go(client);
        return;
    }
    bool ends = piece->type == DSQL_PG_FE_SYNC || piece->type == DSQL_PG_FE_QUERY ||
                piece->type == DSQL_PG_FE_FUNCTION_CALL;
    replay->closed = ends && replay->decisive_at != SIZE_MAX;
}

void dsql_replay_flush(struct dsql_client *client)
{
    const struct dsql_replay *replay = client->replay;
    if (replay && !replay->feeding && replay->decisive_at != SIZE_MAX)
        let_go(client);
}

/* -- Answers. */

/* Whether a transaction in which this command was completed may be run again: the command did not
 * end it, and leaves nothing in the session that a rollback does not undo. */
static bool is_repeatable(struct dsql_span tag)
{
    static const char *const verbs[] = {"BEGIN", "START",  "SELECT", "INSERT", "UPDATE", "DELETE",
                                        "MERGE", "VALUES", "SHOW",   "SET",    "RESET",  "EXPLAIN"};
    struct dsql_span verb, rest;
    (void)dsql_span_cut(tag, ' ', &verb, &rest);
    for (size_t i = 0; i < DSQL_COUNT_OF(verbs); i++)
        if (dsql_span_eq(verb, dsql_span_of(verbs[i])))
            return true;
    return false;
}

static void spoil(struct dsql_replay *replay)
{
    if (replay->phase == AGAIN)
        replay->differs = true;
    else
        replay->over = true;
}

void dsql_replay_tag(struct dsql_client *client, struct dsql_span tag)
{
    if (client->replay && !is_repeatable(tag))
        spoil(client->replay);
}

void dsql_replay_copy(struct dsql_client *client)
{
    if (client->replay)
        spoil(client->replay);
}

void dsql_replay_error(struct dsql_client *client, struct dsql_span body)
{
    struct dsql_replay *replay = client->replay;
    char sqlstate[8], message[256];
    struct dsql_strbuf text;
    struct dsql_pg_be msg;
    struct dsql_err err;
    if (!replay || dsql_pg_be_parse(DSQL_PG_BE_ERROR, body, &msg, &err))
        return;
    dsql_strbuf_init(&text, sqlstate, sizeof(sqlstate));
    dsql_strbuf_add(&text, msg.report.sqlstate);
    dsql_strbuf_init(&text, message, sizeof(message));
    dsql_strbuf_add(&text, msg.report.message);
    enum dsql_rc rc = dsql_classify(DSQL_PHASE_COMMIT, sqlstate, message, NULL).rc;
    replay->conflict = dsql_rc_class(rc) == DSQL_CLASS_RETRY ? rc : DSQL_OK;
}

/* The decisive part has met a conflict: true if another run is to come. */
static bool plan_another(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    struct dsql_mono now = dsql_clock_mono(client->proxy->options.clock);
    struct dsql_retry_policy policy;
    dsql_retry_policy_default(&policy);
    policy.max_retries = client->proxy->options.retries;
    policy.base_delay_ns = 5 * DSQL_MS;
    policy.max_delay_ns = DSQL_S;
    policy.jitter = 1;
    if (replay->phase == RECORDING) {
        dsql_retry_init(&replay->retry, &policy);
        replay->began = now;
        if (!meanings_keep(&replay->after, client))
            return false;
        replay->failed = replay->held;
        dsql_strbuf_init_heap(&replay->held, DSQL_OUTBOX_MAX);
    } else {
        dsql_strbuf_clear(&replay->held);
    }
    struct dsql_retry_decision decision = dsql_retry_next(&replay->retry, &policy, replay->conflict,
                                                          dsql_mono_since(now, replay->began), -1);
    if (!decision.again || dsql_loop_start(&client->proxy->loop, &replay->timer, decision.wait_ns))
        return false;
    replay->phase = WAITING;
    return true;
}

/* A ReadyForQuery has ended a part of the transaction. */
static void ended(struct dsql_client *client, bool late)
{
    struct dsql_replay *replay = client->replay;
    if (replay->phase == AGAIN)
        return;
    if (!late) {
        if (client->tx == DSQL_PG_IDLE)
            dsql_replay_free(client);
        return;
    }
    if (replay->conflict && client->tx == DSQL_PG_IDLE && client->answers.count == 0) {
        if (plan_another(client))
            return;
        if (replay->failed.len > 0)
            give_up(client);
        else
            let_go(client);
        return;
    }
    if (client->tx == DSQL_PG_IDLE || replay->phase == COMMITTING) {
        let_go(client);
        return;
    }
    /* It might have committed, and did not: the transaction goes on. */
    checksum_add(&replay->given, dsql_strbuf_span(&replay->held));
    dsql_strbuf_add(&client->out.bytes, dsql_strbuf_span(&replay->held));
    dsql_strbuf_fini(&replay->held);
    dsql_strbuf_init_heap(&replay->held, DSQL_OUTBOX_MAX);
    replay->decisive_at = SIZE_MAX;
    replay->closed = false;
    replay->conflict = DSQL_OK;
}

void dsql_replay_heard(struct dsql_client *client, struct dsql_heard heard)
{
    struct dsql_replay *replay = client->replay;
    struct dsql_strbuf *out = &client->out.bytes;
    struct dsql_span said = dsql_span_from(dsql_strbuf_span(out), heard.before);
    if (replay->phase == AGAIN || replay->phase == ABORTING) {
        checksum_add(&replay->again, said);
        out->len = heard.before;
    } else if (heard.late) {
        dsql_strbuf_add(&replay->held, said);
        out->len = heard.before;
    } else {
        checksum_add(&replay->given, said);
    }
    if (replay->over || (replay->phase != AGAIN && is_too_big(replay)))
        let_go(client);
    else if (heard.ends)
        ended(client, heard.late);
}

/* -- Running again. */

bool dsql_replay_is_running(const struct dsql_client *client)
{
    return client->replay && client->replay->phase != RECORDING;
}

bool dsql_replay_withholds(const struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    if (!replay)
        return false;
    return replay->phase != RECORDING ||
           (client->answers.count > 0 && dsql_answers_at(&client->answers, 0)->late);
}

/* The client is as it was before the transaction. */
static void restart(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    assert(client->answers.count == 0 && client->tx == DSQL_PG_IDLE);
    add_count(&client->proxy->counts.retries);
    client->out.bytes.cut |= !meanings_restore(&replay->before, client);
    dsql_portals_fini(&client->portals);
    client->begun = false;
    client->segment_open = client->segment_commits = client->answers.skipping = false;
    replay->again = (struct checksum){.hash = HASH_START};
    replay->fed = 0;
    replay->conflict = DSQL_OK;
    replay->phase = AGAIN;
}

static void due(struct dsql_timer *timer)
{
    struct dsql_client *client = DSQL_CONTAINER_OF(timer, struct dsql_replay, timer)->client;
    restart(client);
    dsql_server_go_on(client);
}

/* Relays the next message of the record; false: it can't be relayed now. */
static bool feed(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    struct dsql_span rest = dsql_span_from(dsql_strbuf_span(&replay->record), replay->fed);
    const unsigned char *at = (const unsigned char *)rest.ptr;
    uint32_t length =
        (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | (uint32_t)at[4];
    assert(length + 1 <= rest.len);
    const struct dsql_pg_piece piece = {
        .ready = true,
        .first = true,
        .last = true,
        .type = at[0],
        .length = length,
        .raw = dsql_span_first(rest, length + 1),
        .body = dsql_span_from(dsql_span_first(rest, length + 1), DSQL_PG_HEADER),
    };
    replay->feeding = true;
    bool relayed = dsql_relay(client, &piece);
    replay->feeding = false;
    if (relayed)
        replay->fed += length + 1;
    return relayed;
}

/* Relays a part of the record, at most up to `end`, and one query or Sync. */
static void feed_part(struct dsql_client *client, size_t end)
{
    struct dsql_replay *replay = client->replay;
    bool more = replay->fed < end;
    while (more) {
        uint8_t type = (uint8_t)replay->record.ptr[replay->fed];
        more = feed(client) && replay->fed < end && type != DSQL_PG_FE_SYNC &&
               type != DSQL_PG_FE_QUERY && type != DSQL_PG_FE_FUNCTION_CALL;
    }
    if (client->segment_open) /* answers are wanted now, with its Sync or without */
        dsql_pg_put_flush(&client->server->out.bytes);
}

/* An answer differed: the run is rolled back. */
static void abort_run(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    replay->phase = ABORTING;
    if (client->segment_open || client->answers.skipping)
        dsql_relay_hidden_sync(client);
    client->segment_open = client->segment_commits = client->answers.skipping = false;
    dsql_relay_hidden_query(client, DSQL_SPAN("ROLLBACK"), DSQL_FOR_PREPARE);
}

/* All that was sent is answered: whether it went as in the first run. Between two parts the
 * transaction is open; where it is not, the next statement would commit by itself. */
static bool goes_well(const struct dsql_client *client)
{
    const struct dsql_replay *replay = client->replay;
    if (replay->differs || client->answers.skipping)
        return false;
    if (replay->fed > 0 && !client->segment_open && client->tx != DSQL_PG_IN_TX)
        return false;
    return replay->fed < replay->decisive_at || (replay->again.length == replay->given.length &&
                                                 replay->again.hash == replay->given.hash);
}

void dsql_replay_go_on(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    if (!replay || client->state != DSQL_CLIENT_ACTIVE || client->answers.count > 0)
        return;
    if (replay->phase == ABORTING) {
        give_up(client);
        return;
    }
    if (replay->phase == AGAIN && !goes_well(client)) {
        abort_run(client);
        return;
    }
    if (replay->phase == AGAIN && replay->fed >= replay->decisive_at)
        replay->phase = COMMITTING; /* Y1 */
    if (replay->phase == AGAIN)
        feed_part(client, replay->decisive_at);
    else if (replay->phase == COMMITTING)
        feed_part(client, replay->record.len);
}

bool dsql_replay_lost(struct dsql_client *client)
{
    struct dsql_replay *replay = client->replay;
    if (!replay)
        return false;
    if (replay->phase == RECORDING || replay->phase == COMMITTING) {
        if (client->fatal_seen)
            dsql_strbuf_add(&client->out.bytes, dsql_strbuf_span(&replay->held));
        dsql_replay_free(client);
        return false;
    }
    dsql_reply_drop(client, client->answers.count);
    client->answers.copying = false;
    give_up(client);
    return true;
}
